"""The port through which the contract shows in conversations: cards, notices, a thread's standing.

The ledger decides in a PostgreSQL transaction; what its threads show of it is posted from inside
that transaction. Where conversations live in the same database, posting is part of it. Where they
do not, the posting is a row of it, and is carried out once after the commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from greenroom.conversations.decisions import Params
from greenroom.conversations.model import Message, Role
from greenroom.platform.postgres import Session

NO_THREAD = "thr_" + 26 * "0"
"""One that never is. Whoever asks for what is not there is let into this one first, in vain: so the
answer takes as long as for what is there and is not theirs."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """A card as its thread shows it to everybody. `card` is JSON and says all that a reader needs;
    what a viewer can do with it is worked out when it is read."""

    card_id: str
    type: str
    card: dict[str, Any]
    visible_to: frozenset[str] | None = None
    """Who of the participants may see a new card; None: everyone. It stays so."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the contract stands in a thread, as a whole: it replaces what was there before."""

    stage: Literal["confirmed", "completed", "disputed", "cancelled"] | None
    """None before there is a booking."""
    open_cards: int = 0
    waits_for: frozenset[str] = frozenset()
    """Whose inbox shows that something waits for them."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something in the server's own voice."""

    code: str
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Promotion:
    group_id: str | None
    leg_id: str | None


@dataclass(frozen=True, slots=True)
class Posting:
    """What one change of the contract does to one thread, in this order: it becomes a project, a
    card comes or changes, notices are said, the standing is what it is from now on."""

    thread_id: str
    actor: str | None = None
    promotes: Promotion | None = None
    new_card: Shadow | None = None
    changed_card: Shadow | None = None
    message_id: str | None = None
    """Of the changed card, where `post` has told it."""
    notices: tuple[Notice, ...] = ()
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """A thread as the contract needs to know it."""

    id: str
    kind: str
    locked: bool
    group_id: str | None
    leg_id: str | None
    people: dict[str, Role]
    """Those who are in it now."""
    unseen_by: frozenset[str] = frozenset()
    """Those of them to whom what the viewer writes does not come, because of a block."""


@dataclass(slots=True)
class Posted:
    """`message`: of a new card, once the conversation has it."""

    posting: Posting
    message: Message | None = None
    decision_id: str | None = None
    """Where the conversation is elsewhere: what waits to be carried out there."""
    told: frozenset[str] = frozenset()
    """Whose feeds have grown, where the conversation is in the same database."""


class Postings(Protocol):
    """Every adapter promises:

    - *Atomicity.* `post` is part of the caller's transaction: what is rolled back was never posted.
    - *Once.* What is committed shows in its thread exactly once, in the order of the commits of one
      thread, whoever dies meanwhile; its feed events, inbox rows and counts go with it.
    - *Order of locks.* `access` and `post` lock the thread, then, in `post` alone, feed heads: a
      caller locks what is its own between the two, and no thread after something of its own.
    - *After the commit* `show` makes it visible: wake-ups where it is already there, else the
      carrying out. `show` may fail or never be called; then it happens a few seconds later.
    """

    async def access(
        self, conn: Session, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        """The thread for one who is in it (None: the server itself or the backend), locked until
        the transaction ends where it lives in the same database. Raises ThreadNotFound; `to_write`:
        also ThreadLocked, ParticipantMuted, and MsgBlockedByUser, as for a message."""
        ...

    async def post(self, conn: Session, posting: Posting) -> Posted:
        """Raises ThreadNotFound, and ActionInvalidState when it promotes a thread that belongs to
        another booking or is none that becomes a project."""
        ...

    async def show(self, posted: Sequence[Posted]) -> None:
        """Call it after the commit. Fills in `message` of new cards where it can; never raises."""
        ...
