"""DynamoDB's limits, and what each change of a thread writes where.

Limits are AWS's published ones. Writes are counted from the item layout (docs/dynamodb.md): an item
in a transaction costs two units per started KB, outside of one it costs one, and an index always
costs one. With two people they add up to what greenroom/cost/units.json has measured.
"""

import math

from greenroom.kernel.limits import Limits

LIMITS = Limits()

PARTITION_WRITES_PER_S = 1000
PARTITION_READS_PER_S = 3000
TABLE_UNITS_PER_S = 40_000
"""The default quota of a table, for reads and for writes; AWS raises it on request."""
NEW_TABLE_WRITES_PER_S = 4000
"""What a new table takes at once; later it takes twice its last peak within 30 minutes."""

BATCH = 30
"""Sends of one thread in one transaction: at most 100 items, three per send."""
OUTBOX_MOST_SHARDS = 256

# Bytes of the thread's item: itself, and per member their role, marks with times, and send limit.
THREAD_BYTES = 330
MEMBER_BYTES = 180
# Text, HTML, ids and times of a message of 1 KB.
MESSAGE_KB = 3

RECORD_WRITES = 3  # of the outbox: put in the transaction, deleted outside of it
CLIENT_ID_WRITES = 2
FEED_WRITES = 2  # the entry and the head
SHOWING_READS = 2  # for each one who is shown an event: their inbox row and the message


def thread_item_writes(members: int) -> int:
    """Write units of the thread's own item, which every change writes."""
    return 2 * math.ceil((THREAD_BYTES + members * MEMBER_BYTES) / 1024)


# Heat: writes to the thread's own partition. DynamoDB cannot split it usefully, because all of them
# go to one item, the rows that every change writes, and the newest message.


def send_heat(members: int, batch: int = 1) -> float:
    return (thread_item_writes(members) + members) / batch + 2 * MESSAGE_KB


def mark_heat(members: int) -> float:
    """A read mark is sent to every member."""
    return thread_item_writes(members) + members


def receipt_heat(members: int) -> float:
    """A delivery receipt is sent to the other members; in large threads to nobody."""
    if members > LIMITS.delivery_shown_participants:
        return 0
    return thread_item_writes(members) + members - 1


# All writes of a change, in all partitions.


def send_writes(members: int) -> float:
    """Each inbox row moves in the index, which is two index writes."""
    return send_heat(members) + CLIENT_ID_WRITES + RECORD_WRITES + members * (FEED_WRITES + 2)


def mark_writes(members: int) -> float:
    """Rows change in place; the reader's row leaves the index of unread threads."""
    return mark_heat(members) + RECORD_WRITES + members * (FEED_WRITES + 1) + 1


def receipt_writes(members: int) -> float:
    """Includes the write to the receiver's feed head."""
    if members > LIMITS.delivery_shown_participants:
        return 0
    return receipt_heat(members) + RECORD_WRITES + (members - 1) * (FEED_WRITES + 1) + 1


def live_heat(members: int, sends_per_s: float, *, batch: int, marks: float) -> float:
    """Write units a second of a thread whose others read along: each of them acknowledges every
    message, and marks `marks` of them as read, though neither more often than once a second."""
    others = (members - 1) * min(sends_per_s, 1.0)
    receipts = receipt_heat(members) + marks * mark_heat(members)
    return sends_per_s * send_heat(members, batch) + others * receipts


def live_reads(members: int, sends_per_s: float, *, marks: float) -> float:
    """Read units per second of its partition: every member reads each message and each mark."""
    shown = sends_per_s + (members - 1) * min(sends_per_s, 1.0) * marks
    return shown * members * SHOWING_READS


def live_sends_per_s(members: int, *, batch: int, marks: float) -> float:
    """The most sends per second that the partition takes. Above one per second only sends grow,
    because marks and receipts are limited."""
    at_one = live_heat(members, 1.0, batch=batch, marks=marks)
    left = PARTITION_WRITES_PER_S - at_one
    if left < 0:
        return PARTITION_WRITES_PER_S / at_one
    return 1.0 + left / send_heat(members, batch)


def allowed_sends_per_s(members: int) -> float:
    """What the server's send limit allows all members together, without bursts."""
    return members * LIMITS.sends_per_minute / 60
