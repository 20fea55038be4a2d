"""Reads bookings with their sums, for their parties and for the backend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from asyncpg import Record

from greenroom.bookings import sql
from greenroom.bookings.model import Balance, Deposit, Group, GroupState
from greenroom.bookings.money.orders import balances_of
from greenroom.bookings.money.sums import Amendment, Flow, LegMoney, Sums, sums_of
from greenroom.bookings.transactions import ContractSnapshot
from greenroom.kernel.errors import NotFound

AFTER_ALL = "~"
"""Greater than every id."""

DEPOSITS = """
select deposit_id, leg_id, amount_cents, captured_cents, currency, state, payment_id
from deposit where leg_id = any($1::text[])
"""
GROUP_OF_THREAD = """
select g.group_id from booking_group g
where g.group_id = coalesce($1, (select o.group_id from leg o where o.leg_id = $2))
"""
EARLIER = """
select g.group_id from booking_group g
where g.thread_id = $1 and g.followed_by is not null and exists (
    select from leg l join history h on h.subject = l.leg_id
    where l.group_id = g.group_id and h.to_state = 'confirmed')
order by g.created_at desc, g.group_id desc limit $2
"""
AMENDMENTS = """
select leg_id, card_id, amount_cents, state from amendment where leg_id = any($1::text[])
"""
# What was charged and refunded for each card of a leg (the price has no card). A charge for a whole
# group counts with the leg's share.
FLOWS = """
select l.leg_id, p.card_id,
    coalesce(sum(s.cents) filter (where p.operation <> 'refund' and p.state = 'succeeded'), 0)
        - coalesce(sum(s.cents) filter (where p.operation = 'refund' and p.purpose = 'undo'), 0)
        as taken,
    coalesce(sum(s.cents) filter (where p.operation <> 'refund' and p.state = 'queued'), 0)
        as queued,
    coalesce(sum(s.cents) filter (where p.operation = 'refund' and p.purpose <> 'undo'
        and p.state = 'succeeded'), 0) as refunded
from leg l
join payment p on p.group_id = l.group_id and (p.leg_id = l.leg_id or p.leg_id is null)
cross join lateral (
    select case when p.leg_id is null then l.price_cents else p.amount_cents end as cents) s
where l.leg_id = any($1::text[]) and p.operation in ('charge', 'capture', 'refund')
    and p.state <> 'failed'
