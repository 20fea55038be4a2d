"""What must hold of a contract whatever has happened to it, looked at from outside: in the tables,
on the pages of those who have a part in it, and in their feeds."""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from greenroom.bookings.reading import access_booking
from greenroom.bookings.rest.wire import SumsView, booking_view
from greenroom.bookings.transactions import canonical
from greenroom.cards.catalogue.wire import EncodedCatalogues
from greenroom.conversations.inbox import InboxFilter
from greenroom.conversations.wire import Views
from greenroom.kernel.clock import rfc3339
from greenroom_client.state import Mark, State

from .agreed import Deal, World
from .client import Client

Json = dict[str, Any]

EVERYTHING = """
select (select count(*) from history), (select count(*) from history_detail),
    (select count(*) from payment where state = 'queued'), (select count(*) from payment),
    (select count(*) from money_posting), (select sum(version) from card),
    (select count(*) from card), (select sum(version) from leg),
    (select sum(version) from booking_group), (select md5(string_agg(
        key || due_at, ',' order by key)) from task where kind = 'timer'),
    (select max(id) from outbox), (select count(*) from task where kind <> 'timer'),
    (select count(*) from amendment), (select count(*) from refund),
    (select md5(string_agg(document_id || user_id || state, ',' order by document_id, user_id))
     from document_signer)
"""
# What lies in escrow and is not on its way back to where it should not have come from.
KEPT = """
select l.leg_id,
    coalesce((select -sum(p.amount_cents) from money_posting p
              where p.account = 'escrow:' || l.leg_id), 0)::bigint
    - coalesce((select sum(q.amount_cents) from payment q where q.leg_id = l.leg_id
                and q.state = 'queued' and q.purpose = 'undo'), 0)::bigint as kept
from leg l where l.leg_id = any ($1::text[])
"""
UNEVEN = """
select entry_id from money_posting group by entry_id having sum(amount_cents) <> 0
"""
MISCOUNTED = """
select a.account from money_account a where a.kind in ('escrow', 'deposit')
    and a.balance_cents <> (select coalesce(sum(p.amount_cents), 0) from money_posting p
                            where p.account = a.account)
"""
MONEY = """
select e.leg_id, e.kind, sum(p.amount_cents) filter (where p.amount_cents > 0)::bigint as cents,
    (sum(p.amount_cents) filter (where p.account like 'escrow:%'))::bigint as escrow,
    (sum(p.amount_cents) filter (where p.account like 'deposit:%'))::bigint as deposit
from money_entry e join money_posting p using (entry_id)
where e.leg_id = any ($1::text[]) group by 1, 2
"""
OVERLAPPING = """
select a.leg_id, b.leg_id from leg a join leg b on a.seller = b.seller and a.leg_id < b.leg_id
where a.holds_slot and b.holds_slot and a.during && b.during and a.seller = any ($1::text[])
"""
HISTORY = """
select h.subject, h.seq, h.version, h.before_hash, h.after_hash, h.input_hash, h.from_state,
    h.to_state, d.salt, d.after, d.input
from history h join history_detail d using (subject, seq)
where h.chain = any ($1::text[]) order by h.subject, h.seq
"""
VERSIONS = """
select group_id as subject, version, state from booking_group where group_id = any ($1::text[])
union all select leg_id, version, state from leg where group_id = any ($1::text[])
union all select card_id, version, state from card where thread_id = any ($2::text[])
"""
CARDS = """
select card_id, type, state, version, is_open, waits_for, created_by, buyer, seller, payload, totals
from card where thread_id = $1 order by card_id
"""
LEG_STATES = "select state from leg where group_id = $1"
DEPOSITS = """
select d.leg_id, d.amount_cents, d.captured_cents from deposit d where d.leg_id = any ($1::text[])
"""


async def snapshot(world: World) -> tuple[Any, ...]:
    """Changes whenever anything about any contract or anybody's feed does."""
    heads = await world.rooms.store.heads(world.people)
    feeds = sorted((user, str(head)) for user, head in heads.items())
    [row] = await world.pool.fetch(EVERYTHING)
    return (*row, feeds)


