"""Errors of DynamoDB. Temporary failures are retried and then raised as `Unavailable`, not here."""

from dataclasses import dataclass

from greenroom.platform.dynamodb.values import Item

CONDITION_FAILED = "ConditionalCheckFailed"


class ConditionFailed(Exception):  # noqa: N818 (an answer that callers expect)
    """The condition of a write failed. `item` is the existing item, None if there is none.

    After a lost connection the write is repeated and may find its own first attempt: compare.
    """

    def __init__(self, item: Item | None) -> None:
        super().__init__("the condition of the write does not hold")
        self.item = item


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an operation cancelled its transaction. The code is "None" for those without fault."""

    code: str
    item: Item | None = None
    message: str | None = None


class Cancelled(Exception):  # noqa: N818 (an answer that callers expect)
    """A transaction was cancelled. `reasons` has one entry per operation, in order."""

    def __init__(self, reasons: list[Reason]) -> None:
        said = ", ".join(
            f"{place}: {reason.message or reason.code}"
            for place, reason in enumerate(reasons)
            if reason.code != "None"
        )
        super().__init__(f"the transaction was cancelled ({said})")
        self.reasons = reasons

    @property
    def failed(self) -> list[int]:
        """The indexes of the operations whose condition failed."""
        return [
            place for place, reason in enumerate(self.reasons) if reason.code == CONDITION_FAILED
        ]


class DynamoDbError(Exception):
    """A configuration or permission problem that no retry fixes; the message says what to do."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code