group by l.leg_id, p.card_id
"""


# The first payment of each confirmation that waits for its buyer.
WAITS_FOR_PAYER = """
select group_id, min(payment_id) as payment_id from payment
where group_id = any($1::text[]) and state = 'queued' and needs_payer and purpose = 'confirm'
group by group_id
"""


@dataclass(frozen=True, slots=True)
class Booking:
    """A group with what is known of its money, by leg. `confirmation` is the payment that the buyer
    has to confirm with their bank before the booking is confirmed."""

    group: Group
    deposits: Mapping[str, Deposit] = field(default_factory=dict)
    balances: Mapping[str, Balance] = field(default_factory=dict)
    sums: Mapping[str, Sums] = field(default_factory=dict)
    confirmation: str | None = None


async def access_booking(snapshot: ContractSnapshot, viewer: str | None, group_id: str) -> Booking:
    """For its buyer, its sellers, and the backend (None). Raises NotFound."""
    row = await snapshot.conn.fetchrow(sql.GROUP_FOR, group_id, viewer)
    if row is None:
        raise NotFound
    [booking] = await _with_money(snapshot, [row])
    return booking


async def bookings_of(
    snapshot: ContractSnapshot,
    *,
    thread_id: str | None,
    user_id: str | None,
    before: str | None,
    limit: int,
) -> list[Booking]:
    """For the backend: bookings of a thread, of a person, or of both, the newest first, with an id
    less than `before`."""
    bound = before or AFTER_ALL
    rows = await snapshot.conn.fetch(sql.GROUPS_OF, thread_id, user_id, bound, limit)
    return await _with_money(snapshot, rows)


async def _with_money(snapshot: ContractSnapshot, rows: Sequence[Record]) -> list[Booking]:
    """The bookings of these rows, in the same order."""
    legs = await snapshot.conn.fetch(sql.LEGS_OF_GROUPS, [row["group_id"] for row in rows])
    groups = [
        sql.read_group(row, [leg for leg in legs if leg["group_id"] == row["group_id"]])
        for row in rows
    ]
    leg_ids = [leg["leg_id"] for leg in legs]
    deposits = {
        row["leg_id"]: Deposit(**row) for row in await snapshot.conn.fetch(DEPOSITS, leg_ids)
    }
    balances = await balances_of(snapshot.conn, leg_ids)
    money = await _money_of(snapshot, leg_ids, balances)
    confirmations = await _confirmations(snapshot, groups)
    return [_booking(group, deposits, balances, money, confirmations) for group in groups]


async def _confirmations(snapshot: ContractSnapshot, groups: Sequence[Group]) -> dict[str, str]:
    """By group, the payment that its buyer has to confirm."""
    waiting = [each.group_id for each in groups if each.state is GroupState.CONFIRMING]
    if not waiting:
        return {}
    rows = await snapshot.conn.fetch(WAITS_FOR_PAYER, waiting)
    return {row["group_id"]: row["payment_id"] for row in rows}


def _booking(
    group: Group,
    deposits: Mapping[str, Deposit],
    balances: Mapping[str, Balance],
    money: Mapping[str, LegMoney],
    confirmations: Mapping[str, str],
) -> Booking:
    ids = [leg.leg_id for leg in group.legs]
    return Booking(
        group,
        {each: deposits[each] for each in ids if each in deposits},
        {each: balances[each] for each in ids},
        {leg.leg_id: sums_of(group, leg, money[leg.leg_id]) for leg in group.legs},
        confirmations.get(group.group_id),
    )


async def booking_of_thread(
    snapshot: ContractSnapshot, group_id: str | None, leg_id: str | None
) -> Booking | None:
    """The booking that a project names: a whole group, or one leg (then only that leg is returned).
    None if it is not in this database: the marketplace can name ids of its own."""
    found = await snapshot.conn.fetchval(GROUP_OF_THREAD, group_id, leg_id)
    if found is None:
        return None
    booking = await access_booking(snapshot, None, found)
    if group_id is not None:
        return booking
    own = tuple(leg for leg in booking.group.legs if leg.leg_id == leg_id)
    return replace(booking, group=replace(booking.group, legs=own))


async def earlier_bookings(snapshot: ContractSnapshot, thread_id: str, limit: int) -> list[Booking]:
    """Bookings of a thread before the current one that were once confirmed, the newest first."""
    rows = await snapshot.conn.fetch(EARLIER, thread_id, limit)
    return [await access_booking(snapshot, None, row["group_id"]) for row in rows]


async def _money_of(
    snapshot: ContractSnapshot, leg_ids: Sequence[str], balances: Mapping[str, Balance]
) -> dict[str, LegMoney]:
    flows = await snapshot.conn.fetch(FLOWS, leg_ids)
    amendments = await snapshot.conn.fetch(AMENDMENTS, leg_ids)
    money = {}
    for leg_id in leg_ids:
        own = [row for row in flows if row["leg_id"] == leg_id]
        by_card = {row["card_id"]: Flow(int(row["taken"]), int(row["queued"])) for row in own}
        money[leg_id] = LegMoney(
            for_price=by_card.pop(None, Flow()),
            for_cards=by_card,
            amendments=[
                Amendment(row["card_id"], row["amount_cents"], row["state"])
                for row in amendments
                if row["leg_id"] == leg_id
            ],
            refunded_cents=sum(int(row["refunded"]) for row in own),
            paid_out_cents=balances[leg_id].payout_cents,
            held_cents=balances[leg_id].deposit_held_cents,
        )
    return money
