"""What a guard or an effect gets: the card, what came with the action, and the deed to act in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from greenroom.bookings.deeds import Deed
from greenroom.bookings.model import Group, Leg
from greenroom.cards.model import FAILED, SUCCEEDED, Card, CardType, Json, Transition
from greenroom.kernel.errors import ActionInvalidState


@dataclass(slots=True)
class EffectContext:
    """One transition, or one creation, while it is being made.

    `card` is as it was before, with the totals that effects have set since. An effect reads and
    writes through `deed.conn`, in the transaction of everything else, and refuses by raising.
    """

    deed: Deed
    type: CardType
    card: Card
    input: Json
    transition: Transition | None
    """None: the card is being made."""
    group: Group | None
    leg: Leg | None
    """The card's leg, locked, where the action's guard or effects say that they use it."""
    actor: str | None
    """Who acts; None for the server."""
    role: str
    answer: Json | None = None
    """The payload of a new card of the same type, which answers this one."""
    outcome: str | None = None
    """How a payment ended that need not, or could not, be asked for: the card does not wait."""

    @property
    def version(self) -> int:
        """The card's version once this is done."""
        return 1 if self.transition is None else self.card.version + 1

    def payment_key(self, suffix: str = "") -> str:
        """Names what this transition asks of the payment provider, for ever."""
        return f"{self.card.id}:{self.version}{suffix}"

    def booked(self) -> tuple[Group, Leg]:
        if self.group is None or self.leg is None:
            raise ActionInvalidState("There is no booking that this could be about.")
        return self.group, self.leg

    def end_payment(self, failure_code: str | None = None) -> None:
        """There is nothing to wait for: it has succeeded or, with a code, failed."""
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
