"""The port for changes to threads that PostgreSQL decides while DynamoDB stores the threads.

The ledger records a decision in its own transaction; afterwards the conversation store applies it
once. Open this file to see what the ledger can decide about a thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from greenroom.conversations.model import BookingRef
from greenroom.platform.postgres.pool import Session

Params = Mapping[str, str | int | None]
"""Parameters of a notice. No fractions: the DynamoDB adapter stores whole numbers only."""


class DecisionKind(StrEnum):
    PROMOTE = "promote"
    """Bind the thread to a booking. `data`: group_id and leg_id, one of them null, and whether it
    follows another booking."""
    SAY = "say"
    """Append a system message; `data`: code and params."""
    POST = "post"
    """Apply a `ThreadUpdate`. `data` is that update until it is applied, and empty afterwards."""


@dataclass(frozen=True, slots=True)
class Decision:
    id: str
    thread_id: str
    kind: str
    data: dict[str, Any]


class DecisionLog(Protocol):
    """The queue of decisions that the ledger has made and the conversation store has not applied.

    - *Durability.* A decision that a `decide_` method has returned survives any crash. It is
      pending until `done` or `park`, and never again after either.
    - *Order.* Decisions of one thread are returned in the order in which they were made.
    - *Atomicity.* Each call is one transaction. A thread belongs to one booking at a time, even
      with concurrent calls.
    - *Delivery.* At least once: several processes may hold the same decision at the same time, and
      one may die before it calls `done`. Whoever applies decisions remembers their ids.
    - *Failure.* `Unavailable` means that the outcome is unknown. Every call may be repeated, except
      `decide_notice`, which adds another notice each time.
    """

    async def decide_promotion(
        self, thread_id: str, booking: BookingRef, follows: BookingRef | None = None
    ) -> Decision | None:
        """Bind the thread to this booking. None: it was bound before; that decision may still be
        pending. Raises ActionInvalidState when it is bound to a booking other than `follows`."""
        ...

    async def decide_notice(self, thread_id: str, code: str, params: Params) -> Decision:
        """Append a system message to the thread."""
        ...

    async def pending(self, limit: int, older_than_ms: int) -> list[Decision]:
        """Pending decisions made before `older_than_ms`, oldest first, together with all earlier
        pending decisions of the same threads, so that none is applied out of order."""
        ...

    async def pending_in(self, thread_id: str, limit: int) -> list[Decision]:
        """Pending decisions of one thread, oldest first."""
        ...

    async def done(self, ids: Sequence[str]) -> None:
        """Record that these are applied."""
        ...

    async def park(self, decision_id: str, code: str) -> None:
        """Set aside a decision that can never be applied, so that later ones need not wait."""
        ...

    async def prune(self, older_than_ms: int, limit: int) -> int:
        """Delete decisions that were done before `older_than_ms`, at most `limit`. Returns how
        many. The booking that a thread belongs to is never deleted."""
        ...


class UpdateLog(Protocol):
    """Adds decisions to a transaction that the ledger has open. They count when it commits.

    *Order.* Transactions that update the same thread run one after another: `lock` waits for the
    one before, and so does `decide_update` if the caller has not locked.
    """

    async def lock(self, conn: Session, thread_id: str) -> BookingRef | None:
        """Lock the thread until the transaction ends. Returns its booking, as last decided."""
        ...

    async def booking_of(self, conn: Session, thread_id: str) -> BookingRef | None:
        """The thread's booking, as last decided, without a lock."""
        ...

    async def book(
        self, conn: Session, thread_id: str, booking: BookingRef, *, follows: bool = False
    ) -> None:
        """Bind the thread to this booking. Raises ActionInvalidState when it is bound to another,
        unless `follows`: then the caller holds the lock and knows that the other is over."""
        ...

    async def decide_update(self, conn: Session, thread_id: str, update: bytes) -> str:
        """Add a POST decision; `update` is JSON. Returns the id of the decision."""
        ...
