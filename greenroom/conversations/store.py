"""The conversation store's port: what the rest of the room may ask of where conversations live."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from greenroom.conversations.model import (
    Cursor,
    Draft,
    Event,
    LastMessage,
    Message,
    Role,
    Thread,
    ThreadDraft,
)
from greenroom.platform.idempotency import KeepsAnswers, Kept, Once


@dataclass(frozen=True, slots=True)
class Send:
    thread_id: str
    author_id: str
    draft: Draft
    cost_ms: int
    """What this send takes of the minute that one author may run ahead in one thread."""
    key: str | None = None
    fingerprint: bytes | None = None
    visible_to: frozenset[str] | None = None
    """Who of the participants may see it; None: everyone."""


@dataclass(frozen=True, slots=True)
class Sent:
    message: Message
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Started:
    thread: Thread
    message: Message
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class StartLimit:
    """At most `count` new threads per opener in `window_ms`."""

    count: int
    window_ms: int


@dataclass(frozen=True, slots=True)
class MessagePage:
    items: tuple[Message, ...]
    has_more: bool
    sync_cursor: Cursor


class Folder(StrEnum):
    """Views of the inbox; see domain.md."""

    ALL = "all"
    ACTION = "action"
    BOOKINGS = "bookings"
    OFFERS = "offers"
    REQUESTS = "requests"
    ARCHIVED = "archived"
    SPAM = "spam"


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """What of the inbox is asked for; None: no matter. `q` is looked for in subjects and names."""

    folder: Folder = Folder.ALL
    unread: bool | None = None
    starred: bool | None = None
    kind: str | None = None
    state: str | None = None
    role_context: str | None = None
    city: str | None = None
    q: str | None = None


@dataclass(frozen=True, slots=True)
class InboxKey:
    """A row's place in the list: pinned first, then last activity first."""

    pinned: bool
    at_ms: int
    thread_id: str


@dataclass(frozen=True, slots=True)
class InboxPage:
    items: tuple[Thread, ...]
    next_key: InboxKey | None
    unread_threads: dict[Folder, int]
    sync_cursor: Cursor


@dataclass(frozen=True, slots=True)
class InboxChanges:
    """What a person does with their own row; None leaves a thing as it is."""

    archived: bool | None = None
    pinned: bool | None = None
    starred: bool | None = None
    sets_muted: bool = False
    muted_until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread with what else the simple API shows of it to one viewer."""

    thread: Thread
    pair_with: str | None
    """The other person, where this is the oldest thread of just the two that the viewer sees."""
    last_spoken: LastMessage | None
    """The last message of a person's; None where there is none."""
    unread_by: dict[str, int]
    """What the other of two has not read, as far as the viewer may know; searched to a limit."""


@dataclass(frozen=True, slots=True)
class Changes:
    events: tuple[Event, ...]
    cursor: Cursor
    has_more: bool
    acked: Cursor
    """How far the viewer's clients have acknowledged their feed."""


@dataclass(frozen=True, slots=True)
class FeedPosition:
    viewer: str
    since: Cursor | None


@dataclass(frozen=True, slots=True)
class DomainEvent:
    """Something that has happened in a thread, for whoever else must know: nothing that people
    wrote is in it."""

    event: str
    at_ms: int
    actor: str | None
    thread_id: str
    message_id: str | None
    data: dict[str, Any] | None


Deliver = Callable[[Sequence[DomainEvent]], Awaitable[None]]


