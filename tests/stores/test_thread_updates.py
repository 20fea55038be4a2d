"""The promises of `ThreadUpdates`, for every adapter: cards, notices and standings in threads."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from greenroom.conversations.inbox import Folder, InboxChanges, InboxFilter
from greenroom.conversations.model import EventType, Role, ThreadState, derive_state
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.thread_updates import Notice, Promotion, Standing, ThreadUpdate
from greenroom.conversations.wire import Views
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    MsgBlockedByUser,
    ThreadNotFound,
)

from .client import Client
from .updating import Ledger, cards_in, ledger_of, row_of, shadow, waiting_for
from .world import (
    ROOMY,
    Seed,
    WildClock,
    refusal,
    say,
    seeded_randomness,
    start,
    types_of,
    whole_feed,
    whole_thread,
)

Person = Callable[[], str]

HERE: dict[str, Any] = {"lat": 52.520008, "lon": 13.404954}


@pytest.fixture
def ledger(store: ConversationStore, pool: asyncpg.Pool, clock: WildClock, seed: Seed) -> Ledger:
    randomness = seeded_randomness(seed.random.randrange(1 << 40))
    return ledger_of(store, pool, clock=clock, randomness=randomness)


async def folder(store: ConversationStore, viewer: str, asked: InboxFilter) -> list[str]:
    page = await store.inbox(viewer, asked, after=None, limit=50)
    return [thread.id for thread in page.items]


async def counts(store: ConversationStore, viewer: str) -> dict[Folder, int]:
    return (await store.inbox(viewer, InboxFilter(), after=None, limit=1)).counts


async def standing(store: ConversationStore, viewer: str, thread_id: str) -> str:
    found = await store.thread(viewer, thread_id)
    assert found is not None
    row = found[0].inbox
    assert row is not None
    now_ms = row.last_activity_ms
    state = derive_state(found[0].kind, row, now_ms, ROOMY)
    without_row = replace(found[0], inbox=None)
    if state not in (ThreadState.OPEN, ThreadState.AWAITING_REPLY):
        assert state == derive_state(
            without_row.kind,
            None,
            now_ms,
            ROOMY,
            stage=without_row.stage,
            open_cards=without_row.open_cards,
        )
    return state.value


class TestNewCards:
    async def test_a_card_is_a_message_in_pages_feeds_and_inboxes_of_both(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        card = shadow(ada, state="active", **HERE)
        applied = await ledger.post(ThreadUpdate(thread_id, ada, new_card=card))
        assert applied.message is not None
        for viewer in (ada, ben):
            [message] = await cards_in(store, viewer, thread_id)
            assert message == applied.message
            assert (message.author_id, message.body, message.card) == (ada, "", card.card)
            assert await store.message(viewer, thread_id, message.id) == message
            event = (await whole_feed(store, viewer)).events[-1]
            assert (event.type, event.message) == (EventType.MESSAGE_NEW, message)
            row = await row_of(store, viewer, thread_id)
            assert row.last_message is not None
            last = row.last_message
            assert (last.id, last.kind, last.card_type) == (message.id, "card", "location")
            assert last.preview == ""
        assert (await row_of(store, ben, thread_id)).unread_count == 2
        assert (await row_of(store, ben, thread_id)).awaits_reply
        assert not (await row_of(store, ada, thread_id)).awaits_reply

    async def test_cards_and_texts_keep_their_order_in_every_page(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        for number in range(3):
            await ledger.post(ThreadUpdate(thread_id, ada, new_card=shadow(ada, n=number)))
            await say(store, thread_id, ben, str(number))
        page = await store.messages(ben, thread_id, before=None, after=None, limit=4)
        assert page is not None
        shown = [each.card["payload"]["n"] if each.card else each.body for each in page.items]
        assert shown == [1, "1", 2, "2"]
        rest = await store.messages(ben, thread_id, before=page.items[0].id, after=None, limit=9)
        assert rest is not None
        shown = [each.card["payload"]["n"] if each.card else each.body for each in rest.items]
        assert shown == ["first", 0, "0"]

    async def test_nobody_edits_or_deletes_a_card(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        applied = await ledger.post(ThreadUpdate(thread_id, ada, new_card=shadow(ada)))
        assert applied.message is not None
        message_id = applied.message.id
        edit = store.edit_message(ada, thread_id, message_id, "other", None)
        assert (await refusal(edit))[0] is Forbidden
        assert (await refusal(store.delete_message(ada, thread_id, message_id)))[0] is Forbidden

    async def test_the_simple_api_knows_no_cards(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await ledger.post(ThreadUpdate(thread_id, ada, new_card=shadow(ada)))
        spoken = await store.spoken(ben, thread_id, after=None, limit=10)
        assert [message.body for message in spoken] == ["first"]
        [talk] = await store.conversations(ben, 10)
        assert talk.last_spoken is not None
        assert talk.last_spoken.kind == "text"

    async def test_a_card_for_some_is_nothing_to_the_others(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben, cleo)).thread.id
        card = replace(shadow(ada), visible_to=frozenset({ada, cleo}))
        await ledger.post(ThreadUpdate(thread_id, ada, new_card=card))
        changed = shadow(ada, state="closed", version=2, card_id=card.card_id)
        await ledger.post(ThreadUpdate(thread_id, ada, changed_card=changed))
        assert await cards_in(store, ben, thread_id) == []
        assert await types_of(store, ben) == ["thread.changed", "message.new"]
        assert len(await cards_in(store, cleo, thread_id)) == 1
        assert (await types_of(store, cleo))[-2:] == ["message.new", "card.changed"]


class TestChangedCards:
    async def test_a_changed_card_is_in_its_old_place_and_in_feeds(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        new = await ledger.post(ThreadUpdate(thread_id, ada, new_card=(card := shadow(ada))))
        await say(store, thread_id, ben, "hm")
        changed = shadow(ada, state="accepted", version=2, card_id=card.card_id)
        applied = await ledger.post(ThreadUpdate(thread_id, ben, changed_card=changed))
        assert new.message is not None
        assert applied.update.message_id == new.message.id
        for viewer in (ada, ben):
            bodies = [
                (each.kind, each.seq) for each in await whole_thread(store, viewer, thread_id)
            ]
            assert bodies == [("text", 1), ("card", 2), ("text", 3)]
            [message] = await cards_in(store, viewer, thread_id)
            assert message.card == changed.card
            event = (await whole_feed(store, viewer)).events[-1]
            assert (event.type, event.message) == (EventType.CARD_CHANGED, message)
            assert event.inbox is not None
        # It is no new message: what was unread is unread, who wrote last wrote last.
        row = await row_of(store, ada, thread_id)
        assert (row.unread_count, row.awaits_reply) == (1, True)

    async def test_an_ended_location_is_gone_from_pages_and_old_events(
        self, store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        card = shadow(ada, state="active", **HERE)
        await ledger.post(ThreadUpdate(thread_id, ada, new_card=card))
        [shared] = await cards_in(store, ben, thread_id)
        assert shared.card is not None
        assert shared.card["payload"] == HERE
        ended = shadow(ada, state="ended", version=2, card_id=card.card_id)
        await ledger.post(ThreadUpdate(thread_id, ada, changed_card=ended))
        seen = [*await whole_thread(store, ben, thread_id)]
        seen += [event.message for event in (await whole_feed(store, ben)).events if event.message]
        shown = [message.card for message in seen if message.card is not None]
        assert shown == [ended.card] * 3
        left = await pool.fetchval(
            "select count(*) from decision where thread_id = $1 and data::text like '%52.52%'",
            thread_id,
        )
        assert left == 0

    async def test_a_client_that_lives_on_the_feed_sees_what_a_fresh_one_sees(
        self, store: ConversationStore, ledger: Ledger, person: Person, clock: WildClock
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        old = Client(store, ben, Views(ben, clock.now_ms, ROOMY))
        await old.load()
        card = shadow(ada)
        await ledger.post(
            ThreadUpdate(thread_id, ada, new_card=card, standing=waiting_for(ben, open_cards=1))
        )
        await old.follow()
        changed = shadow(ada, state="accepted", version=2, card_id=card.card_id)
        await ledger.post(
            ThreadUpdate(
                thread_id,
                ben,
                changed_card=changed,
                notices=(Notice("booking.confirmed", {"n": 1}),),
                standing=Standing("confirmed"),
            )
        )
        await ledger.post(ThreadUpdate(thread_id, standing=Standing("completed")))
        await old.follow()
        fresh = Client(store, ben, Views(ben, clock.now_ms, ROOMY))
        await fresh.load()
        assert old.shown() == fresh.shown()
        assert old.shown()[0]["thread"]["state"] == "completed"


class TestBookingChanged:
    async def test_everyone_in_the_thread_hears_of_it_once(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        before = {each: await types_of(store, each) for each in (ada, ben)}
        await ledger.post(ThreadUpdate(thread_id, booking_changed=True))
        for each in (ada, ben):
            assert await types_of(store, each) == [*before[each], EventType.THREAD_CHANGED]
        notice = Notice("booking.cancelled", {"by": "seller"})
        await ledger.post(ThreadUpdate(thread_id, notices=(notice,), booking_changed=True))
        assert (await types_of(store, ben))[len(before[ben]) + 1 :] == [EventType.MESSAGE_NEW]


class TestStandings:
    async def test_what_waits_for_someone_shows_in_their_inbox_alone(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        card = shadow(ada)
        await ledger.post(ThreadUpdate(thread_id, ada, new_card=card, standing=waiting_for(ben)))
        action = InboxFilter(Folder.ACTION)
        assert (await folder(store, ben, action), await folder(store, ada, action)) == (
            [thread_id],
            [],
        )
        assert (await counts(store, ben))[Folder.ACTION] == 1
        assert (await counts(store, ben))[Folder.OFFERS] == 1
        assert (await row_of(store, ben, thread_id)).needs_action
        assert not (await row_of(store, ada, thread_id)).needs_action
        for viewer in (ada, ben):
            assert await standing(store, viewer, thread_id) == "pending_decision"
            asked = InboxFilter(state="pending_decision")
            assert await folder(store, viewer, asked) == [thread_id]

        changed = shadow(ada, state="declined", version=2, card_id=card.card_id)
        await ledger.post(
            ThreadUpdate(thread_id, ben, changed_card=changed, standing=Standing(None))
        )
        assert await folder(store, ben, action) == []
        assert (await counts(store, ben))[Folder.ACTION] == 0
        event = (await whole_feed(store, ben)).events[-1]
        assert event.inbox is not None
        assert not event.inbox.needs_action
        assert await standing(store, ben, thread_id) == "awaiting_reply"
        assert await folder(store, ben, InboxFilter(state="pending_decision")) == []

    async def test_what_waits_is_counted_until_it_is_decided_though_all_is_read(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        card = shadow(ada)
        await ledger.post(ThreadUpdate(thread_id, ada, new_card=card, standing=waiting_for(ben)))
        last = (await whole_thread(store, ben, thread_id))[-1]
        await store.mark_read(ben, thread_id, last.id)
        assert {each: n for each, n in (await counts(store, ben)).items() if n} == {
            Folder.ACTION: 1
        }
        await store.set_inbox_row(ben, thread_id, InboxChanges(archived=True))
        assert not any((await counts(store, ben)).values())
        await store.set_inbox_row(ben, thread_id, InboxChanges(archived=False))
        assert (await counts(store, ben))[Folder.ACTION] == 1
        changed = shadow(ada, state="declined", version=2, card_id=card.card_id)
        await ledger.post(
            ThreadUpdate(thread_id, ben, changed_card=changed, standing=Standing(None))
        )
        assert (await counts(store, ben))[Folder.ACTION] == 0

    @pytest.mark.parametrize("stage", ["confirmed", "completed", "disputed"])
    async def test_the_stage_is_the_state_and_a_dispute_comes_before_open_cards(
        self, store: ConversationStore, ledger: Ledger, person: Person, stage: str
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await ledger.post(ThreadUpdate(thread_id, standing=Standing(stage)))  # type: ignore[arg-type]
        assert (await types_of(store, ben))[-1] == "thread.changed"
        assert await standing(store, ben, thread_id) == stage
        assert await folder(store, ben, InboxFilter(state=stage)) == [thread_id]
        await ledger.post(ThreadUpdate(thread_id, standing=Standing(stage, 2)))  # type: ignore[arg-type]
        expected = "disputed" if stage == "disputed" else "pending_decision"
        assert await standing(store, ben, thread_id) == expected
        assert await folder(store, ben, InboxFilter(state=expected)) == [thread_id]

    async def test_a_cancelled_booking_leaves_a_thread_in_which_people_talk(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await ledger.post(ThreadUpdate(thread_id, promotes=Promotion("lbg_1", None)))
        await ledger.post(ThreadUpdate(thread_id, standing=Standing("cancelled")))
        state = await standing(store, ben, thread_id)
        assert state in ("open", "awaiting_reply")
        assert await folder(store, ben, InboxFilter(state=state)) == [thread_id]
        assert await folder(store, ben, InboxFilter(state="confirmed")) == []

    async def test_the_same_standing_again_tells_nobody(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        for _ in range(2):
            await ledger.post(ThreadUpdate(thread_id, standing=Standing("confirmed", 1)))
        assert (await types_of(store, ben)).count("thread.changed") == 2
        waits = Standing("confirmed", 1, frozenset({ben}))
        await ledger.post(ThreadUpdate(thread_id, standing=waits))
        assert (await types_of(store, ben))[-1] == "inbox.changed"
        assert (await types_of(store, ada))[-1] == "thread.changed"

    async def test_who_joins_later_sees_how_things_stand(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await ledger.post(ThreadUpdate(thread_id, standing=Standing("disputed", 1)))
        await store.add_participant(None, thread_id, cleo, Role.SUPPORT)
        assert await standing(store, cleo, thread_id) == "disputed"
        await say(store, thread_id, ben, "well")
        assert await standing(store, cleo, thread_id) == "disputed"

    async def test_a_project_without_a_stage_is_confirmed(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert await standing(store, ben, thread_id) == "confirmed"
        assert await folder(store, ben, InboxFilter(state="confirmed")) == [thread_id]


class TestTransactions:
    async def test_what_is_rolled_back_was_never_posted(
        self, store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        update = ThreadUpdate(
            thread_id,
            ada,
            promotes=Promotion("lbg_9", None),
            new_card=shadow(ada),
            notices=(Notice("booking.confirmed"),),
            standing=waiting_for(ben),
        )
        async with pool.acquire() as conn:
            transaction = conn.transaction()
            await transaction.start()
            await ledger.thread_updates.access(conn, thread_id, ada)
            applied = await ledger.thread_updates.apply(conn, update)
            await transaction.rollback()
        await ledger.thread_updates.show([applied])
        await store.settle()
        assert [each.seq for each in await whole_thread(store, ben, thread_id)] == [1]
        assert await types_of(store, ben) == ["thread.changed", "message.new"]
        assert await standing(store, ben, thread_id) == "awaiting_reply"
        await store.promote(thread_id, group_id="lbg_1", leg_id=None)

    async def test_everything_in_one_posting_comes_in_order(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        update = ThreadUpdate(
            thread_id,
            ada,
            promotes=Promotion(None, "leg_1"),
            new_card=shadow(ada),
            notices=(Notice("booking.confirmed", {"leg_id": "leg_1"}), Notice("another")),
            standing=Standing("confirmed", 1, frozenset({ben})),
        )
        await ledger.post(update)
        found = await whole_thread(store, ben, thread_id)
        said = [each.system["code"] if each.system else each.kind for each in found]
        assert said == ["text", "thread.promoted", "card", "booking.confirmed", "another"]
        assert [each.seq for each in found] == [1, 2, 3, 4, 5]
        assert found[3].system == {"code": "booking.confirmed", "params": {"leg_id": "leg_1"}}
        assert (await types_of(store, ben))[2:] == ["thread.changed", *["message.new"] * 4]
        assert (await row_of(store, ben, thread_id)).unread_count == 5
        assert await folder(store, ben, InboxFilter(Folder.BOOKINGS)) == [thread_id]
        assert (await counts(store, ben))[Folder.BOOKINGS] == 1
        assert await standing(store, ada, thread_id) == "pending_decision"

    async def test_a_thread_is_promoted_once(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        mine = ThreadUpdate(thread_id, promotes=Promotion("lbg_1", None))
        await ledger.post(mine)
        await ledger.post(mine)
        assert len(await whole_thread(store, ben, thread_id)) == 2
        other = ledger.post(ThreadUpdate(thread_id, promotes=Promotion("lbg_2", None)))
        assert (await refusal(other))[0] is ActionInvalidState
        assert len(await whole_thread(store, ben, thread_id)) == 2

    async def test_postings_at_once_come_one_after_the_other(
        self, store: ConversationStore, ledger: Ledger, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await asyncio.gather(
            *(
                ledger.post(ThreadUpdate(thread_id, ada, new_card=shadow(ada, n=n)))
                for n in range(4)
            ),
            *(say(store, thread_id, ben, "so") for _ in range(4)),
        )
        found = await whole_thread(store, ben, thread_id)
        assert [each.seq for each in found] == [*range(1, 10)]
        events = (await whole_feed(store, ada)).events[1:]
        assert [each.message.seq for each in events if each.message] == [*range(1, 10)]
        assert sum(each.kind == "card" for each in found) == 4


class TestAccess:
    async def test_the_thread_is_there_for_its_people_and_the_server(
        self, store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
    ) -> None:
        ada, ben, dan = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        async with pool.acquire() as conn, conn.transaction():
            access = ledger.thread_updates.access
            for viewer in (ada, None):
                facts = await access(conn, thread_id, viewer, to_write=True)
                assert (facts.kind, facts.locked, facts.group_id) == ("inquiry", False, None)
                assert facts.people == {ada: Role.BUYER, ben: Role.SELLER}
            assert (await refusal(access(conn, thread_id, dan)))[0] is ThreadNotFound
            assert (await refusal(access(conn, "thr_none", None)))[0] is ThreadNotFound

    async def test_whoever_left_is_out_and_a_block_stops_writing(
        self, store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.add_participant(None, thread_id, cleo, Role.HOST)
        await store.remove_participant(None, thread_id, cleo)
        await store.block(ada, ben)
        async with pool.acquire() as conn, conn.transaction():
            access = ledger.thread_updates.access
            assert (await refusal(access(conn, thread_id, cleo)))[0] is ThreadNotFound
            blocked = access(conn, thread_id, ada, to_write=True)
            assert (await refusal(blocked))[0] is MsgBlockedByUser
            assert cleo not in (await access(conn, thread_id, ada)).people

    async def test_a_decided_promotion_counts_at_once(
        self, store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await ledger.post(ThreadUpdate(thread_id, promotes=Promotion("lbg_5", None)), shows=False)
        async with pool.acquire() as conn, conn.transaction():
            facts = await ledger.thread_updates.access(conn, thread_id, ada)
        assert (facts.kind, facts.group_id, facts.leg_id) == ("project", "lbg_5", None)
