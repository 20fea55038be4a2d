"""The conversation store's port: what the rest of the room may ask of where conversations live."""

from dataclasses import dataclass
from typing import Protocol

from greenroom.conversations.model import (
    Cursor,
    Draft,
    Event,
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


@dataclass(frozen=True, slots=True)
class InboxPage:
    items: tuple[Thread, ...]
    next_key: tuple[int, str] | None
    unread_threads: int
    sync_cursor: Cursor


@dataclass(frozen=True, slots=True)
class Changes:
    events: tuple[Event, ...]
    cursor: Cursor
    has_more: bool


class ConversationStore(KeepsAnswers, Protocol):
    """Where threads, messages, inbox rows and feeds live.

    Every adapter promises:

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

    async def inbox(self, viewer: str, *, after: tuple[int, str] | None, limit: int) -> InboxPage:
        """Threads placed in the inbox, last activity first; one bounded query."""
        ...

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

    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        """Events after `since`, or from the oldest kept. A cursor older than what is kept, ahead of
        the head or of another epoch gets a single `reset` with a cursor to go on from."""
        ...

    async def prune(self) -> dict[str, int]:
        """Forget what is past its keeping time, a bounded amount per call; says how much."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable when the store cannot be reached."""
        ...

    async def close(self) -> None:
        """Finish the sends that were taken, then let go of connections."""
        ...
