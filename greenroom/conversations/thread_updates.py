"""The port through which bookings and cards change threads: cards, notices, a thread's standing.

Bookings and cards change in a PostgreSQL transaction, and call `apply` inside it to update the
thread. If threads are in the same database, the update is part of that transaction. If they are in
DynamoDB, the transaction stores the update as a row, which is applied once after the commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from greenroom.conversations.decisions import Params
from greenroom.conversations.model import BookingRef, Message, Role
from greenroom.platform.postgres.pool import Session

NO_THREAD = "thr_" + 26 * "0"
"""A thread id that never exists. When a booking or card does not exist, the caller is checked
against this thread, so that the answer takes as long as for one that they may not see."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """A card as its thread shows it to everybody. `card` is JSON and has all that a reader needs,
    except the actions that the viewer may take: those are computed when it is read."""

    card_id: str
    type: str
    card: dict[str, Any]
    visible_to: frozenset[str] | None = None
    """The participants who may see a new card; None: everyone. Later changes keep it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a thread's booking and cards. It replaces the previous standing as a whole."""

    stage: Literal["proposed", "confirmed", "completed", "disputed", "cancelled"] | None
    """None: there is no booking yet."""
    open_cards: int = 0
    waits_for: frozenset[str] = frozenset()
    """The people whose inbox rows have `needs_action`."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A system message."""

    code: str
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Promotion:
    """Binds the thread to a booking. `follows`: it replaces an earlier booking that is over."""

    group_id: str | None
    leg_id: str | None
    follows: bool = False

    @property
    def booking(self) -> BookingRef:
        return BookingRef(self.group_id, self.leg_id)


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """What one change of a booking or card does to one thread. Applied in this order: promotion,
    new or changed card, notices, standing."""

    thread_id: str
    actor: str | None = None
    promotes: Promotion | None = None
    new_card: Shadow | None = None
    changed_card: Shadow | None = None
    message_id: str | None = None
    """The message of the changed card, if `apply` returned it before."""
    notices: tuple[Notice, ...] = ()
    standing: Standing | None = None
    booking_changed: bool = False
    """Something that only the panel shows has changed, for example money. Everyone who sees the
    thread gets an event, so that open panels are read again, unless another event of this update
    tells them anyway."""


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What bookings and cards need to know of a thread."""

    id: str
    kind: str
    locked: bool
    group_id: str | None
    leg_id: str | None
    people: dict[str, Role]
    """The current participants."""
    unseen_by: frozenset[str] = frozenset()
    """Those of `people` who do not get what the viewer writes, because of a block."""

    @property
    def booking(self) -> BookingRef:
        return BookingRef(self.group_id, self.leg_id)


@dataclass(slots=True)
class AppliedUpdate:
    """`message` is the message of a new card, as soon as the thread has it."""

    update: ThreadUpdate
    message: Message | None = None
    decision_id: str | None = None
    """If threads are in DynamoDB: the decision that is still to be applied there."""
    told: frozenset[str] = frozenset()
    """If threads are in PostgreSQL: the people whose feeds have grown."""


class ThreadUpdates(Protocol):
    """Every adapter guarantees:

    - *Atomicity.* `apply` is part of the caller's transaction and is rolled back with it.
    - *Once.* A committed update shows in its thread exactly once, with its feed events, inbox rows
      and counts, in commit order per thread, even if processes crash.
    - *Lock order.* `access` and `apply` lock the thread; `apply` then locks feed heads. A caller
      locks its own rows between the two, and never locks a thread after its own rows.
    - *After the commit* `show` makes the update visible: it sends wake-ups if the thread already
      has it, else it applies it. If `show` fails or is never called, this happens seconds later.
    """

    async def access(
        self, conn: Session, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        """The thread for a participant, or for the server or the backend (viewer None). If threads
        are in PostgreSQL it is locked until the transaction ends. Raises ThreadNotFound; with
        `to_write` also ThreadLocked, ThreadReadOnly, ParticipantMuted and MsgBlockedByUser, as for
        a message."""
        ...

    async def access_without_lock(
        self, conn: Session, thread_id: str, viewer: str | None
    ) -> ThreadFacts:
        """Like `access`, for reading: nothing is locked and `unseen_by` is empty. If threads are in
        PostgreSQL, the thread is read in the caller's snapshot."""
        ...

    async def apply(self, conn: Session, update: ThreadUpdate) -> AppliedUpdate:
        """Raises ThreadNotFound, and ActionInvalidState for a promotion when the thread is bound to
        another booking that is not over, or is of a kind that cannot become a project."""
        ...

    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        """To be called after the commit. Sets `message` of new cards if it can; never raises."""
        ...

    async def catch_up(self, thread_id: str) -> None:
        """Apply all updates of this thread that were committed before the call, by any process.
        Does nothing if the database of threads cannot be reached; never raises."""
        ...
