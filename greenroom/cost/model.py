"""Computes a bill: how often each operation happens, what that consumes, and what it costs.

Pure: the tables of prices and units are arguments. Of two plausible figures the dearer one is
taken, so that a bill is an upper bound.
"""

import math
from dataclasses import dataclass, fields

from greenroom.cost.assumptions import Assumptions
from greenroom.cost.tables import Operations, Price, Prices, Units, UnitTable
from greenroom.kernel.limits import Limits

DAYS = 30
HOURS = 24 * DAYS
SECONDS = 3600 * HOURS

LIMITS = Limits()
"""How often the server reads while a stream is open, and how long it keeps data."""

FEED_ENTRY_BYTES = 265
"""Keys, type, thread, message and actor with their names, and DynamoDB's 100 bytes per item."""

# Sizes of answers. A message is sent as text and as HTML, inside an event.
EMPTY_ANSWER_BYTES = 400
EVENT_BYTES = 600
INBOX_BYTES = 20_000

GB_PER_VCPU = 2
SMALLEST_VCPU = 0.25
LOOKUPS_PER_VCPU = 2000
"""Of PostgreSQL: half of the measured sends per core, although a look-up is cheaper than a send."""
SMALLEST_POSTGRES_GB = 20
PERSON_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each operation happens in a month; the names are those of units.json."""

    append: float
    thread_page: float
    inbox: float
    sync_nothing_new: float
    sync_one_message: float
    mark_read: float
    acknowledge: float
    start_thread: float
    edit: float
    delete: float
    typing: float
    presence: float
    recheck: float
    look: float

    @property
    def requests(self) -> float:
        """Requests of clients, without polls. Acknowledgements are part of polls and frames;
        presence and re-checks are made by the server."""
        return (
            self.append
            + self.thread_page
            + self.inbox
            + self.mark_read
            + self.start_thread
            + self.edit
            + self.delete
            + self.typing
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What a month consumes, in the units that are billed."""

    writes: float
    reads: float
    stored_gb: float
    file_gb: float
    file_puts: float
    file_gets: float
    lambda_requests: float
    lambda_gb_s: float
    transfer_gb: float
    server_vcpus: float
    postgres_vcpus: float
    postgres_gb: float


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    amount: float
    unit: str
    usd: float


@dataclass(frozen=True, slots=True)
class Bill:
    assumptions: Assumptions
    counts: Counts
    usage: Usage
    lines: tuple[Line, ...]

    @property
    def total_usd(self) -> float:
        return math.fsum(line.usd for line in self.lines)

    def line(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)


def bill(a: Assumptions, measured: UnitTable, prices: Prices) -> Bill:
    counts = count(a)
    used = usage(a, counts, measured)
    return Bill(a, counts, used, _lines(a, used, prices))


def count(a: Assumptions) -> Counts:
    messages = a.messages_per_day * DAYS
    polls = polls_of(a) * (1 - a.streaming_share)
    # Each event is counted as a read of its own, even if one poll finds several.
    news = events_of(a)
    visits = a.people * a.visits_per_day * DAYS
    streamed_s = open_seconds(a) * a.streaming_share
    active_s = a.people * a.active_minutes * 60 * DAYS * a.streaming_share
    return Counts(
        append=messages,
        thread_page=visits,
        inbox=visits,
        sync_nothing_new=max(0.0, polls - news * (1 - a.streaming_share)),
        sync_one_message=news,
        mark_read=messages * a.marks_per_message,
        acknowledge=messages * a.acknowledgements_per_message,
        # Each conversation is assumed to last a month; none starts without a message.
        start_thread=min(a.conversations, messages),
        edit=messages * a.edits_per_message,
        delete=messages * a.deletes_per_message,
        typing=messages * a.typing_per_message * a.streaming_share,
        presence=_signs_of_life(a),
        recheck=streamed_s / LIMITS.feed_recheck_s,
        # A stream watches the presence in the thread that is open on the screen.
        look=active_s / LIMITS.presence_refresh_s,
    )


def polls_of(a: Assumptions) -> float:
    """Polls in a month, if every client polled while its chat is open."""
    return a.people * a.polls_per_person * DAYS


def open_seconds(a: Assumptions) -> float:
    return a.people * a.open_minutes * 60 * DAYS


def events_of(a: Assumptions) -> float:
    """Feed entries in a month: each message for both people, each delivery receipt for the author,
    and each read mark for the author and for the reader's other devices."""
    each = 2 + a.acknowledgements_per_message + 2 * a.marks_per_message
    return a.messages_per_day * DAYS * each


def _signs_of_life(a: Assumptions) -> float:
    """Presence writes in a month. A poll writes one if the last is older than half the refresh
    time; a stream writes one per refresh time."""
    refresh_s = LIMITS.presence_refresh_s
    polled = math.fsum(
        minutes / (every_s * math.ceil(refresh_s / 2 / every_s)) for minutes, every_s in a.polling()
    )
    streamed = a.open_minutes / refresh_s
    share = a.streaming_share
    return a.people * DAYS * 60 * (polled * (1 - share) + streamed * share)


def usage(a: Assumptions, counts: Counts, measured: UnitTable) -> Usage:
    extra_kb = 2 * max(0.0, a.message_bytes - measured.message_bytes) / 1024
    calls = counts.requests + a.files_per_day * DAYS * (1 + a.downloads_per_file)
    polls = polls_of(a) * (1 - a.streaming_share)
    lambda_requests = calls * (1 - a.streaming_share) + polls
    return Usage(
        writes=_writes(a, counts, measured, extra_kb),
        reads=_reads(counts, measured.operations, extra_kb),
        stored_gb=_stored_bytes(a, counts, measured) / 1e9,
        file_gb=a.files_per_day * a.file_mb * a.file_kept_days / 1000,
        file_puts=a.files_per_day * DAYS,
        file_gets=a.files_per_day * DAYS * a.downloads_per_file,
        lambda_requests=lambda_requests,
        lambda_gb_s=lambda_requests * a.lambda_mb / 1024 * a.lambda_ms / 1000,
        transfer_gb=_transfer_bytes(a, counts, polls) / 1e9,
        server_vcpus=_server_vcpus(a, calls * a.streaming_share),
        postgres_vcpus=_postgres_vcpus(a, counts),
        postgres_gb=max(SMALLEST_POSTGRES_GB, a.people * PERSON_BYTES / 1e9),
    )


