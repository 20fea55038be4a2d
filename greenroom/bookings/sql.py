"""SQL for groups, legs and payments, and functions that read their rows."""

from collections.abc import Sequence

import msgspec
from asyncpg import Record

from greenroom.bookings.cancellation_policy import Policy
from greenroom.bookings.model import Group, GroupState, Leg, LegState, Payment

GROUP_COLUMNS = """group_id, buyer, currency, thread_id, state, policy, version, failure_code,
created_at, updated_at"""
LEG_COLUMNS = """leg_id, group_id, place, kind, seller, title, state, lower(during) as start_ms,
upper(during) as end_ms, timezone, price_cents, deposit_cents, holds_slot, version, sequence,
deliverables_accepted_at, payout, payout_held_reason, created_at, updated_at"""
PAYMENT_COLUMNS = """payment_id, key, operation, purpose, group_id, leg_id, card_id, account,
amount_cents, currency, source_payment, state, provider_id, failure_code, refund_id, again,
needs_payer, created_at, updated_at"""

INSERT_GROUP = """
insert into booking_group (group_id, buyer, currency, thread_id, state, policy, version,
                           failure_code, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
INSERT_LEGS = """
insert into leg (leg_id, group_id, place, kind, seller, title, state, during, timezone, price_cents,
                 deposit_cents, created_at, updated_at)
select l.leg_id, $1, l.place - 1, l.kind, l.seller, l.title, 'proposed',
    tstzrange(l.starts, l.ends), l.timezone, l.price_cents, l.deposit_cents, $2, $2
from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[],
            $9::text[], $10::bigint[], $11::bigint[]) with ordinality
    as l (leg_id, kind, seller, title, starts, ends, timezone, price_cents, deposit_cents, place)
"""

# Whether every leg of a thread's booking is completed or cancelled. Null if the booking is not in
# this database.
IS_OVER = """
select bool_and(state in ('completed', 'cancelled')) from leg where group_id = $1 or leg_id = $2
"""
# Marks the thread's current booking, if it is over, as followed by the next one.
FOLLOW = """
update booking_group g set followed_by = $2
where g.thread_id = $1 and g.followed_by is null and not exists (
    select from leg l where l.group_id = g.group_id
        and l.state not in ('completed', 'cancelled'))
"""

GROUP = f"select {GROUP_COLUMNS} from booking_group where group_id = $1"
# Only for the parties of the booking and the backend (null). One query for both checks, so that a
# stranger cannot tell a booking of others from one that does not exist.
GROUP_FOR = f"""
{GROUP} and ($2::text is null or buyer = $2
    or exists (select from leg l where l.group_id = booking_group.group_id and l.seller = $2))
"""
# Bookings of a thread ($1), of a person as buyer or seller ($2), or of both, the newest first.
GROUPS_OF = f"""
select {GROUP_COLUMNS} from booking_group g
where ($1::text is null or g.thread_id = $1) and ($2::text is null or g.group_id in (
        select b.group_id from booking_group b where b.buyer = $2
        union select l.group_id from leg l where l.seller = $2))
    and g.group_id < $3
order by g.group_id desc limit $4
"""
LEGS_OF_GROUPS = f"select {LEG_COLUMNS} from leg where group_id = any($1::text[])"
LOCK_GROUP = f"{GROUP} for update"
# Sorted by id, as every lock on several legs is.
LOCK_LEGS = f"select {LEG_COLUMNS} from leg where group_id = $1 order by leg_id for update"
GROUP_OF_LEG = "select group_id from leg where leg_id = $1"
THREAD_OF_GROUP = "select thread_id from booking_group where group_id = $1"

KEEP_GROUP = """
update booking_group set state = $2, version = $3, failure_code = $4, updated_at = $5
where group_id = $1
"""
# The fields of a leg that can change, except its time, and their columns.
LEG_CHANGES = {
    "state": "state",
    "timezone": "timezone",
    "holds_slot": "holds_slot",
    "sequence": "sequence",
    "deliverables_accepted_at_ms": "deliverables_accepted_at",
    "payout": "payout",
    "payout_held_reason": "payout_held_reason",
}
# Transactions that reserve slots of the same seller run one after another: two that wait for each
# other's row in the exclusion constraint would deadlock. Sorted, so that all transactions lock
# several sellers in the same order.
TAKE_TURNS = """
select count(pg_advisory_xact_lock(turn.key)) from (
    select distinct hashtextextended('slot ' || seller, 0) as key
    from unnest($1::text[]) as s (seller) order by 1
) turn
"""

PAYMENT = f"select {PAYMENT_COLUMNS} from payment where payment_id = $1"
LOCK_PAYMENT = f"{PAYMENT} for update"
PAYMENT_OF_KEY = f"select {PAYMENT_COLUMNS} from payment where key = $1"
# Refunds, releases and payouts that failed for good and were not repeated, in order.
FAILED_PAYMENTS = f"""
select {PAYMENT_COLUMNS} from payment
where state = 'failed' and again is null and operation in ('refund', 'release', 'payout')
    and failure_code is distinct from 'stopped' and payment_id > $1
