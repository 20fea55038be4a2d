"""Explains each line of the bill, and why it differs from the simple estimate."""

from dataclasses import replace

from greenroom.cost.model import LIMITS, Bill, polls_of, usage
from greenroom.cost.money import dollars, short
from greenroom.cost.simple_estimate import simple_line
from greenroom.cost.tables import UnitTable


def reasons(month: Bill, measured: UnitTable) -> dict[str, str]:
    """By the name of the line."""
    ours = {
        "DynamoDB storage": _storage(month, measured),
        "DynamoDB reads": _reads(month, measured),
        "DynamoDB writes": _writes(month, measured),
        "S3 storage": _files(month),
        "S3 requests": _file_requests(month),
        "Lambda": _lambda(month),
        "Point-in-time recovery": (
            "Not in the simple estimate: any second of the last 35 days can be restored."
        ),
        "Data transfer out": _transfer(month),
        "Servers for streams": _servers(month),
        "PostgreSQL": _postgres(month),
    }
    return {name: text + _simple_origin(name) for name, text in ours.items()}


def _simple_origin(name: str) -> str:
    theirs = simple_line(name)
    if theirs is None:
        return ""
    return f" The simple estimate's {dollars(theirs.usd)}: {theirs.origin}"


def _storage(month: Bill, measured: UnitTable) -> str:
    a, each = month.assumptions, measured.operations.append.bytes_stored
    by_default = replace(a, message_kept_days=LIMITS.message_kept_days)
    default_gb = usage(by_default, month.counts, measured).stored_gb
    return (
        f"A message of {measured.message_bytes} bytes with its HTML and client id is {each:,} "
        f"bytes; kept for {a.message_kept_days:g} days that is {month.usage.stored_gb:.2f} GB with "
        f"threads and feeds, and {default_gb:.2f} GB in the {LIMITS.message_kept_days} days that "
        "the server keeps by default."
    )


def _reads(month: Bill, measured: UnitTable) -> str:
    counts, units = month.counts, measured.operations
    polls = counts.sync_nothing_new * units.sync_nothing_new.read
    watch = counts.recheck * units.recheck.read + counts.look * units.look.read
    return (
        f"{_share(polls, month.usage.reads)} of the units are {short(counts.sync_nothing_new)} "
        f"polls that find nothing new, at {units.sync_nothing_new.read:g} each, and "
        f"{_share(watch, month.usage.reads)} are the server's own reads for open streams; an "
        f"arriving event takes {units.sync_one_message.read:g}, an inbox page {units.inbox.read:g}."
    )


def _writes(month: Bill, measured: UnitTable) -> str:
    counts, units = month.counts, measured.operations
    return (
        f"A send is {units.append.write:g} units and not 1: the message in a transaction with its "
        "thread, client id and outbox record, then a feed entry and an indexed inbox row for each "
        f"of two people; receipts ({units.mark_read.write:g} per read mark, "
        f"{units.acknowledge.write:g} per delivery), {short(counts.presence)} presence updates and "
        "the later deletion are added."
    )


def _files(month: Bill) -> str:
    a = month.assumptions
    return f"{a.files_per_day:g} files a day of {a.file_mb:g} MB for {a.file_kept_days:g} days."


def _file_requests(month: Bill) -> str:
    used = month.usage
    return f"{short(used.file_puts)} uploads and {short(used.file_gets)} downloads."


def _lambda(month: Bill) -> str:
    a, requests = month.assumptions, month.usage.lambda_requests
    polls = polls_of(a) * (1 - a.streaming_share)
    return (
        f"{short(requests)} calls, {_share(polls, requests)} of them polls, of {a.lambda_ms:g} ms "
        f"at {a.lambda_mb:g} MB."
    )


def _transfer(month: Bill) -> str:
    files = month.usage.file_gets * month.assumptions.file_mb / 1000
    return (
        f"Not in the simple estimate: {files:.1f} GB are files, the rest answers to polls and "
        "pages; the first 100 GB of a month are free to every account (--free-tier)."
    )


def _servers(month: Bill) -> str:
    if not month.usage.server_vcpus:
        return "None, because nobody streams; --streaming-share 1 shows the bill with streams."
    return (
        f"Not in the simple estimate, which polls: {month.usage.server_vcpus:.2f} vCPUs for the "
        "busiest minute; a quarter is the least that can be rented."
    )


def _postgres(month: Bill) -> str:
    if not month.assumptions.postgres_share:
        return "None, because the marketplace has one anyway."
    return (
        "Not in the simple estimate: accounts are in PostgreSQL, and this is the smallest that can "
        "be rented, or more if look-ups need it; use --postgres-share 0 if the marketplace has one "
        "anyway."
    )


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "none"
