"""A payment provider that does as a test tells it."""

from dataclasses import dataclass, field

from greenroom.bookings.money.provider import Operation, Outcome


@dataclass
class Bank:
    """Answers each key once and for ever. `refuses` are operations that fail; `silent` ones stay
    without an outcome."""

    refuses: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    asked: list[Operation] = field(default_factory=list)
    answers: dict[str, Outcome] = field(default_factory=dict)

    async def carry_out(self, operation: Operation) -> Outcome:
        if operation.key not in self.answers:
            if operation.operation in self.silent:
                return Outcome("pending")
            self.asked.append(operation)
            is_refused = operation.operation in self.refuses
            self.answers[operation.key] = (
                Outcome("failed", None, "card_declined")
                if is_refused
                else Outcome("succeeded", f"bank_{len(self.answers)}", None)
            )
        return self.answers[operation.key]

    def did(self, operation: str) -> list[int]:
        """The amounts of what succeeded."""
        return [
            each.amount_cents
            for each in self.asked
            if each.operation == operation and self.answers[each.key].status == "succeeded"
        ]
