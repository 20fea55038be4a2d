"""The port of the conversation store, and the values that it takes and returns.

`postgres/` and `dynamodb/` implement it. Its docstrings are the contract of both.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from greenroom.conversations.attachments import FileView
from greenroom.conversations.backend_store import BackendStore
from greenroom.conversations.inbox import InboxChanges, InboxFilter, InboxKey, InboxPage
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
    """What this send adds to the author's rate limit in this thread, of 60,000 ms per minute."""
    key: str | None = None
    fingerprint: bytes | None = None
    visible_to: frozenset[str] | None = None
    """The participants who may see it; None: everyone."""
    job_id: str | None = None
    """The job that the message is about. It becomes the thread's job as well."""


@dataclass(frozen=True, slots=True)
class Sent:
    message: Message
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Started:
    thread: Thread
    message: Message
    is_new: bool
    """False for a repeat, and when the message was added to an existing thread."""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message as the server itself reads it, without the content of a card."""

    message: Message
    card_id: str | None
    is_partial: bool
    """Not every participant sees it: because of a block, or because it was written for some."""


@dataclass(frozen=True, slots=True)
class StartLimit:
    """At most `count` new threads per opener within `window_ms`."""

    count: int
    window_ms: int


@dataclass(frozen=True, slots=True)
class MessagePage:
    items: tuple[Message, ...]
    has_more: bool
    sync_cursor: Cursor


@dataclass(frozen=True, slots=True)
class Block:
    """A user whom a person has blocked, and since when."""

    user_id: str
    display_name: str
    avatar_url: str | None
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class BlockKey:
    """A block's position in the list: newest first."""

    at_ms: int
    user_id: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread for one viewer, with the additional values that the polling API shows."""

    thread: Thread
    pair_with: str | None
    """The other person, if this is the oldest visible thread of only these two; else None."""
    last_spoken: LastMessage | None
    """The last message that a person wrote; None: only system messages, or none."""
    unread_by: dict[str, int]
    """In a thread of two, how many messages the other has not read, as far as their visible read
    receipt tells. Counted up to a limit."""
    delivered_id: str = ""
    """The last message that others see as delivered to the viewer; empty: none."""


@dataclass(frozen=True, slots=True)
class Changes:
    events: tuple[Event, ...]
    cursor: Cursor
    has_more: bool
    acked: Cursor
    """Up to where the viewer's clients have acknowledged the feed."""
    files: Mapping[str, FileView] = field(default_factory=dict)
    """What the viewer may see of the files in these events. The store leaves it empty."""


@dataclass(frozen=True, slots=True)
class FeedPosition:
    viewer: str
    since: Cursor | None


@dataclass(frozen=True, slots=True)
class DomainEvent:
    """Something that happened in a thread, for other systems. Contains no text that people
    wrote."""

    event_id: str
    """Depends on nothing but the change, so that an event that comes twice is recognised."""
    event: str
    at_ms: int
    actor: str | None
    thread_id: str
    message_id: str | None
    data: dict[str, Any] | None


