"""The argument of guards and effects: the card, the input of the action, and the transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from greenroom.bookings.model import Group, Leg
from greenroom.bookings.transactions import ContractTransaction
from greenroom.cards.model import FAILED, SUCCEEDED, Card, CardType, Json, Transition
from greenroom.conversations.thread_updates import Notice
from greenroom.files.model import File
from greenroom.kernel.errors import ActionInvalidState


@dataclass(slots=True)
class EffectContext:
    """One transition, or the creation of a card, in progress.

    `card` is the card before the transition, with the totals that effects have set since. An effect
    reads and writes through `tx.conn`, in the card's transaction, and refuses by raising.
    """

    tx: ContractTransaction
    type: CardType
    card: Card
    input: Json
    transition: Transition | None
    """None: the card is being created."""
    group: Group | None
    leg: Leg | None
    """The card's leg, locked, if the action's guard or effects use it."""
    actor: str | None
    """Who acts; None for the server."""
    role: str
    files: Mapping[str, File] = field(default_factory=dict)
    """The files that the payload of a new card, or the input of an action, names."""
    answer: Json | None = None
    """The payload of a new card of the same type, which answers this one."""
    notices: tuple[Notice, ...] = ()
    """System messages that the thread gets with the change of the card."""
    outcome: str | None = None
    """Set if no payment is needed or possible: the card goes on at once with this outcome."""

    @property
    def version(self) -> int:
        """The card's version after this transition."""
        return 1 if self.transition is None else self.card.version + 1

    def payment_key(self, suffix: str = "") -> str:
        """The idempotency key of this transition's request to the payment provider."""
        return f"{self.card.id}:{self.version}{suffix}"

    def booked(self) -> tuple[Group, Leg]:
        if self.group is None or self.leg is None:
            raise ActionInvalidState("There is no booking that this could be about.")
        return self.group, self.leg

    def end_payment(self, failure_code: str | None = None) -> None:
        """Do not wait for a payment: it has succeeded or, with a code, failed."""
        self.outcome = SUCCEEDED if failure_code is None else FAILED
        if failure_code is not None:
            self.set_totals(failure_code=failure_code)

    def set_totals(self, **values: Any) -> None:
        self.card = replace(self.card, totals={**self.card.totals, **values})

    def drop_totals(self, names: Sequence[str]) -> None:
        left = {name: value for name, value in self.card.totals.items() if name not in names}
        self.card = replace(self.card, totals=left)

    def set_payload(self, **values: Any) -> None:
        self.card = replace(self.card, payload={**self.card.payload, **values})
