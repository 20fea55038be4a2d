"""A rough cost estimate of a simpler service, made on 14 November 2025, and what is right and wrong
in it. `greenroom cost` prints it beside the bill.

The service: clients poll a function on Lambda, a message is one item in DynamoDB, files are in S3.
There are no inbox rows, feeds, receipts or presence. The names of the lines are those of the bill.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimpleLine:
    name: str
    amount: float
    unit: str
    usd: float
    origin: str
    """The price that gives this figure, or that none does."""

    @property
    def usd_per_unit(self) -> float:
        """The price that the estimate has used, whether it says so or not."""
        return self.usd / self.amount


SIMPLE_LINES = (
    SimpleLine(
        "DynamoDB storage",
        1,
        "GB",
        0.25,
        "AWS's $0.25 per GB; but 30,000 messages of at most 2000 characters are 0.06 GB.",
    ),
    SimpleLine(
        "DynamoDB reads",
        100_000,
        "reads",
        0.25,
        "no price gives this: it is $2.50 per million, ten times AWS's $0.25 of before November "
        "2024; and its own one million polls are at least one million reads.",
    ),
    SimpleLine(
        "DynamoDB writes",
        30_000,
        "writes",
        0.38,
        "no price gives this: it is $12.50 per million, ten times AWS's $1.25 of before November "
        "2024; and a send that also updates its conversation is two writes.",
    ),
    SimpleLine("S3 storage", 3, "GB", 0.07, "AWS's $0.023 per GB."),
    SimpleLine(
        "S3 requests",
        3_000,
        "requests",
        0.02,
        "AWS's $0.005 per thousand uploads, rounded up from $0.015; downloads are left out.",
    ),
    SimpleLine(
        "Lambda",
        1_030_000,
        "requests",
        2.00,
        "$0.21 is for the requests; the rest buys 107,000 GB-seconds, which is 0.8 s at 128 MB for "
        "each; it names neither time nor memory.",
    ),
)

SIMPLE_TOTAL_USD = 3.00
"""As it states: "~$3/month". Its lines add up to $2.97."""

SIMPLE_MESSAGES_PER_DAY = 1000
SIMPLE_FILES_PER_DAY = 100


def simple_line(name: str) -> SimpleLine | None:
    return next((line for line in SIMPLE_LINES if line.name == name), None)
