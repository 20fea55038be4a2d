"""The seed's cost estimate of 14 November 2025 as data, and where its arithmetic comes from.

The names of the lines are those of our bill, so that the two stand side by side.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeedLine:
    name: str
    amount: float
    unit: str
    usd: float
    origin: str
    """Which price gives the seed's figure, or that none does."""

    @property
    def usd_per_unit(self) -> float:
        """The price that the seed has used, whether it says so or not."""
        return self.usd / self.amount


SEED_LINES = (
    SeedLine(
        "DynamoDB storage",
        1,
        "GB",
        0.25,
        "AWS's $0.25 per GB; but 30,000 messages of the 2000 characters it allows are 0.06 GB.",
    ),
    SeedLine(
        "DynamoDB reads",
        100_000,
        "reads",
        0.25,
        "no price gives this: it is $2.50 per million, ten times AWS's $0.25 of before November "
        "2024; and the seed's own one million polls are at least one million reads.",
    ),
    SeedLine(
        "DynamoDB writes",
        30_000,
        "writes",
        0.38,
        "no price gives this: it is $12.50 per million, ten times AWS's $1.25 of before November "
        "2024; and a send that also updates its conversation is two writes.",
    ),
    SeedLine("S3 storage", 3, "GB", 0.07, "AWS's $0.023 per GB."),
    SeedLine(
        "S3 requests",
        3_000,
        "requests",
        0.02,
        "AWS's $0.005 per thousand uploads, rounded up from $0.015; downloads are left out.",
    ),
    SeedLine(
        "Lambda",
        1_030_000,
        "requests",
        2.00,
        "$0.21 is for the requests; the rest buys 107,000 GB-seconds, which is 0.8 s at 128 MB for "
        "each; the seed names neither time nor memory.",
    ),
)

SEED_TOTAL_USD = 3.00
"""As the seed states it: "~$3/month". Its lines add up to $2.97."""

SEED_MESSAGES_PER_DAY = 1000
SEED_FILES_PER_DAY = 100


def seed_line(name: str) -> SeedLine | None:
    return next((line for line in SEED_LINES if line.name == name), None)
