"""The keys of all items of the conversation store; docs/dynamodb.md lists them in a table.

User ids, thread ids and message ids contain no `#`, so these keys are unambiguous.
"""

from typing import NamedTuple
from zlib import crc32

from greenroom.kernel.clock import rfc3339
from greenroom.kernel.ids import id_time_ms
from greenroom.platform.dynamodb.table import Key

MESSAGES = "MSG#"
CARDS = "CARD#"
PARTICIPANTS = "PART#"
EPOCH: Key = ("META", "EPOCH")
HEAD = "H"
ENTRIES = "E#"
PINNED = "PIN#"
PERSON = "person:"

OUTBOX_MOST_SHARDS = 256


def thread_partition(thread_id: str) -> str:
    return f"THR#{thread_id}"


def thread_key(thread_id: str) -> Key:
    return thread_partition(thread_id), "THR"


def row_key(thread_id: str, user_id: str) -> Key:
    return thread_partition(thread_id), PARTICIPANTS + user_id


def message_key(thread_id: str, message_id: str) -> Key | None:
    """None if this cannot be the id of a message."""
    sort = message_sort(message_id)
    return None if sort is None else (thread_partition(thread_id), sort)


def message_sort(message_id: str) -> str | None:
    """The sort key, which starts with the time inside the id. None for an invalid id."""
    try:
        return f"{MESSAGES}{rfc3339(id_time_ms(message_id))}#{message_id}"
    except (ValueError, OverflowError, OSError):
        return None


def card_key(thread_id: str, message_id: str) -> Key:
    """The content of a card, which changes while its message stays."""
    return thread_partition(thread_id), CARDS + message_id


def card_pointer_key(card_id: str) -> Key:
    """Points from a card to its message."""
    return f"CRD#{card_id}", "CRD"


def original_key(thread_id: str, message_id: str, at_ms: int) -> Key:
    return thread_partition(thread_id), f"AUD#{message_id}#{rfc3339(at_ms)}"


def feed_partition(user_id: str) -> str:
    return f"FEED#{user_id}"


def entry_sort(n: int) -> str:
    return f"{ENTRIES}{n:013x}"


def entry_key(user_id: str, n: int) -> Key:
    return feed_partition(user_id), entry_sort(n)


def head_key(user_id: str) -> Key:
    return feed_partition(user_id), HEAD


def client_id_key(author: str, client_id: str) -> Key:
    return f"CID#{author}#{client_id}", "CID"


def answer_key(caller: str, route: str, key: str) -> Key:
    """A person's answers share a partition, so that they can be deleted with the person. Those of
    the marketplace's backend do not, because one partition could not take that many writes."""
    if caller.startswith(PERSON):
        return person_answers(caller.removeprefix(PERSON)), f"{route}#{key}"
    return f"KEY#{caller}#{route}#{key}", "KEY"


def person_answers(user_id: str) -> str:
    return f"KEY#{PERSON}{user_id}"


def outbox_shard(number: int) -> str:
    return f"OUTBOX#{number:02x}"


def outbox_key(thread_id: str, ver: int, shards: int) -> Key:
    return outbox_shard(crc32(thread_id.encode()) % shards), outbox_sort(thread_id, ver)


def outbox_sort(thread_id: str, ver: int) -> str:
    return f"{thread_id}#{ver:012x}"


def blocks_partition(user_id: str) -> str:
    return f"BLK#{user_id}"


def block_keys(blocker: str, blocked: str) -> tuple[Key, Key]:
    """A block has an item with each of the two people."""
    return (blocks_partition(blocker), f"OUT#{blocked}"), (
        blocks_partition(blocked),
        f"IN#{blocker}",
    )


def blocks_version_key(user_id: str) -> Key:
    return blocks_partition(user_id), "V"


def user_partition(user_id: str) -> str:
    return f"USER#{user_id}"


def pointer_key(user_id: str, thread_id: str) -> Key:
    return user_partition(user_id), f"THR#{thread_id}"


def pair_partition(one: str, other: str) -> str:
    return "PAIR#" + ",".join(sorted((one, other)))


def pair_key(one: str, other: str, started_n: int) -> Key:
    return pair_partition(one, other), f"T#{started_n:08x}"


def pair_lock_key(one: str, other: str) -> Key:
    return pair_partition(one, other), "N"


def listings_partition(opener: str) -> str:
    return f"LST#{opener}"


def listing_key(opener: str, recipient: str, listing: str) -> Key:
    """Points from the marketplace's listing key to the thread that the opener started under it."""
    return listings_partition(opener), f"{recipient}#{listing}"


def job_partition(job_id: str) -> str:
    """Also of GSI1: the threads about a job, by their ids."""
    return f"JOB#{job_id}"


def job_key(job_id: str) -> Key:
    return job_partition(job_id), "JOB"


def imported_key(thread_id: str, external_id: str) -> Key:
    """Points from a message's id in another system to its id here."""
    return f"IMP#{thread_id}", external_id


def external_key_key(key: str) -> Key:
    """Points from the marketplace's own key to its thread."""
    return f"EXT#{key}", "EXT"


def start_limit_key(user_id: str, window_ms: int) -> Key:
    return f"RATE#{user_id}", f"START#{window_ms}"


def decision_key(decision_id: str) -> Key:
    return f"DEC#{decision_id}", "DEC"


def inbox_partition(user_id: str, placement: str) -> str:
    """GSI1: a partition per user and placement; the inbox itself has no suffix."""
    return f"PARTICIPANT#{user_id}" + ("" if placement == "inbox" else f"#{placement}")


def inbox_sort(*, pinned: bool, at_ms: int, thread_id: str) -> str:
    return (PINNED if pinned else "") + f"{rfc3339(at_ms)}#{thread_id}"


def unread_partition(user_id: str) -> str:
    """GSI2: a user's threads with something unread or with something that waits for them."""
    return f"UNREAD#{user_id}"


class UnreadKey(NamedTuple):
    """The sort key under `unread_partition`: all that the counts of the inbox need."""

    placement: str
    kind: str
    thread_id: str
    needs_action: bool
    is_unread: bool

    def __str__(self) -> str:
        marks = ("!" if self.needs_action else "") + ("" if self.is_unread else ".")
        return f"{self.placement}#{self.kind}{marks}#{self.thread_id}"

    @classmethod
    def parse(cls, text: str) -> "UnreadKey":
        placement, kind, thread_id = text.split("#")
        return cls(
            placement,
            kind.rstrip("!."),
            thread_id,
            needs_action="!" in kind,
            is_unread="." not in kind,
        )


def booking_partition(group_id: str | None, leg_id: str | None) -> str:
    """GSI2: threads of a booking."""
    return f"LBG#{group_id}" if group_id is not None else f"LEG#{leg_id}"
