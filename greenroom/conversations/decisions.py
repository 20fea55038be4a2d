"""The port of the ledger's decisions about conversations that are kept in another database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from greenroom.platform.postgres import Session

Params = Mapping[str, str | int | None]
"""What a notice names. No fractions: not every conversation store keeps them."""


class DecisionKind(StrEnum):
    PROMOTE = "promote"
    """`data`: group_id and leg_id, one of them null."""
    SAY = "say"
    """Something in the server's own voice; `data`: code and params."""
    POST = "post"
    """What a change of the contract does to a thread; `data`: a `Posting`, until it is done."""


@dataclass(frozen=True, slots=True)
class Decision:
    id: str
    thread_id: str
    kind: str
    data: dict[str, Any]


class Booking(NamedTuple):
    """What a thread belongs to: one of the two is None."""

    group_id: str | None
    leg_id: str | None


class DecisionLog(Protocol):
    """What is decided in the ledger and has yet to show in a conversation.

    - *Durability.* What a `decide_` returns is decided and survives a crash of anything. It waits
      here until `done` or `park`, and never again after either.
    - *Order.* Of one thread's decisions, whichever was made after another had been returned comes
      after it, everywhere.
    - *Atomicity.* Each call is one transaction. A thread is promoted to one booking, however many
      try at once.
    - *Delivery.* At least once: several processes may hold the same decision at the same time, and
      one may die before it says `done`. Whoever carries decisions out remembers their ids.
    - *Failure.* `Unavailable` means that the outcome is unknown. Everything but `decide_notice` may
      be repeated: each call of that is a decision of its own.
    """

    async def decide_promotion(
        self, thread_id: str, group_id: str | None, leg_id: str | None
    ) -> Decision | None:
        """The thread belongs to this booking from here on; None: it did so before, and the decision
        may still wait. Raises ActionInvalidState when it belongs to another."""
        ...

    async def decide_notice(self, thread_id: str, code: str, params: Params) -> Decision:
        """The thread is to be told something in the server's own voice."""
        ...

    async def pending(self, limit: int, older_than_ms: int) -> list[Decision]:
        """What waits in threads in which something has waited since before this moment, oldest
        first: of each thread also what came before that, so that none is passed over."""
        ...

    async def pending_in(self, thread_id: str, limit: int) -> list[Decision]:
        """What waits in one thread, oldest first."""
        ...

    async def done(self, ids: Sequence[str]) -> None:
        """The conversation has these."""
        ...

    async def park(self, decision_id: str, code: str) -> None:
        """No waiting will mend this one: the others need not wait for it."""
        ...

    async def prune(self, older_than_ms: int, limit: int) -> int:
        """Forget what was done before this moment, at most `limit`; says how many. To which booking
        a thread belongs is never forgotten."""
        ...


class PostingLog(Protocol):
    """Decisions that are part of a transaction of the ledger's own, and count once it commits.

    *Order.* Postings of one thread are decided one transaction after the other: `lock` waits for
    the one before, and so does `decide_posting` where nobody has locked.
    """

    async def lock(self, conn: Session, thread_id: str) -> Booking | None:
        """Until the transaction ends. Returns what the thread belongs to, as decided."""
        ...

    async def book(self, conn: Session, thread_id: str, booking: Booking) -> None:
        """Raises ActionInvalidState when the thread belongs to another."""
        ...

    async def decide_posting(self, conn: Session, thread_id: str, posting: bytes) -> str:
        """The id of the decision; `posting` is JSON."""
        ...
