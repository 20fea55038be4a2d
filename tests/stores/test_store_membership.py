"""The promises of `ConversationStore` about who is in a thread and who sees whom."""

from collections.abc import Awaitable, Callable
from typing import Any

from greenroom.conversations.inbox import InboxFilter
from greenroom.conversations.model import EventType, ReadMark, Role
from greenroom.conversations.store import ConversationStore
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    MsgBlockedByUser,
    NotFound,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.kernel.limits import Limits

from .world import (
    OpenStore,
    WildClock,
    draft,
    refusal,
    say,
    seeded_randomness,
    send_of,
    start,
    thread_draft,
    types_of,
    unread,
    whole_feed,
    whole_thread,
)

Person = Callable[[], str]


class TestMembership:
    async def test_a_stranger_is_told_what_is_told_of_a_thread_that_is_not(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, eve = person(), person(), person()
        started = await start(store, ada, ben)
        there, message = started.thread.id, started.message.id
        nowhere = thread_draft(ada, ben).id

        def calls(thread_id: str) -> list[Awaitable[Any]]:
            return [
                store.append(send_of(thread_id, eve)),
                store.edit_message(eve, thread_id, message, "mine now", None),
                store.delete_message(eve, thread_id, message),
                store.mark_read(eve, thread_id, message),
                store.add_participant(eve, thread_id, eve, Role.HOST),
                store.remove_participant(eve, thread_id, ada),
            ]

        for strange, missing in zip(calls(there), calls(nowhere), strict=True):
            assert await refusal(strange) == await refusal(missing) == (ThreadNotFound, None)
        for thread_id in (there, nowhere):
            assert await store.thread(eve, thread_id) is None
            assert await store.message(eve, thread_id, message) is None
            page = store.messages(eve, thread_id, before=None, after=None, limit=5)
            assert await page is None
        assert (await store.inbox(eve, InboxFilter(), after=None, limit=5)).items == ()
        assert (await whole_feed(store, eve)).events == ()

    async def test_someone_added_sees_what_is_written_from_then_on(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        started = await start(store, ada, ben)
        thread_id = started.thread.id
        await store.add_participant(ada, thread_id, cleo, Role.HOST)
        await say(store, thread_id, ben, "welcome")
        found = await whole_thread(store, cleo, thread_id)
        assert [message.seq for message in found] == [2, 3]
        assert await store.message(cleo, thread_id, started.message.id) is None
        assert await unread(store, cleo, thread_id) == 2
        assert await refusal(store.mark_read(cleo, thread_id, started.message.id)) == (
            NotFound,
            "There is no such message in this thread.",
        )

    async def test_someone_removed_gets_one_last_event_and_nothing_later(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.add_participant(None, thread_id, cleo, Role.SUPPORT)
        before = (await whole_feed(store, cleo)).cursor
        await store.remove_participant(ben, thread_id, cleo)
        await say(store, thread_id, ada, "among us")
        after = await store.changes(cleo, before, 100)
        assert [(event.type, event.thread) for event in after.events] == [
            (EventType.THREAD_CHANGED, None)
        ]
        assert (await whole_feed(store, cleo)).events[-1].type == EventType.THREAD_CHANGED
        assert all(event.message is None for event in (await whole_feed(store, cleo)).events)

    async def test_who_was_away_while_removed_and_added_again_hears_of_both(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        before = (await whole_feed(store, ben)).cursor
        await store.remove_participant(ben, thread_id, ben)
        await store.add_participant(ada, thread_id, ben, Role.SELLER)
        events = (await store.changes(ben, before, 100)).events
        changed = [each.thread for each in events if each.type == EventType.THREAD_CHANGED]
        assert [thread is None for thread in changed] == [True, False]

    async def test_who_may_bring_in_and_take_out_whom(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.add_participant(ben, thread_id, cleo, Role.HOST)
        for call in (
            store.add_participant(cleo, thread_id, person(), Role.HOST),
            store.remove_participant(cleo, thread_id, ada),
            store.remove_participant(ada, thread_id, ben),
        ):
            assert (await refusal(call))[0] is Forbidden
        assert (await refusal(store.remove_participant(ada, thread_id, person())))[
            0
        ] is UserNotFound
        await store.remove_participant(cleo, thread_id, cleo)
        await store.remove_participant(None, thread_id, ben)
        assert (await refusal(store.remove_participant(None, thread_id, ben)))[0] is UserNotFound

    async def test_a_full_thread_takes_nobody(self, open_store: OpenStore, person: Person) -> None:
        limits = Limits(participants=2)
        async with open_store(
            clock=WildClock(), randomness=seeded_randomness(1), limits=limits
        ) as store:
            ada, ben = person(), person()
            thread_id = (await start(store, ada, ben)).thread.id
            call = store.add_participant(None, thread_id, person(), Role.HOST)
            assert (await refusal(call))[0] is ActionInvalidState
            await store.add_participant(None, thread_id, ben, Role.HOST)


class TestReading:
    async def test_a_mark_only_moves_forward_and_tells_both_sides(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        started = await start(store, ada, ben)
        thread_id = started.thread.id
        second = await say(store, thread_id, ada, "second")
        await store.mark_read(ben, thread_id, second.id)
        await store.mark_read(ben, thread_id, started.message.id)
        assert await unread(store, ben, thread_id) == 0
        found = (await whole_feed(store, ada)).events
        [receipt] = [each.receipt for each in found if each.receipt]
        assert (receipt.user_id, receipt.message_id, receipt.seq) == (ben, second.id, 2)
        assert await types_of(store, ben) == [
            *("thread.changed", "message.new", "message.new", "inbox.changed")
        ]
        for viewer in (ada, ben):
            seen = await store.thread(viewer, thread_id)
            assert seen is not None
            [mark] = [p.last_read for p in seen[0].participants if p.user_id == ben]
            assert mark == ReadMark(receipt.message_id, receipt.at_ms)

    async def test_a_reader_who_is_blocked_cannot_tell_from_their_own_mark(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        started = await start(store, ada, ben)
        thread_id = started.thread.id
        await store.block(ada, ben)
        await store.mark_read(ben, thread_id, started.message.id)
        marks = {}
        for viewer in (ada, ben):
            found = await store.thread(viewer, thread_id)
            assert found is not None
            [mark] = [p.last_read for p in found[0].participants if p.user_id == ben]
            marks[viewer] = mark and mark.message_id
        assert marks == {ada: None, ben: started.message.id}
        assert "receipt" not in await types_of(store, ada)


class TestBlocks:
    async def test_nothing_passes_while_a_block_lies_between_two(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.block(ben, ada)
        await store.block(ben, ada)
        silent = await say(store, thread_id, ada, "are you there?")
        assert silent.seq == 2
        refused = await refusal(store.append(send_of(thread_id, ben)))
        assert refused[0] is MsgBlockedByUser
        assert [each.seq for each in await whole_thread(store, ben, thread_id)] == [1]
        assert await unread(store, ben, thread_id) == 1
        await store.unblock(ben, ada)
        await say(store, thread_id, ada, "and now?")
        assert [each.seq for each in await whole_thread(store, ben, thread_id)] == [1, 3]
        assert await unread(store, ben, thread_id) == 2

    async def test_a_thread_begun_under_a_block_is_not_there_for_the_blocker(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        await store.block(ben, ada)
        thread_id = (await start(store, ada, ben)).thread.id
        assert await store.thread(ben, thread_id) is None
        assert (await whole_feed(store, ben)).events == ()
        assert (await refusal(store.append(send_of(thread_id, ben))))[0] is ThreadNotFound
        await store.unblock(ben, ada)
        await say(store, thread_id, ada, "hello again")
        assert [each.seq for each in await whole_thread(store, ben, thread_id)] == [2]

    async def test_one_does_not_write_to_whom_one_blocked(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        await store.block(ada, ben)
        call = store.start_thread(thread_draft(ada, ben), draft(), ())
        assert (await refusal(call))[0] is MsgBlockedByUser
        assert (await store.inbox(ada, InboxFilter(), after=None, limit=5)).items == ()
