"""What a bill is computed from. The defaults are the seed's own estimate, as far as it says."""

import math
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from greenroom.kernel.limits import Limits

POLL_ACTIVE_S = 3
POLL_BACKGROUND_S = 10
POLL_IDLE_S = 30
MINUTES_PER_DAY = 24 * 60


class ImpossibleError(ValueError):
    """These assumptions cannot be; the message says which and what they take."""


def _number(default: float, least: float, most: float, text: str) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "text": text})


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Every number has bounds, so that a slip of the keyboard is told and not billed."""

    # The seed's: 1000 messages a day in 100 conversations, 100 files of 1 MB, all kept for 30 days.
    messages_per_day: float = _number(1000, 0, 1e12, "messages sent a day")
    conversations: float = _number(100, 0, 1e12, "conversations that are alive")
    files_per_day: float = _number(100, 0, 1e12, "files sent a day")
    file_mb: float = _number(1, 0, 1e5, "average size of a file, MB")
    message_kept_days: float = _number(30, 1, 36500, "days until a message goes; the server's: 548")
    file_kept_days: float = _number(30, 1, 36500, "days until a file goes")

    # What units.json was measured with. Most chat is shorter (the limit is 2000 characters), so
    # this bounds storage and transfer from above.
    message_bytes: float = _number(1024, 1, 8000, "average length of a message, bytes")

    # Two, each in one conversation only: the most people that so many conversations can have.
    people_per_conversation: float = _number(
        2, 0.01, 2, "people per conversation, each counted once"
    )

    # Together 168 polls per person and day, which makes the seed's one million a month with its 200
    # people: a chat open for 5 minutes (every 3 s), a tab behind others for 8 (every 10 s), and one
    # left alone for 10 (every 30 s).
    active_minutes: float = _number(5, 0, MINUTES_PER_DAY, "minutes a day with the chat open")
    background_minutes: float = _number(8, 0, MINUTES_PER_DAY, "… with the chat in the background")
    idle_minutes: float = _number(10, 0, MINUTES_PER_DAY, "… with the chat left idle")

    # The seed polls. What a WebSocket costs instead is printed beside the bill.
    streaming_share: float = _number(0, 0, 1, "share of that time on a stream instead of polling")

    # A visit loads the inbox and a page of one thread; clients keep what they have loaded.
    visits_per_day: float = _number(2, 0, 1000, "visits per person and day")

    # People write in bursts: one mark covers two messages. A message arrives by itself, because its
    # reader polls or streams; so it is acknowledged by itself.
    marks_per_message: float = _number(0.5, 0, 50, "read marks per message")
    acknowledgements_per_message: float = _number(1, 0, 50, "delivery receipts per message")
    edits_per_message: float = _number(0.02, 0, 10, "edits per message")
    deletes_per_message: float = _number(0.01, 0, 1, "deletions per message")
    typing_per_message: float = _number(1, 0, 50, "signs of typing per message, on streams only")
    downloads_per_file: float = _number(1, 0, 1e4, "downloads per file: its one receiver")

    # Two look-ups of 5 ms, and about 10 ms of a processor, of which 256 MB come with a seventh.
    lambda_mb: float = _number(256, 128, 10240, "memory of the function that answers polls, MB")
    lambda_ms: float = _number(100, 1, 900_000, "billed time of one call, ms")

    # `streams` of kernel/limits, one process per vCPU. Sends on PostgreSQL were measured at 4,000 a
    # second and core; a send on DynamoDB is several signed requests, hence an eighth of that.
    streams_per_vcpu: float = _number(Limits().streams, 1, 1e6, "open streams per vCPU of a server")
    requests_per_vcpu: float = _number(500, 1, 1e5, "requests a second per vCPU of a server")

    # Half of a day's messages in its busiest six hours is twice the average, and the busiest minute
    # is twice the busy hours.
    peak_factor: float = _number(4, 1, 1000, "busiest minute / average")

    # Accounts stay in PostgreSQL. Where the marketplace has one anyway, messaging pays for none.
    postgres_share: float = _number(1, 0, 1, "share of a PostgreSQL that messaging pays for")
    free_tier: bool = False

    def __post_init__(self) -> None:
        for each in numbers():
            # The upper bounds are for people's input; a curve goes where it goes.
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
        """The seed's three paces: for how many minutes a day, every how many seconds."""
        return (
            (self.active_minutes, POLL_ACTIVE_S),
            (self.background_minutes, POLL_BACKGROUND_S),
            (self.idle_minutes, POLL_IDLE_S),
        )

    @property
    def polls_per_person(self) -> float:
        """A day, if they did nothing but poll."""
        return 60 * math.fsum(minutes / every_s for minutes, every_s in self.polling())

    def scaled_to(self, messages_per_day: float) -> "Assumptions":
        """The same people writing the same, only more of them: what a curve is drawn of."""
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
