"""Messages with files, in both stores: who sees them, what is counted, and what is told."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from greenroom.conversations.inbox import InboxFilter
from greenroom.conversations.model import (
    AttachmentRef,
    Draft,
    EventType,
    FileSummary,
    InboxRow,
    Message,
    Role,
)
from greenroom.conversations.store import ConversationStore, Send
from greenroom.kernel.errors import IdempotencyMismatch, MsgEmpty
from greenroom.kernel.ids import make_id

from .world import (
    START_MS,
    WildClock,
    draft,
    names,
    say,
    seeded_randomness,
    start,
    unread,
    whole_feed,
    whole_thread,
)

_tails = seeded_randomness(7)
_client_ids = names("f")


def file_id() -> str:
    return make_id("fil", START_MS, _tails())


def photos(count: int = 1) -> tuple[AttachmentRef, ...]:
    return tuple(AttachmentRef(file_id(), "image") for _ in range(count))


def asset(
    thread_id: str,
    author: str,
    files: tuple[AttachmentRef, ...],
    body: str = "",
    client_id: str | None = None,
) -> Send:
    new = Draft(client_id or next(_client_ids), body, None, attachments=files)
    return Send(thread_id, author, new, cost_ms=0)


async def show(
    store: ConversationStore,
    thread_id: str,
    author: str,
    files: tuple[AttachmentRef, ...],
    body: str = "",
) -> Message:
    return (await store.append(asset(thread_id, author, files, body))).message


async def row_of(store: ConversationStore, viewer: str, thread_id: str) -> InboxRow:
    found = await store.thread(viewer, thread_id)
    assert found is not None
    assert found[0].inbox is not None
    return found[0].inbox


async def with_files(store: ConversationStore, viewer: str, *, wanted: bool = True) -> list[str]:
    page = await store.inbox(viewer, InboxFilter(has_files=wanted), after=None, limit=10)
    return [thread.id for thread in page.items]


class TestSending:
    async def test_everybody_reads_the_files_in_their_order(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        files = (AttachmentRef(file_id(), "image"), AttachmentRef(file_id(), "pdf"))
        sent = await show(store, thread_id, ada, files, "look")
        assert (sent.kind, sent.body, sent.attachments) == ("asset", "look", files)
        for viewer in (ada, ben):
            assert (await whole_thread(store, viewer, thread_id))[-1] == sent
            assert await store.message(viewer, thread_id, sent.id) == sent
            assert (await whole_feed(store, viewer)).events[-1].message == sent
            spoken = await store.spoken(viewer, thread_id, after=None, limit=5)
            assert spoken[-1] == sent

    async def test_a_text_has_no_files(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        said = await say(store, thread_id, ada, "hello")
        assert (said.kind, said.attachments) == ("text", ())
        row = await row_of(store, ben, thread_id)
        assert row.last_message is not None
        assert (row.last_message.files, row.file_messages) == (None, 0)

    async def test_a_repeat_needs_the_same_files(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        files = photos(2)
        first = asset(thread_id, ada, files, "two", "again")
        sent = await store.append(first)
        repeated = await store.append(first)
        assert (repeated.message, repeated.is_repeat) == (sent.message, True)
        for others in (files[:1], files[::-1], photos(2), ()):
            with pytest.raises(IdempotencyMismatch):
                await store.append(asset(thread_id, ada, others, "two", "again"))

    async def test_what_was_sent_before_is_found_by_its_client_id(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        sent = await show(store, thread_id, ada, photos(), "one")
        assert sent.client_id is not None
        same = Draft(sent.client_id, "one", None, attachments=sent.attachments)
        assert await store.sent_before(ada, thread_id, same) == sent
        assert await store.sent_before(ben, thread_id, same) is None
        assert await store.sent_before(ada, thread_id, draft("never sent")) is None
        with pytest.raises(IdempotencyMismatch):
            await store.sent_before(ada, thread_id, replace(same, attachments=photos()))

    async def test_counts_as_one_unread_message(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        before = await unread(store, ben, thread_id)
        sent = await show(store, thread_id, ada, photos(3))
        assert await unread(store, ben, thread_id) == before + 1
        assert await unread(store, ada, thread_id) == 0
        await store.mark_read(ben, thread_id, sent.id)
        assert await unread(store, ben, thread_id) == 0


class TestVisibility:
    async def test_a_blocked_senders_files_are_seen_by_their_author_alone(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.block(ben, ada)
        sent = await show(store, thread_id, ada, photos())
        assert (await whole_thread(store, ada, thread_id))[-1] == sent
        assert await store.message(ben, thread_id, sent.id) is None
        assert (await row_of(store, ada, thread_id)).file_messages == 1
        assert (await row_of(store, ben, thread_id)).file_messages == 0
        await store.tell_file_changed(thread_id, sent.attachments[0].file_id, ada, sent.id)
        told = [event.type for event in (await whole_feed(store, ben)).events]
        assert EventType.FILE_CHANGED not in told

    async def test_a_newcomer_sees_no_earlier_files(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        earlier = await show(store, thread_id, ada, photos())
        await store.add_participant(ada, thread_id, cleo, Role.HOST)
        assert await store.message(cleo, thread_id, earlier.id) is None
        assert await with_files(store, cleo) == []
        await store.tell_file_changed(thread_id, earlier.attachments[0].file_id, ada, earlier.id)
        told = [event.type for event in (await whole_feed(store, cleo)).events]
        assert EventType.FILE_CHANGED not in told
        await show(store, thread_id, ben, photos())
        assert (await row_of(store, cleo, thread_id)).file_messages == 1
        assert (await row_of(store, ada, thread_id)).file_messages == 2

    async def test_a_deleted_message_has_no_files(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        sent = await show(store, thread_id, ada, photos(2), "soon gone")
        assert await with_files(store, ben) == [thread_id]
        gone = await store.delete_message(ada, thread_id, sent.id)
        for viewer in (ada, ben):
            assert await store.message(viewer, thread_id, sent.id) == gone
            row = await row_of(store, viewer, thread_id)
            assert row.last_message is not None
            assert (row.last_message.files, row.file_messages) == (None, 0)
            assert await with_files(store, viewer) == []
        assert (gone.kind, gone.body, gone.attachments) == ("asset", "", ())
        changed = await store.changed(ben, thread_id, after_ms=0, limit=5)
        assert changed == (gone,)
        assert await store.delete_message(ada, thread_id, sent.id) == gone
        assert (await row_of(store, ben, thread_id)).file_messages == 0


class TestCaptions:
    async def test_a_caption_can_be_changed_and_removed_and_the_files_stay(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        sent = await show(store, thread_id, ada, photos(), "first")
        for caption in ("second", ""):
            edited = await store.edit_message(ada, thread_id, sent.id, caption, None)
            assert (edited.body, edited.attachments) == (caption, sent.attachments)
            row = await row_of(store, ben, thread_id)
            assert row.last_message is not None
            assert row.last_message.preview == caption
            assert row.last_message.files == FileSummary("image", 1)
        assert (await row_of(store, ben, thread_id)).file_messages == 1

    async def test_a_text_cannot_become_empty(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        said = await say(store, thread_id, ada, "something")
        with pytest.raises(MsgEmpty):
            await store.edit_message(ada, thread_id, said.id, "", None)


class TestInbox:
    async def test_finds_threads_with_and_without_files(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        plain = (await start(store, ada, ben)).thread.id
        shown = (await start(store, ada, ben)).thread.id
        await show(store, shown, ada, photos())
        await say(store, shown, ada, "and words")
        for viewer in (ada, ben):
            assert await with_files(store, viewer) == [shown]
            assert await with_files(store, viewer, wanted=False) == [plain]

    @pytest.mark.parametrize(
        ("media", "summary"),
        [
            (("image",), FileSummary("image", 1)),
            (("image", "image", "image"), FileSummary("image", 3)),
            (("audio",), FileSummary("audio", 1)),
            (("image", "pdf"), FileSummary("other", 2)),
        ],
    )
    async def test_the_last_message_says_what_it_has(
        self,
        store: ConversationStore,
        person: Callable[[], str],
        media: tuple[str, ...],
        summary: FileSummary,
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        files = tuple(AttachmentRef(file_id(), each) for each in media)  # type: ignore[arg-type]
        await show(store, thread_id, ada, files)
        last = (await row_of(store, ben, thread_id)).last_message
        assert last is not None
        assert (last.kind, last.preview, last.files) == ("asset", "", summary)


class TestFileChanged:
    async def test_everybody_who_sees_the_message_is_told(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        sent = await show(store, thread_id, ada, photos())
        changed = sent.attachments[0].file_id
        await store.tell_file_changed(thread_id, changed, ada, sent.id)
        for viewer in (ada, ben):
            event = (await whole_feed(store, viewer)).events[-1]
            assert event.type == EventType.FILE_CHANGED
            assert (event.thread_id, event.message_id) == (thread_id, sent.id)
            assert event.file_id == changed
        assert await unread(store, ben, thread_id) == 2

    @pytest.mark.parametrize("is_in_thread", [True, False])
    async def test_a_file_without_a_message_is_its_owners_business(
        self, store: ConversationStore, person: Callable[[], str], *, is_in_thread: bool
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        before = await whole_feed(store, ben)
        mine = file_id()
        await store.tell_file_changed(thread_id if is_in_thread else None, mine, ada, None)
        feed = await whole_feed(store, ada)
        event = feed.events[-1]
        assert (event.type, event.file_id) == (EventType.FILE_CHANGED, mine)
        assert event.thread_id == (thread_id if is_in_thread else None)
        assert event.message_id is None
        assert await whole_feed(store, ben) == before
        # The feed goes on after it, without a gap and in order.
        await say(store, thread_id, ben, "next")
        later = await store.changes(ada, feed.cursor, 10)
        assert [each.type for each in later.events] == [EventType.MESSAGE_NEW]
        page = await store.inbox(ada, InboxFilter(), after=None, limit=10)
        assert page.sync_cursor == later.cursor

    async def test_somebody_who_never_wrote_can_own_a_file(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada = person()
        await store.tell_file_changed(None, file_id(), ada, None)
        await store.tell_file_changed(None, file_id(), ada, None)
        assert len((await whole_feed(store, ada)).events) == 2

    async def test_nobody_is_told_of_what_is_gone(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        before = [await whole_feed(store, each) for each in (ada, ben)]
        missing = make_id("msg", START_MS, _tails())
        await store.tell_file_changed(thread_id, file_id(), ada, missing)
        await store.tell_file_changed(make_id("thr", START_MS, _tails()), "fil_x", ada, missing)
        assert [await whole_feed(store, each) for each in (ada, ben)] == before

    async def test_an_event_ends_with_its_message(
        self, store: ConversationStore, person: Callable[[], str]
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        sent = await show(store, thread_id, ada, photos())
        await store.tell_file_changed(thread_id, sent.attachments[0].file_id, ada, sent.id)
        await store.delete_message(ada, thread_id, sent.id)
        for viewer in (ada, ben):
            told = [event.type for event in (await whole_feed(store, viewer)).events]
            assert told[-2:] == [EventType.MESSAGE_NEW, EventType.MESSAGE_DELETED]

    async def test_who_left_hears_no_more_of_it(
        self, store: ConversationStore, person: Callable[[], str], clock: WildClock
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        sent = await show(store, thread_id, ada, photos())
        clock.jump(1000)
        await store.tell_file_changed(thread_id, sent.attachments[0].file_id, ada, sent.id)
        await store.remove_participant(None, thread_id, ben)
        told = [event.type for event in (await whole_feed(store, ben)).events]
        assert EventType.FILE_CHANGED not in told


async def test_safe_mode_is_required_nowhere_unless_the_thread_says_so(
    store: ConversationStore, person: Callable[[], str]
) -> None:
    thread_id = (await start(store, person(), person())).thread.id
    missing = make_id("thr", START_MS, _tails())
    assert await store.safe_mode_required([thread_id, missing]) == frozenset()
    assert await store.safe_mode_required([]) == frozenset()
