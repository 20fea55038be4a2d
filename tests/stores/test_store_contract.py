"""The promises of `ConversationStore`, one at a time, for every adapter: messages, feed, keys."""

from collections.abc import Callable

from greenroom.conversations.inbox import InboxFilter
from greenroom.conversations.model import Cursor, EventType, Role
from greenroom.conversations.store import ConversationStore, Send, StartLimit
from greenroom.kernel.errors import (
    ActionInvalidState,
    EditWindowClosed,
    Forbidden,
    IdempotencyMismatch,
    NotFound,
    RateLimited,
)
from greenroom.platform.idempotency import Kept

from .world import (
    OpenStore,
    WildClock,
    draft,
    names,
    once,
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
DAY_MS = 86_400_000
_keys = names("key")


class TestMessages:
    async def test_pages_meet_without_gap_or_overlap(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        for number in range(9):
            await say(store, thread_id, ada, str(number))
        everything = await whole_thread(store, ben, thread_id)
        assert [message.seq for message in everything] == [*range(1, 11)]

        async def pages(*, forward: bool) -> list[list[int]]:
            found, edge = [], None
            while True:
                page = await store.messages(
                    ben,
                    thread_id,
                    before=None if forward else edge,
                    after=(edge or "") if forward else None,
                    limit=4,
                )
                assert page is not None
                found.append([message.seq for message in page.items])
                if not page.has_more:
                    return found
                edge = page.items[-1 if forward else 0].id

        assert await pages(forward=False) == [[7, 8, 9, 10], [3, 4, 5, 6], [1, 2]]
        assert await pages(forward=True) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]

    async def test_order_and_time_hold_when_the_clock_goes_back(
        self, store: ConversationStore, clock: WildClock, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        for by_ms in (DAY_MS, -2 * DAY_MS, 0, 1, 10 * DAY_MS, -1):
            clock.jump(by_ms)
            await say(store, thread_id, ada, "tick")
        found = await whole_thread(store, ben, thread_id)
        assert [message.seq for message in found] == [*range(1, 8)]
        times = [message.created_at_ms for message in found]
        assert times == sorted(set(times))
        assert sorted(message.id for message in found) == [message.id for message in found]

    async def test_a_repeat_is_the_message_as_it_is_now(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        send = send_of(thread_id, ada, "draft one", client_id=f"{ada}-1")
        first = await store.append(send)
        await store.edit_message(ada, thread_id, first.message.id, "draft two", None)
        again = await store.append(send)
        assert (again.is_repeat, again.message.body) == (True, "draft two")
        await store.delete_message(ada, thread_id, first.message.id)
        again = await store.append(send)
        assert (again.is_repeat, again.message.body) == (True, "")
        other = send_of(thread_id, ada, "draft two", client_id=f"{ada}-1")
        assert (await refusal(store.append(other)))[0] is IdempotencyMismatch
        # The same client_id of somebody else is somebody else's.
        assert not (
            await store.append(send_of(thread_id, ben, "x", client_id=f"{ada}-1"))
        ).is_repeat

    async def test_only_the_author_changes_a_message_and_edits_end_with_the_window(
        self, store: ConversationStore, clock: WildClock, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        message = await say(store, thread_id, ada, "hello")
        edit = store.edit_message
        assert (await refusal(edit(ben, thread_id, message.id, "mine", None)))[0] is Forbidden
        call = store.delete_message(ben, thread_id, message.id)
        assert (await refusal(call))[0] is Forbidden
        edited = await edit(ada, thread_id, message.id, "hi", "<p>hi</p>")
        assert (edited.body, edited.body_html, edited.seq) == ("hi", "<p>hi</p>", message.seq)
        clock.jump(16 * 60_000)
        late = edit(ada, thread_id, message.id, "too late", None)
        assert (await refusal(late))[0] is EditWindowClosed
        assert await edit(ada, thread_id, message.id, "hi", None) == edited
        gone = await store.delete_message(ada, thread_id, message.id)
        assert await store.delete_message(ada, thread_id, message.id) == gone
        assert (gone.body, gone.body_html) == ("", None)
        assert (await refusal(edit(ada, thread_id, message.id, "hi", None)))[0] is NotFound
        assert await types_of(store, ben) == [
            "thread.changed",
            "message.new",
            "message.new",
            "message.edited",
            "message.deleted",
        ]

    async def test_an_old_event_shows_what_may_be_seen_now(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        message = await say(store, thread_id, ada, "a secret")
        await store.delete_message(ada, thread_id, message.id)
        events = (await whole_feed(store, ben)).events
        assert "a secret" not in repr(events)
        assert [event.message.body for event in events if event.message] == ["first", "", ""]

    async def test_a_message_for_some_is_nowhere_for_the_others(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben, cleo)).thread.id
        quiet = Send(thread_id, ada, draft("psst"), 0, visible_to=frozenset({ada, ben}))
        message = (await store.append(quiet)).message
        await say(store, thread_id, ada, "aloud")
        assert [each.seq for each in await whole_thread(store, ben, thread_id)] == [1, 2, 3]
        assert [each.seq for each in await whole_thread(store, cleo, thread_id)] == [1, 3]
        assert await store.message(cleo, thread_id, message.id) is None
        assert [await unread(store, who, thread_id) for who in (ada, ben, cleo)] == [0, 3, 2]
        await store.edit_message(ada, thread_id, message.id, "pssst", None)
        await store.delete_message(ada, thread_id, message.id)
        assert [await unread(store, who, thread_id) for who in (ada, ben, cleo)] == [0, 2, 2]
        assert message.id not in repr(await whole_feed(store, cleo))


class TestFeed:
    async def test_a_cursor_that_cannot_be_gone_on_from_gets_a_reset(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        await start(store, ada, ben)
        head = (await whole_feed(store, ben)).cursor
        assert (await store.changes(ben, head, 5)).events == ()
        for strange in (Cursor(head.epoch, head.n + 1), Cursor("other", 1)):
            changes = await store.changes(ben, strange, 5)
            assert [event.type for event in changes.events] == [EventType.RESET]
            assert (changes.cursor, changes.has_more) == (head, False)
            assert (await store.changes(ben, changes.cursor, 5)).events == ()

    async def test_a_cursor_older_than_what_is_kept_gets_a_reset_and_never_a_gap(
        self, open_store: OpenStore, person: Person
    ) -> None:
        clock = WildClock()
        async with open_store(clock=clock, randomness=seeded_randomness(2)) as store:
            ada, ben = person(), person()
            thread_id = (await start(store, ada, ben)).thread.id
            old = (await store.changes(ben, None, 1)).cursor
            head = (await whole_feed(store, ben)).cursor
            clock.jump(8 * DAY_MS)
            await say(store, thread_id, ada, "a week later")
            await store.prune()
            assert [event.type for event in (await store.changes(ben, old, 9)).events] == ["reset"]
            later = await store.changes(ben, head, 9)
            assert [each.message.seq for each in later.events if each.message] == [2]
            assert (await store.changes(ben, None, 9)).events == later.events

    async def test_what_is_kept_is_read_whole_though_older_entries_lie_before_it(
        self, open_store: OpenStore, person: Person
    ) -> None:
        clock = WildClock()
        async with open_store(clock=clock, randomness=seeded_randomness(3)) as store:
            ada, ben = person(), person()
            thread_id = (await start(store, ada, ben)).thread.id
            clock.jump(8 * DAY_MS)
            for number in range(7):
                await say(store, thread_id, ada, str(number))
            await store.prune()
            seen, cursor, has_more = [], None, True
            while has_more:
                changes = await store.changes(ben, cursor, 3)
                seen += [event.message.seq for event in changes.events if event.message]
                cursor, has_more = changes.cursor, changes.has_more
            assert seen == [*range(2, 9)]

    async def test_the_cursor_of_a_load_is_where_the_feed_goes_on(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        head = (await whole_feed(store, ben)).cursor
        found = await store.thread(ben, thread_id)
        page = await store.messages(ben, thread_id, before=None, after=None, limit=5)
        assert found is not None
        assert page is not None
        inbox = await store.inbox(ben, InboxFilter(), after=None, limit=5)
        assert {found[1], page.sync_cursor, inbox.sync_cursor} == {head}


class TestOnce:
    async def test_a_change_under_a_key_happens_once(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        key = next(_keys)
        add = store.add_participant
        first = await add(ada, thread_id, cleo, Role.HOST, once(key))
        assert not isinstance(first, Kept)
        await store.remove_participant(ada, thread_id, cleo)
        assert await add(ada, thread_id, cleo, Role.HOST, once(key)) == Kept(200, b"Thread")
        assert await store.thread(cleo, thread_id) is None
        other = add(ada, thread_id, cleo, Role.HOST, once(key, b"2"))
        assert (await refusal(other))[0] is IdempotencyMismatch
        elsewhere = await add(ada, thread_id, cleo, Role.HOST, once(key, b"2", to="other"))
        assert not isinstance(elsewhere, Kept)

    async def test_a_refusal_is_kept_when_asked_to_and_recalled(
        self, store: ConversationStore
    ) -> None:
        key = next(_keys)
        assert await store.recall(once(key)) is None
        refused = Kept(404, b"NotFound")
        assert await store.keep_refusal(once(key), refused) == refused
        assert await store.keep_refusal(once(key), Kept(409, b"later")) == refused
        assert await store.recall(once(key)) == refused
        assert (await refusal(store.recall(once(key, b"2"))))[0] is IdempotencyMismatch

    async def test_a_refused_change_leaves_its_key_free(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        key, limits = next(_keys), (StartLimit(1, 60_000),)
        drafts = [thread_draft(ada, ben), thread_draft(ada, ben)]
        await store.start_thread(drafts[0], draft(), limits)
        again = store.start_thread(drafts[1], draft(), limits, once(key))
        assert (await refusal(again))[0] is RateLimited
        allowed = await store.start_thread(drafts[1], draft(), (), once(key))
        assert not isinstance(allowed, Kept)


async def test_a_promoted_thread_is_bound_to_one_booking(
    store: ConversationStore, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    for _ in range(2):
        thread = await store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert not isinstance(thread, Kept)
        assert (thread.kind, thread.group_id) == ("project", "lbg_1")
    call = store.promote(thread_id, group_id="lbg_2", leg_id=None)
    assert (await refusal(call))[0] is ActionInvalidState
    assert [each.seq for each in await whole_thread(store, ben, thread_id)] == [1, 2]
