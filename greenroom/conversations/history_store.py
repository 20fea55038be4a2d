"""The port of importing history: threads and messages of the past, with their own times.

`postgres/history.py` and `dynamodb/changes/history.py` implement it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from greenroom.conversations.model import Role, ThreadDraft
from greenroom.kernel.ids import make_id

AT_ONCE = 40
"""Most messages of one call. DynamoDB writes two items for each in one transaction of a hundred."""
MOVED_MS = 1000
"""A message may be this much older than the one before it: it then gets the next free time."""

NEW, KNOWN = "new", "known"
"""Outcomes of a line, beside the reason for which it was refused."""

OUT_OF_ORDER = "created_at is before the thread's last message"
UNKNOWN_MESSAGE = "no such message was imported in this thread"
NOT_IN_THREAD = "this person is not in the thread"


@dataclass(frozen=True, slots=True)
class PastThread:
    """`key` is the thread's id in the other system."""

    key: str
    draft: ThreadDraft
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class PastMessage:
    """`external_id` is its id in the other system. `author` None: a notice of the marketplace.
    Times are those of the other system. A deleted message has an empty body."""

    external_id: str
    author: str | None
    body: str
    html: str | None
    created_at_ms: int
    random: str
    """The random part of its id."""
    reply_to: str | None = None
    """The external id of the message that it answers."""
    edited_at_ms: int | None = None
    deleted_at_ms: int | None = None
    system: dict[str, object] | None = field(default=None)

    def id_at(self, at_ms: int) -> str:
        return make_id("msg", at_ms, self.random)


@dataclass(frozen=True, slots=True)
class PastMark:
    """This person had read up to this message."""

    user_id: str
    external_id: str
    at_ms: int


class HistoryStore(Protocol):
    """Every adapter guarantees:

    - *Once.* Every call can be repeated: what was imported before is `KNOWN` and not changed. Each
      call is atomic; a process that dies leaves all of it or nothing.
    - *Order.* The guarantees of `ConversationStore` about `seq`, ids and times hold. A message that
      is older than the thread's last one by more than `MOVED_MS` is refused; one that is not later
      gets the next free millisecond.
    - *The past is no news.* There are no domain events and no wake-ups. A feed gets one
      `thread.changed` for a new thread or participant, and one `inbox.changed` for each call that
      adds messages or moves marks. Inbox rows and unread counts are exact after each call.
    """

    async def import_thread(self, thread: PastThread) -> tuple[str, bool]:
        """The id of the thread under this key, and whether it is new. Raises ActionConflict if the
        key names a thread of another kind or other people."""
        ...

    async def import_participant(
        self, thread_id: str, user_id: str, role: Role, joined_at_ms: int, *, has_left: bool
    ) -> str:
        """Somebody who joined later and sees the whole thread; `has_left`: and sees it no more.
        Returns NEW or KNOWN. Raises ThreadNotFound, and ActionInvalidState when the thread is
        full."""
        ...

    async def import_messages(self, thread_id: str, messages: Sequence[PastMessage]) -> list[str]:
        """Append up to `AT_ONCE` messages. Returns NEW, KNOWN or a reason for each. Authors need
        not be participants any more, but they must have been. Raises ThreadNotFound."""
        ...

    async def import_marks(self, thread_id: str, marks: Sequence[PastMark]) -> list[str]:
        """Move read marks forward. Returns NEW, KNOWN (it is there or further) or a reason for
        each. Raises ThreadNotFound."""
        ...


@dataclass(slots=True)
class Placed:
    """What becomes of messages that are to follow a thread's last one."""

    last_ms: int
    accepted: list[tuple[PastMessage, int]] = field(default_factory=list)
    """With their times."""
    outcomes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        messages: Sequence[PastMessage],
        last_ms: int,
        known: frozenset[str],
        people: frozenset[str],
    ) -> "Placed":
        """`known` are the external ids that the thread has already, `people` its participants."""
        placed, seen = cls(last_ms), set(known)
        for message in messages:
            placed.outcomes.append(placed._place(message, seen, people))
        return placed

    def _place(self, message: PastMessage, seen: set[str], people: frozenset[str]) -> str:
        if message.external_id in seen:
            return KNOWN
        if message.author is not None and message.author not in people:
            return NOT_IN_THREAD
        if message.created_at_ms < self.last_ms - MOVED_MS:
            return OUT_OF_ORDER
        seen.add(message.external_id)
        self.last_ms = max(message.created_at_ms, self.last_ms + 1)
        self.accepted.append((message, self.last_ms))
        return NEW