def _writes(a: Assumptions, counts: Counts, measured: UnitTable, extra_kb: float) -> float:
    """A message longer than the measured one costs two units per further KB, because it is written
    in a transaction. Its later deletion costs a unit per KB, and one for its client id."""
    operations = measured.operations
    per_month = math.fsum(n * each.write for n, each in _pairs(counts, operations))
    forgotten = math.ceil(operations.append.bytes_stored / 1024 + extra_kb) + 1
    return per_month + a.messages_per_day * DAYS * (2 * extra_kb + forgotten)


def _reads(counts: Counts, operations: Operations, extra_kb: float) -> float:
    """A read unit covers 4 KB, for pages and for single messages."""
    measured = math.fsum(n * each.read for n, each in _pairs(counts, operations))
    read_messages = counts.sync_one_message + counts.thread_page * LIMITS.messages_page
    return measured + read_messages * extra_kb / 4


def _pairs(counts: Counts, operations: Operations) -> list[tuple[float, Units]]:
    return [(getattr(counts, each.name), getattr(operations, each.name)) for each in fields(counts)]


def _stored_bytes(a: Assumptions, counts: Counts, measured: UnitTable) -> float:
    operations = measured.operations
    # Text and HTML grow with the length of the message; the rest of the item does not.
    longer = 2 * (a.message_bytes - measured.message_bytes)
    message = max(operations.append.bytes_stored + longer, 2 * a.message_bytes)
    earlier = math.fsum(
        (counts.edit * operations.edit.bytes_stored, counts.delete * operations.delete.bytes_stored)
    )
    return (
        a.messages_per_day * a.message_kept_days * message
        + earlier / DAYS * a.message_kept_days
        + a.conversations * operations.start_thread.bytes_stored
        + events_of(a) / DAYS * LIMITS.feed_kept_days * FEED_ENTRY_BYTES
    )


def _transfer_bytes(a: Assumptions, counts: Counts, polls: float) -> float:
    message = 2 * a.message_bytes + EVENT_BYTES
    return math.fsum(
        (
            polls * EMPTY_ANSWER_BYTES,
            counts.sync_one_message * EVENT_BYTES,
            2 * counts.append * message,
            counts.inbox * INBOX_BYTES,
            counts.thread_page * LIMITS.messages_page * message,
            a.files_per_day * DAYS * a.downloads_per_file * a.file_mb * 1e6,
        )
    )


def _server_vcpus(a: Assumptions, requests: float) -> float:
    """Sized for the busiest minute; 0 if nobody streams."""
    if not a.streaming_share:
        return 0
    streams = a.people * a.open_minutes / (24 * 60) * a.streaming_share
    per_s = requests / SECONDS
    needed = a.peak_factor * (streams / a.streams_per_vcpu + per_s / a.requests_per_vcpu)
    return max(SMALLEST_VCPU, needed)


def _postgres_vcpus(a: Assumptions, counts: Counts) -> float:
    """Look-ups of names for inbox and thread pages, and of callers, once per visit."""
    lookups = counts.inbox + counts.thread_page + counts.start_thread
    return a.peak_factor * lookups / SECONDS / LOOKUPS_PER_VCPU


def _lines(a: Assumptions, used: Usage, prices: Prices) -> tuple[Line, ...]:
    def pay(price: Price, amount: float) -> float:
        return price.cost(amount, free_tier=a.free_tier)

    storage = pay(prices.dynamodb_storage, used.stored_gb)
    recovery = pay(prices.dynamodb_recovery, used.stored_gb)
    files = pay(prices.s3_put, used.file_puts) + pay(prices.s3_get, used.file_gets)
    answers = pay(prices.lambda_request, used.lambda_requests)
    answers += pay(prices.lambda_compute, used.lambda_gb_s)
    hours = used.server_vcpus * HOURS
    servers = pay(prices.server_vcpu, hours) + pay(prices.server_memory, hours * GB_PER_VCPU)
    smallest = pay(prices.postgres_smallest, HOURS)
    postgres = max(smallest, pay(prices.postgres_vcpu, used.postgres_vcpus * HOURS))
    postgres += pay(prices.postgres_storage, used.postgres_gb)
    return (
        Line("DynamoDB storage", used.stored_gb, "GB", storage),
        Line("DynamoDB reads", used.reads, "units", pay(prices.dynamodb_read, used.reads)),
        Line("DynamoDB writes", used.writes, "units", pay(prices.dynamodb_write, used.writes)),
        Line("S3 storage", used.file_gb, "GB", pay(prices.s3_storage, used.file_gb)),
        Line("S3 requests", used.file_puts + used.file_gets, "requests", files),
        Line("Lambda", used.lambda_requests, "requests", answers),
        # Not in the simple estimate.
        Line("Point-in-time recovery", used.stored_gb, "GB", recovery),
        Line(
            "Data transfer out", used.transfer_gb, "GB", pay(prices.transfer_out, used.transfer_gb)
        ),
        Line("Servers for streams", used.server_vcpus, "vCPUs", servers),
        Line("PostgreSQL", a.postgres_share, "database", postgres * a.postgres_share),
    )
