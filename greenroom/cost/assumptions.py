"""The numbers that a bill is computed from. The defaults are those of the simple estimate
(`simple_estimate.py`), where it states them, so that the two can be compared."""

import math
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from greenroom.kernel.limits import Limits

POLL_ACTIVE_S = 3
POLL_BACKGROUND_S = 10
POLL_IDLE_S = 30
MINUTES_PER_DAY = 24 * 60


class ImpossibleError(ValueError):
    """These assumptions are impossible; the message says which one, and its range."""


def _number(default: float, least: float, most: float, text: str) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "text": text})


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Every number has bounds, so that a typing error is reported instead of billed."""

    # As in the simple estimate: 1000 messages a day in 100 conversations, 100 files of 1 MB, all
    # kept for 30 days.
    messages_per_day: float = _number(1000, 0, 1e12, "messages sent a day")
    conversations: float = _number(100, 0, 1e12, "conversations that are alive")
    files_per_day: float = _number(100, 0, 1e12, "files sent a day")
    file_mb: float = _number(1, 0, 1e5, "average size of a file, MB")
    message_kept_days: float = _number(30, 1, 36500, "days until a message goes; the server's: 548")
    file_kept_days: float = _number(30, 1, 36500, "days until a file goes")

    # The length that units.json was measured with. Most messages are shorter, so storage and
    # transfer are at most what the bill says.
    message_bytes: float = _number(1024, 1, 8000, "average length of a message, bytes")

    # Two people who are in no other conversation: the most people for so many conversations.
    people_per_conversation: float = _number(
        2, 0.01, 2, "people per conversation, each counted once"
    )

    # Together 168 polls per person and day, which is the simple estimate's one million a month for
    # 200 people: 5 minutes with the chat open (every 3 s), 8 in the background (every 10 s), and 10
    # idle (every 30 s).
    active_minutes: float = _number(5, 0, MINUTES_PER_DAY, "minutes a day with the chat open")
    background_minutes: float = _number(8, 0, MINUTES_PER_DAY, "… with the chat in the background")
    idle_minutes: float = _number(10, 0, MINUTES_PER_DAY, "… with the chat left idle")

    # The simple estimate polls. The report also prints what WebSockets would cost.
    streaming_share: float = _number(0, 0, 1, "share of that time on a stream instead of polling")

    # A visit loads the inbox and a page of one thread; clients keep what they have loaded.
    visits_per_day: float = _number(2, 0, 1000, "visits per person and day")

    # People write in bursts, so one read mark covers two messages. Clients poll or stream, so each
    # message arrives, and is acknowledged, separately.
    marks_per_message: float = _number(0.5, 0, 50, "read marks per message")
    acknowledgements_per_message: float = _number(1, 0, 50, "delivery receipts per message")
    edits_per_message: float = _number(0.02, 0, 10, "edits per message")
    deletes_per_message: float = _number(0.01, 0, 1, "deletions per message")
    typing_per_message: float = _number(1, 0, 50, "signs of typing per message, on streams only")
    downloads_per_file: float = _number(1, 0, 1e4, "downloads per file: its one receiver")

    # Two database reads of 5 ms each, and about 10 ms of a full processor. With 256 MB a function
    # gets a seventh of one.
    lambda_mb: float = _number(256, 128, 10240, "memory of the function that answers polls, MB")
    lambda_ms: float = _number(100, 1, 900_000, "billed time of one call, ms")

    # Streams: the limit `streams` of kernel/limits.py, with one process per vCPU. Requests: a core
    # sends 4,000 messages a second on PostgreSQL (measured); a send on DynamoDB makes several
    # signed requests, so an eighth of that is assumed.
    streams_per_vcpu: float = _number(Limits().streams, 1, 1e6, "open streams per vCPU of a server")
    requests_per_vcpu: float = _number(500, 1, 1e5, "requests a second per vCPU of a server")

    # If half of a day's messages come in six hours, these hours have twice the average; the busiest
    # minute has twice that.
    peak_factor: float = _number(4, 1, 1000, "busiest minute / average")

    # Accounts are always in PostgreSQL. 0 if the marketplace has a PostgreSQL anyway.
    postgres_share: float = _number(1, 0, 1, "share of a PostgreSQL that messaging pays for")
    free_tier: bool = False

    def __post_init__(self) -> None:
        for each in numbers():
            # The upper bounds are checked for command line input only; curves exceed them.
            if not each.metadata["least"] <= getattr(self, each.name) < math.inf:
                raise ImpossibleError(f"{each.name} is a number from {each.metadata['least']:g} on")
        if self.open_minutes > MINUTES_PER_DAY:
            raise ImpossibleError(
                "active, background and idle minutes are of one day: together at most "
                f"{MINUTES_PER_DAY}"
            )

    @property
    def people(self) -> float:
        return self.conversations * self.people_per_conversation

    @property
    def open_minutes(self) -> float:
        """Per person and day."""
        return self.active_minutes + self.background_minutes + self.idle_minutes

    def polling(self) -> tuple[tuple[float, int], ...]:
        """Minutes a day and seconds between polls, for an open, a background and an idle chat."""
        return (
            (self.active_minutes, POLL_ACTIVE_S),
            (self.background_minutes, POLL_BACKGROUND_S),
            (self.idle_minutes, POLL_IDLE_S),
        )

    @property
    def polls_per_person(self) -> float:
        """Polls a day of a client that only polls."""
        return 60 * math.fsum(minutes / every_s for minutes, every_s in self.polling())

    def scaled_to(self, messages_per_day: float) -> "Assumptions":
        """The same behaviour with more people: for the curve."""
        if self.messages_per_day < 1:
            raise ImpossibleError("a curve needs at least one message a day")
        factor = messages_per_day / self.messages_per_day
        return replace(
            self,
            messages_per_day=messages_per_day,
            conversations=self.conversations * factor,
            files_per_day=self.files_per_day * factor,
        )


def numbers() -> list["Field[Any]"]:
    """The assumptions that are numbers, with bounds and text in their metadata."""
    return [each for each in fields(Assumptions) if each.metadata]