class ConversationStore(KeepsAnswers, Protocol):
    """Where threads, messages, inbox rows and feeds live.

    Every adapter promises:

    - *Two phases.* A change is committed, and with it a record of whom it concerns; then it is
      projected to each of them, in the order of the commits of a thread. An adapter may do both in
      one. What returns has been committed and, unless the store failed meanwhile, projected.
    - *Durability.* What returns without raising is on disk and survives a crash of anything.
      `Unavailable` means that the outcome is unknown or nothing happened; repeating is safe for
      every operation, because sends carry a client_id and the rest is idempotent or takes a `Once`.
    - *Order.* A thread's `seq` counts 1, 2, 3 … without gaps in commit order; `created_at` grows by
      at least one millisecond with it, whatever the clocks do, and is the time inside the id.
    - *Feed.* Each change is in the feed of every participant who may see it, exactly once, at a
      number larger than all that this user could have read before. A reader who has seen number n
      will never find a new event at or below n.
    - *Membership.* Whoever asks is named, and what they may not see is as if it did not exist:
      reads return None, changes raise `ThreadNotFound`, for strangers and for missing ids alike. A
      change checks membership, blocks and locks at its place in the commit order, not before.
    - *Visibility.* A message may be visible to some participants only. It keeps its `seq`; for the
      others it is in no page, no feed, no count and no preview.
    - *Unread.* A row's count equals the messages after the viewer's `last_read` that they may see,
      did not write, and that are not deleted: after every operation, not eventually.
    - *Domain events* leave with the write that they tell of, at least once, in order per thread.
    - *Wake-ups.* After a commit, and never before it, the adapter names everyone whose feed has
      grown to the `wake` that it was made with. A wake-up is a hint and may be lost.
    - *Once.* With a `Once`, a change and its kept answer are one: a repeat returns `Kept`, a
      concurrent repeat waits for the first, another fingerprint raises `IdempotencyMismatch`.
    """

    async def append(self, send: Send) -> Sent:
        """Append one message. Raises ThreadNotFound, IdempotencyMismatch (client_id or key used
        for something else), ThreadLocked, ParticipantMuted, MsgBlockedByUser, RateLimited, and
        Unavailable when too many sends are waiting."""
        ...

    async def start_thread(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: tuple[StartLimit, ...],
        once: Once | None = None,
    ) -> Started | Kept:
        """Create a thread with its first message, all or nothing. A repeated client_id returns what
        it started. A recipient who blocked the opener does not see the thread. Raises RateLimited,
        IdempotencyMismatch, and MsgBlockedByUser when the opener blocked the only recipient."""
        ...

    async def thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor] | None:
        """The thread and the feed position read before it."""
        ...

    async def messages(
        self, viewer: str, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> MessagePage | None:
        """A page in seq order: the newest, or next to a message id (which need not exist)."""
        ...

    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None: ...

    async def inbox(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        """Pinned threads first, then last activity first; one bounded query, and the number of
        threads with something unread per folder."""
        ...

    async def set_inbox_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        """Archive, pin, star, mute. The viewer's other devices hear of it."""
        ...

    async def put_job(self, job_id: str, participants: list[str]) -> bool:
        """Who may talk in a job; says whether it is new."""
        ...

    async def job(self, job_id: str) -> list[str] | None: ...

    async def job_of_thread(self, thread_id: str) -> str | None: ...

    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        """Raises NotFound (not there, deleted, not a text), Forbidden (not the author's),
        EditWindowClosed, ThreadLocked. The same body again changes nothing."""
        ...

    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        """Leaves a tombstone. Raises as `edit_message`, without the window; twice is once."""
        ...

    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        """Move the reader's mark forward, never back. Raises NotFound for a message that they
        cannot see."""
        ...

    async def add_participant(
        self, by: str | None, thread_id: str, user_id: str, role: Role, once: Once | None = None
    ) -> Thread | Kept:
        """`by` is the acting participant, None for the marketplace's backend. Someone added sees
        what is written from then on. Raises Forbidden, ActionInvalidState (full)."""
        ...

    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        """Leave (by = user_id) or remove. The one removed gets one last `thread.changed` and
        nothing committed later. Raises Forbidden, UserNotFound."""
        ...

    async def promote(
        self, thread_id: str, *, group_id: str | None, leg_id: str | None, once: Once | None = None
    ) -> Thread | Kept:
        """Inquiry or invite → project, bound to a booking. The same again changes nothing; another
        booking raises ActionInvalidState."""
        ...

    async def block(self, blocker: str, blocked: str, once: Once | None = None) -> Kept | None:
        """From the moment this returns nothing new passes between the two."""
        ...

    async def unblock(self, blocker: str, blocked: str) -> None: ...

    async def pair_thread(self, viewer: str, other: str) -> str | None:
        """The oldest thread that the viewer sees in which only these two have ever been and both
        still are. Two sends may find different ones when somebody joins between them; a send's
        `visible_to` keeps it between the two."""
        ...

    async def start_pair(
        self, draft: ThreadDraft, first: Send, limits: tuple[StartLimit, ...]
    ) -> Message | None:
        """Start a thread of two people unless they have one, however many try at once; None: they
        have one by now. A thread that was hidden from the opener by their block is entered. The
        first message counts for the send limit and its key. Raises as `start_thread`."""
        ...

    async def sent_under(self, author: str, key: str, fingerprint: bytes) -> Message | None:
        """The message that a send under this key made, as it is now. Raises IdempotencyMismatch,
        and ThreadNotFound when the author sees it no more."""
        ...

    async def conversation(self, viewer: str, thread_id: str) -> Conversation | None: ...

    async def pair_conversation(self, viewer: str, others: Sequence[str]) -> Conversation | None:
        """Of `pair_thread`'s threads with each of these, the first that there is."""
        ...

    async def conversations(self, viewer: str, limit: int) -> tuple[Conversation, ...]:
        """What is placed in the inbox, last activity first, pinned or not."""
        ...

    async def spoken(
        self, viewer: str, thread_id: str, *, after: str | None, limit: int
    ) -> tuple[Message, ...]:
        """Messages of people, in seq order: the first after an id (which need not exist), or the
        newest. Empty for outsiders."""
        ...

    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        """Events after `since`, or from the oldest kept. A cursor older than what is kept, ahead of
        the head or of another epoch gets a single `reset` with a cursor to go on from."""
        ...

    async def changes_of_many(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        """`changes` for several people in one go; no more than `feed_batch` of them."""
        ...

    async def heads(self, viewers: Sequence[str]) -> dict[str, Cursor]:
        """Where feeds stand, of those who have one; no more than `feed_recheck_batch`."""
        ...

    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        """A client of the viewer's has everything up to this. Moves forward only; a cursor ahead
        of the head or of another epoch counts for nothing. Those who share a thread in which
        something arrived get one `receipt` of delivery, up to the last message that everybody
        there sees; not while a block lies between the viewer and any of them, and not in threads
        of more than `delivery_shown_participants`."""
        ...

    async def settle(self) -> int:
        """Finish what a process that is gone has left half done: changes that are committed and
        not in every feed yet. Says how many. Readers and writers who come upon one finish it too;
        this is for those that nobody comes upon."""
        ...

    async def hand_over(self, deliver: Deliver) -> int:
        """Hand domain events on, a bounded number, in order per thread, and forget them once
        `deliver` has returned: each at least once. Says how many."""
        ...

    async def prune(self) -> dict[str, int]:
        """Forget what is past its keeping time, a bounded amount per call; says how much, of what
        the database does not forget by itself."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable when the store cannot be reached."""
        ...

    async def close(self) -> None:
        """Finish what was taken, then let go of connections."""
        ...