Deliver = Callable[[Sequence[DomainEvent]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HandedOver:
    count: int
    has_more: bool
    """Whether another look at once would find something to hand over."""


class ConversationStore(KeepsAnswers, BackendStore, Protocol):
    """Stores threads, messages, inbox rows and feeds.

    Every adapter guarantees:

    - *Two phases.* A change is committed together with the list of people it concerns. Then it is
      projected to the inbox row and feed of each of them, in commit order per thread. An adapter
      may do both in one transaction. When a call returns, its change is committed and, unless the
      store failed meanwhile, projected.
    - *Durability.* When a call returns without raising, its change is on disk and survives any
      crash. `Unavailable` means that the outcome is unknown or nothing happened. Every call can
      be repeated safely: sends carry a client_id, the others are idempotent or take a `Once`.
    - *Order.* A thread's `seq` counts 1, 2, 3 … without gaps in commit order. `created_at` grows
      with it by at least one millisecond, even if clocks go back, and is the time inside the id.
    - *Feed.* Each change is in the feed of every participant who may see it, exactly once, at a
      number larger than all that this user could have read before. A reader who has seen number n
      will never find a new event at or below n.
    - *Membership.* Every call names the viewer. What they may not see looks as if it did not
      exist: reads return None and changes raise `ThreadNotFound`, for strangers and for missing
      ids alike. A change checks membership, blocks and locks inside its own transaction.
    - *Visibility.* A message may be visible to some participants only. It keeps its `seq`; for the
      others it is in no page, no feed, no count and no preview, and neither are its files.
    - *Unread.* After every operation, a row's count equals the messages after the viewer's
      `last_read` that they may see, did not write, and that are not deleted.
    - *Domain events* are written with their change and delivered at least once, in order per
      thread.
    - *Wake-ups.* After the commit, and never before, the adapter passes everyone whose feed has
      grown to its `wake` callback. A wake-up is a hint and may be lost.
    - *Once.* With a `Once`, a change and its kept answer are one transaction: a repeat returns
      `Kept`, a concurrent repeat waits for the first, and a repeat with another fingerprint raises
      `IdempotencyMismatch`.
    """

    async def append(self, send: Send) -> Sent:
        """Append one message. Raises ThreadNotFound, IdempotencyMismatch (client_id or key used
        for something else), ThreadLocked, ThreadReadOnly, ParticipantMuted, MsgBlockedByUser,
        RateLimited, and Unavailable when too many sends are waiting."""
        ...

    async def sent_before(self, author: str, thread_id: str, draft: Draft) -> Message | None:
        """The message that the author has sent in this thread with the draft's client_id, as it is
        now. Raises IdempotencyMismatch if it was another one."""
        ...

    async def start_thread(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: tuple[StartLimit, ...],
        once: Once | None = None,
        *,
        cost_ms: int = 0,
    ) -> Started | Kept:
        """Create a thread with its first message in one transaction. The message has no files:
        they are uploaded for a thread that exists. A repeated client_id returns the thread that it
        started. A recipient who blocked the opener does not see the thread. Raises RateLimited,
        IdempotencyMismatch, and MsgBlockedByUser when the opener blocked the only recipient.

        With a `listing_key`: if the opener started a thread with the recipient under this key
        before, still sees it, and the recipient is still in it, the message is appended there. This
        costs `cost_ms` and raises what `append` raises. Concurrent calls end in one thread."""
        ...

    async def thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor] | None:
        """The thread, and the end of the viewer's feed as it was before the thread was read."""
        ...

    async def messages(
        self, viewer: str, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> MessagePage | None:
        """A page in seq order: the newest messages, or those directly before or after a message id.
        The id need not exist."""
        ...

    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None: ...

    async def inbox(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        """A page, pinned first, then last activity first; with the counts of all folders."""
        ...

    async def set_inbox_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        """Archive, pin, star or mute. The viewer's other devices get an event."""
        ...

    async def put_job(self, job_id: str, participants: list[str]) -> bool:
        """Set who may talk in a job. Returns whether the job is new."""
        ...

    async def job(self, job_id: str) -> list[str] | None: ...

    async def job_of_thread(self, thread_id: str) -> str | None: ...

    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        """Raises NotFound (missing, deleted or not a text), Forbidden (written by somebody else),
        EditWindowClosed, ThreadLocked, and MsgEmpty for an empty body without files. The files
        stay. The same body again changes nothing."""
        ...

    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        """Leaves a tombstone without text and files. Raises what `edit_message` raises, except
        EditWindowClosed and MsgEmpty. Deleting again changes nothing."""
        ...

    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        """Move the reader's read mark forward, never back. Raises NotFound for a message that they
        cannot see."""
        ...

    async def add_participant(
        self, by: str | None, thread_id: str, user_id: str, role: Role, once: Once | None = None
    ) -> Thread | Kept:
        """`by` is the acting participant, None for the marketplace's backend. The new participant
        sees only later messages. Raises Forbidden, ActionInvalidState (thread is full)."""
        ...

    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        """Leave (`by` is `user_id`) or remove somebody. The removed person gets one last
        `thread.changed` and nothing that is committed later. Raises Forbidden, UserNotFound."""
        ...

    async def promote(
        self, thread_id: str, *, group_id: str | None, leg_id: str | None, once: Once | None = None
    ) -> Thread | Kept:
        """Turn an inquiry or invite into a project that is bound to a booking, or bind a project
        whose booking is over to the next one. Repeating changes nothing; another booking raises
        ActionInvalidState."""
        ...

    async def block(self, blocker: str, blocked: str, once: Once | None = None) -> Kept | None:
        """When this has returned, no new message of one reaches the other."""
        ...

    async def unblock(self, blocker: str, blocked: str) -> None: ...

    async def blocks(
        self, blocker: str, *, after: BlockKey | None, limit: int
    ) -> tuple[Block, ...]:
        """The users whom this person has blocked, newest first."""
        ...

    async def pair_thread(self, viewer: str, other: str) -> str | None:
        """The oldest thread visible to the viewer of which only these two have ever been
        participants and both still are. If somebody joins it between two sends, the second finds
        another thread; a send's `visible_to` keeps its text between the two."""
        ...

    async def start_pair(
        self, draft: ThreadDraft, first: Send, limits: tuple[StartLimit, ...]
    ) -> Message | None:
        """Start a thread of two people, or return None if they already have one. Concurrent calls
        end in one thread. If the only thread of the two was hidden from the opener by their own
        block, it becomes visible again and gets the message. The first message counts for the send
        limit and its idempotency key. Raises what `start_thread` raises."""
        ...

    async def sent_under(self, author: str, key: str, fingerprint: bytes) -> Message | None:
        """The message that was sent under this idempotency key, as it is now. Raises
        IdempotencyMismatch, and ThreadNotFound when the author no longer sees it."""
        ...

    async def conversation(self, viewer: str, thread_id: str) -> Conversation | None: ...

    async def pair_conversation(self, viewer: str, others: Sequence[str]) -> Conversation | None:
        """The conversation with the first of `others` who has a `pair_thread` with the viewer."""
        ...

    async def conversations(self, viewer: str, limit: int) -> tuple[Conversation, ...]:
        """The threads whose placement is the inbox, last activity first; pinning has no effect."""
        ...

    async def spoken(
        self, viewer: str, thread_id: str, *, after: str | None, limit: int
    ) -> tuple[Message, ...]:
        """Messages that people wrote, in seq order: the first ones after an id (which need not
        exist), or the newest. Empty for outsiders."""
        ...

    async def changed(
        self, viewer: str, thread_id: str, *, after_ms: int, limit: int
    ) -> tuple[Message, ...]:
        """Messages that people wrote and that were edited or deleted after `after_ms`, in the order
        of these changes. New changes get strictly growing times within a thread; where several
        messages have the time of the last one, all are returned, even beyond the limit. Empty for
        outsiders."""
        ...

    async def deliver(self, viewer: str, thread_id: str, up_to: str) -> None:
        """Record that a client of the viewer has this thread up to this message. Others get
        receipts as with `acknowledge`. Nothing happens for outsiders."""
        ...

    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        """Events after `since`, or from the oldest kept one. A cursor that is older than what is
        kept, ahead of the head, or of another epoch gets a single `reset` event, whose cursor is
        valid."""
        ...

    async def changes_of_many(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        """`changes` for several people in one query; at most `feed_batch` of them. Raises
        Unreadable if one of the feeds cannot be read; the caller then reads each alone."""
        ...

    async def heads(self, viewers: Sequence[str]) -> dict[str, Cursor]:
        """The ends of these people's feeds, of those who have one; at most `feed_recheck_batch`
        people."""
        ...

    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        """Record that a client of the viewer has its feed up to this cursor. Moves forward only; a
        cursor ahead of the head or of another epoch is ignored. In each thread with newly delivered
        messages, the other participants get one delivery `receipt`, up to the last message that is
        visible to everybody there. There is none while the viewer and any of them have a block
        between them, nor in threads of more than `delivery_shown_participants`."""
        ...

    async def tell_file_changed(
        self, thread_id: str | None, file_id: str, owner: str, message_id: str | None
    ) -> None:
        """Send `file.changed` to everybody who sees the message; without a message, to the owner.
        Repeating it sends the event again. Nothing happens if the thread or message is gone."""
        ...

    async def safe_mode_required(self, thread_ids: Sequence[str]) -> frozenset[str]:
        """Those of these threads in which Safe-Mode cannot be switched off. For the server itself:
        nothing is checked."""
        ...

    async def find_threads(self, thread_ids: Sequence[str]) -> dict[str, Thread]:
        """Those of these threads that exist. Names and pictures of people can be missing. For the
        server itself: nothing is checked."""
        ...

    async def find_messages(self, places: Sequence[tuple[str, str]]) -> dict[str, FoundMessage]:
        """Those of these messages, given by thread and id, that exist; by their ids. For the server
        itself: nothing is checked."""
        ...

    async def settle(self) -> int:
        """Project changes that a crashed process committed but did not project to every feed.
        Returns how many. Readers and writers of a thread do the same for that thread; this call
        finds the threads that nobody reads or writes."""
        ...

    async def prune(self) -> dict[str, int]:
        """Delete what is past its retention time, a bounded amount per call. Returns how much of
        each kind; what the database expires by itself is not counted."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable when the store cannot be reached."""
        ...

    async def close(self) -> None:
        """Finish accepted work, then close the connections."""
        ...