async def check_money(world: World) -> None:
    legs = [leg for deal in world.deals for leg in deal.legs]
    assert await world.pool.fetch(UNEVEN) == []
    assert await world.pool.fetch(MISCOUNTED) == []
    assert await world.pool.fetch(OVERLAPPING, world.people) == []
    by_leg: dict[str, dict[str, Any]] = {leg: {} for leg in legs}
    for row in await world.pool.fetch(MONEY, legs):
        by_leg[row["leg_id"]][row["kind"]] = row
    for kinds in by_leg.values():
        cents = {kind: row["cents"] for kind, row in kinds.items()}
        assert cents.get("refund", 0) <= cents.get("charge", 0)
        # Both sides of a capture are the deposit's and the escrow's.
        assert cents.get("capture", 0) // 2 <= cents.get("hold", 0)
        assert sum(row["escrow"] or 0 for row in kinds.values()) <= 0
        assert sum(row["deposit"] or 0 for row in kinds.values()) <= 0
    for row in await world.pool.fetch(DEPOSITS, legs):
        captured = by_leg[row["leg_id"]].get("capture")
        assert row["captured_cents"] == (captured["cents"] // 2 if captured else 0)
        assert row["captured_cents"] <= row["amount_cents"]


async def check_sums(world: World) -> None:
    """Whatever is shown of a leg's money adds up, and is where the ledger says it is."""
    for deal in world.deals:
        async with world.contract.transactions.snapshot() as snapshot:
            booking = await access_booking(snapshot, None, deal.group_id)
            kept = {
                row["leg_id"]: row["kept"] for row in await snapshot.conn.fetch(KEPT, deal.legs)
            }
        shown = booking_view(booking, world.clock())
        assert list(_cents(shown.sums).values()) == [
            sum(each)
            for each in zip(*(_cents(leg.sums).values() for leg in shown.legs), strict=True)
        ]
        for leg in shown.legs:
            cents = _cents(leg.sums)
            assert cents["agreed"] == cents["paid"] + cents["pending"] + cents["open"]
            assert cents["paid"] == cents["refunded"] + cents["kept"] + cents["paid_out"]
            assert cents["kept"] == kept[leg.id]
            assert min(cents.values()) >= 0
            is_done = leg.state in ("completed", "cancelled") and leg.payout == "paid"
            assert not is_done or cents["open"] == 0


def _cents(sums: SumsView) -> dict[str, int]:
    return {name: getattr(sums, name).amount_cents for name in sums.__struct_fields__}


async def check_history(world: World) -> None:
    groups = [deal.group_id for deal in world.deals]
    threads = [deal.thread_id for deal in world.deals]
    last: dict[str, Any] = {}
    for row in await world.pool.fetch(HISTORY, [*groups, *threads]):
        before = last.get(row["subject"])
        assert row["seq"] == row["version"] == (1 if before is None else before["version"] + 1)
        assert row["before_hash"] == (before and before["after_hash"])
        assert row["from_state"] == (before and before["to_state"])
        assert row["after_hash"] == _hash(row["salt"], row["after"])
        assert row["input_hash"] == _hash(row["salt"], row["input"])
        last[row["subject"]] = row
    for row in await world.pool.fetch(VERSIONS, groups, threads):
        kept = last[row["subject"]]
        assert (kept["version"], kept["to_state"]) == (row["version"], row["state"])


def _hash(salt: bytes, text: str | None) -> bytes | None:
    if text is None:
        return None
    return hashlib.sha256(salt + canonical(msgspec.json.decode(text))).digest()


class Pages:
    """What people see, held against the tables and the catalogue."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.rooms.store
        encoded = EncodedCatalogues(world.cards.catalogue).get("en")
        types = msgspec.json.decode(encoded.body)["items"]
        self._types: dict[str, Json] = {each["type"]: each for each in types}

    def _views(self, viewer: str) -> Views:
        world = self._world
        limits = world.rooms.settings.limits
        return Views(viewer, world.clock.now_ms, limits, world.cards.renderer.render)

    async def check(self, deal: Deal) -> None:
        rows = {row["card_id"]: row for row in await self._world.pool.fetch(CARDS, deal.thread_id)}
        states = {row["state"] for row in await self._world.pool.fetch(LEG_STATES, deal.group_id)}
        for viewer in self._world.people:
            page = await self._store.messages(
                viewer, deal.thread_id, before=None, after=None, limit=1000
            )
            found = await self._store.thread(viewer, deal.thread_id)
            if viewer not in deal.parties:
                assert page is None
                assert found is None
                continue
            assert page is not None
            assert found is not None
            views = self._views(viewer)
            shown = [views.message(message).card for message in page.items]
            cards = {card.id: msgspec.to_builtins(card) for card in shown if card is not None}
            assert cards.keys() == rows.keys()
            for card_id, card in cards.items():
                self._check_card(viewer, card, rows[card_id])
            thread, inbox = found[0], found[0].inbox
            assert inbox is not None
            waiting = {user for row in rows.values() if row["is_open"] for user in row["waits_for"]}
            assert inbox.needs_action == (viewer in waiting)
            state = views.thread(thread).state
            assert views.inbox(inbox).state == state
            is_open = any(row["is_open"] for row in rows.values())
            if state != "archived":
                _check_state(state, states - {"cancelled"}, is_open=is_open)

    def _check_card(self, viewer: str, card: Json, row: Any) -> None:
        shown = (card["state"], card["version"], card["type"], card["waits_for"])
        assert shown == (row["state"], row["version"], row["type"], list(row["waits_for"]))
        assert card["payload"] == msgspec.json.decode(row["payload"])
        roles = _roles(card, viewer)
        steps = [
            step
            for step in self._types[card["type"]]["transitions"]
            if card["state"] in step["from"] and roles & set(step["by"])
        ]
        actions = [each["action"] for each in card["available_actions"]]
        assert len(actions) == len(set(actions))
        now = rfc3339(self._world.clock.now_ms)
        if card["expires_at"] is not None and card["expires_at"] <= now:
            assert actions == []
            return
        # What has a rule is shown while that holds.
        assert set(actions) <= {step["action"] for step in steps}
        assert set(actions) >= {step["action"] for step in steps if not step["rules"]}

    async def check_feed(self, viewer: str) -> None:
        """Whoever lives on the feed from its beginning sees what one who loads now sees."""
        fresh = Client(self._store, viewer, self._views(viewer))
        await fresh.load()
        client = Client(self._store, viewer, self._views(viewer))
        await client.follow()
        assert client.shown() == fresh.shown()
        followed, loaded = State(messages=1000), State(messages=1000)
        changes = await self._store.changes(viewer, None, 1000)
        assert not changes.has_more
        for event in changes.events:
            wire = msgspec.to_builtins(self._views(viewer).event(event))
            followed.apply({key: value for key, value in wire.items() if value is not None})
        page = await self._store.inbox(viewer, InboxFilter(), after=None, limit=100)
        views = self._views(viewer)
        items = [
            {"thread": views.thread(each), "inbox": views.inbox(each.inbox)}
            for each in page.items
            if each.inbox is not None
        ]
        loaded.load_threads(msgspec.to_builtins(items), Mark())
        for thread_id in loaded.thread_ids():
            known = fresh.threads[thread_id]["messages"].values()
            loaded.load_messages(thread_id, known, Mark())
            assert followed.messages(thread_id) == loaded.messages(thread_id)
            assert followed.inbox(thread_id) == loaded.inbox(thread_id)
            assert followed.thread(thread_id) == loaded.thread(thread_id)


def _check_state(state: str, legs: Iterable[str], *, is_open: bool) -> None:
    states = set(legs)
    if "disputed" in states:
        assert state == "disputed"
    elif is_open:
        assert state == "pending_decision"
    elif states == {"completed"}:
        assert state == "completed"
    elif states & {"confirmed", "in_progress", "completed"}:
        assert state == "confirmed"
    else:
        assert state in ("open", "awaiting_reply")


def _roles(card: Json, viewer: str) -> set[str]:
    roles = {role for role in ("buyer", "seller") if card[role] == viewer}
    if roles and viewer != card["created_by"]:
        roles.add("other")
    if viewer == card["created_by"]:
        roles.add("creator")
    if any(
        each["user_id"] == viewer and each["state"] == "pending"
        for each in card.get("signers") or ()
    ):
        roles.add("signer")
    return roles


OVERDUE = """
select key, failure from task
where kind = 'timer' and (split_part(key, '/', 1) = any ($1::text[]) or key like 'crd_%')
    and (is_dead or due_at <= $2)
"""
QUEUED = "select key from payment where state = 'queued' and group_id = any ($1::text[])"
STUCK = """
select card_id, type, state from card
where thread_id = any ($1::text[]) and state in ('charging', 'refunding')
"""
CASH = """
select split_part(p.account, ':', 1) as kind, sum(p.amount_cents)::bigint as cents
from money_posting p join money_entry e using (entry_id)
where e.group_id = any ($1::text[]) group by 1
"""


LEFT_BEHIND = """
select l.leg_id, l.state, a.kind, a.balance_cents from leg l join money_account a using (leg_id)
where l.leg_id = any ($1::text[]) and l.state in ('completed', 'cancelled')
    and a.balance_cents <> 0 and l.payout <> 'held'
"""


async def check_worked(world: World) -> None:
    """After the worker has done everything: nothing is overdue, given up or forgotten."""
    legs = [leg for deal in world.deals for leg in deal.legs]
    assert await world.pool.fetch(OVERDUE, legs, world.clock.now_ms) == []
    groups = [deal.group_id for deal in world.deals]
    queued = {row["key"] for row in await world.pool.fetch(QUEUED, groups)}
    assert queued == set(world.bank.pending)
    threads = [deal.thread_id for deal in world.deals]
    if not queued:
        assert await world.pool.fetch(STUCK, threads) == []
        cash = {row["kind"]: row["cents"] for row in await world.pool.fetch(CASH, groups)}
        moved = world.bank.moved
        expected = moved("charge", "capture") - moved("refund", "payout")
        assert cash.get("provider", 0) == expected
        assert cash.get("holds", 0) == moved("hold") - moved("capture", "release")
        if all(outcome.status == "succeeded" for outcome in world.bank.answers.values()):
            assert await world.pool.fetch(LEFT_BEHIND, legs) == []


OPEN_AFTER_END = """
select c.card_id, c.type, c.state, l.state as leg_state from card c join leg l using (leg_id)
where l.leg_id = any ($1::text[]) and l.state in ('completed', 'cancelled', 'disputed')
    and c.is_open
"""
# When each leg was completed and by whom, beside the time that it had then.
COMPLETED = """
select h.subject, h.role, (extract(epoch from h.at) * 1000)::bigint as at_ms,
    (d.after ->> 'start_ms')::bigint as start_ms, (d.after ->> 'end_ms')::bigint as end_ms
from history h join history_detail d using (subject, seq)
where h.subject = any ($1::text[]) and h.act = 'complete'
"""
# What was released to sellers of legs that were neither completed nor cancelled at that moment.
RELEASED = """
select e.leg_id from money_entry e where e.leg_id = any ($1::text[])
    and e.kind = 'payout.released' and not exists (
        select from history h where h.subject = e.leg_id and h.at <= e.at
            and h.to_state in ('completed', 'cancelled'))
"""
REVIEW_MS = 72 * 3_600_000


async def check_ends(world: World) -> None:
    """Nothing is open about a leg that has ended, but what the catalogue lets outlive it; nobody
    is paid before the work's end without the buyer's own yes."""
    legs = [leg for deal in world.deals for leg in deal.legs]
    for row in await world.pool.fetch(OPEN_AFTER_END, legs):
        assert row["leg_state"] in world.cards.catalogue.type(row["type"]).outlives, row
    for row in await world.pool.fetch(COMPLETED, legs):
        assert row["role"] == "buyer" or row["at_ms"] >= row["end_ms"] + REVIEW_MS, row
    assert await world.pool.fetch(RELEASED, legs) == []
