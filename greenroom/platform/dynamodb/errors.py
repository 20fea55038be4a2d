"""What DynamoDB says no with. Failures that pass by themselves never reach a caller as these."""

from dataclasses import dataclass

from greenroom.platform.dynamodb.values import Item

CONDITION_FAILED = "ConditionalCheckFailed"
CONFLICT = "TransactionConflict"


class ConditionFailed(Exception):  # noqa: N818 (an answer that callers expect)
    """The condition of a write does not hold. `item` is what was there, None for nothing.

    After a lost connection the write is repeated, and may meet its own first attempt: compare.
    """

    def __init__(self, item: Item | None) -> None:
        super().__init__("the condition of the write does not hold")
        self.item = item


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one operation stopped its transaction; the code is "None" for those that were fine."""

    code: str
    item: Item | None = None
    message: str | None = None


class Cancelled(Exception):  # noqa: N818 (an answer that callers expect)
    """A transaction did not happen. `reasons` has one entry per operation, in their order."""

    def __init__(self, reasons: list[Reason]) -> None:
        said = ", ".join(
            f"{place}: {reason.message or reason.code}"
            for place, reason in enumerate(reasons)
            if reason.code != "None"
        )
        super().__init__(f"the transaction was cancelled ({said})")
        self.reasons = reasons

    @property
    def is_conflict(self) -> bool:
        """Another write was at one of the items at that moment; deciding anew may succeed."""
        return any(reason.code == CONFLICT for reason in self.reasons)

    @property
    def failed(self) -> list[int]:
        """The places of the operations whose condition does not hold."""
        return [
            place for place, reason in enumerate(self.reasons) if reason.code == CONDITION_FAILED
        ]


class DynamoDbError(Exception):
    """DynamoDB cannot be used like this, and what to do next. Waiting does not mend it."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code