order by payment_id limit $2
"""
INSERT_PAYMENT = f"""
insert into payment (payment_id, key, operation, purpose, group_id, leg_id, card_id, account,
                     amount_cents, currency, source_payment, refund_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
on conflict (key) do nothing
returning {PAYMENT_COLUMNS}
"""
# The payments of one attempt to confirm a group: their keys begin with the group and its version
# in that attempt.
PAYMENTS_OF_ATTEMPT = f"""
select {PAYMENT_COLUMNS} from payment
where group_id = $1 and purpose = 'confirm' and starts_with(key, $2) order by payment_id
"""
QUEUED_TO_CONFIRM = """
select payment_id from payment
where group_id = $1 and purpose = 'confirm' and state = 'queued' order by payment_id
"""

# Whether a leg is shown in calendars. One that was cancelled before it was confirmed is not.
_IS_SHOWN = """
state <> 'proposed' and (state <> 'cancelled' or exists (
    select 1 from history h where h.subject = leg_id and h.to_state = 'confirmed'))
"""
SHOWN_LEG = f"""
select {LEG_COLUMNS} from leg
where leg_id = $1 and {_IS_SHOWN} and ($2::text is null
    or exists (select 1 from booking_group g where g.group_id = leg.group_id and g.buyer = $2)
    or exists (select 1 from leg l where l.group_id = leg.group_id and l.seller = $2))
"""
SHOWN_LEGS = f"""
select {LEG_COLUMNS} from leg
where leg_id in (
        select l.leg_id from leg l where l.seller = $1 and lower(l.during) between $2 and $3
        union select l.leg_id from booking_group g join leg l using (group_id)
            where g.buyer = $1 and lower(l.during) between $2 and $3)
    and {_IS_SHOWN}
order by lower(during), leg_id limit $4
"""


def keep_leg(names: Sequence[str]) -> str:
    """A statement that writes the named fields of leg $1 at the time $2 as a new version. $3 and $4
    are its start and end, null if they stay; the values of the named fields follow."""
    places = range(5, 5 + len(names))
    changes = [f"{LEG_CHANGES[name]} = ${n}, " for name, n in zip(names, places, strict=True)]
    return f"""
update leg set {"".join(changes)}version = version + 1, updated_at = $2,
    during = tstzrange(coalesce($3, lower(during)), coalesce($4, upper(during)))
where leg_id = $1 returning {LEG_COLUMNS}
"""


def policy_json(policy: Policy) -> str:
    return msgspec.json.encode(policy).decode()


def read_group(row: Record, legs: list[Record]) -> Group:
    return Group(
        group_id=row["group_id"],
        buyer=row["buyer"],
        currency=row["currency"],
        thread_id=row["thread_id"],
        state=GroupState(row["state"]),
        policy=msgspec.json.decode(row["policy"], type=Policy),
        version=row["version"],
        failure_code=row["failure_code"],
        created_at_ms=row["created_at"],
        updated_at_ms=row["updated_at"],
        legs=tuple(sorted((read_leg(leg) for leg in legs), key=lambda leg: leg.place)),
    )


def read_leg(row: Record) -> Leg:
    return Leg(
        leg_id=row["leg_id"],
        group_id=row["group_id"],
        place=row["place"],
        kind=row["kind"],
        seller=row["seller"],
        title=row["title"],
        state=LegState(row["state"]),
        start_ms=row["start_ms"],
        end_ms=row["end_ms"],
        timezone=row["timezone"],
        price_cents=row["price_cents"],
        deposit_cents=row["deposit_cents"],
        holds_slot=row["holds_slot"],
        version=row["version"],
        sequence=row["sequence"],
        deliverables_accepted_at_ms=row["deliverables_accepted_at"],
        payout=row["payout"],
        payout_held_reason=row["payout_held_reason"],
        created_at_ms=row["created_at"],
        updated_at_ms=row["updated_at"],
    )


def read_payment(row: Record) -> Payment:
    return Payment(
        payment_id=row["payment_id"],
        key=row["key"],
        operation=row["operation"],
        purpose=row["purpose"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        card_id=row["card_id"],
        account=row["account"],
        amount_cents=row["amount_cents"],
        currency=row["currency"],
        source_payment=row["source_payment"],
        state=row["state"],
        provider_id=row["provider_id"],
        failure_code=row["failure_code"],
        refund_id=row["refund_id"],
        again=row["again"],
        needs_payer=row["needs_payer"],
        created_at_ms=row["created_at"],
        updated_at_ms=row["updated_at"],
    )
