"""Outbox records that an earlier version has written can still be read: stored names stay."""

import json
import zlib

from greenroom.conversations.dynamodb.changes.change import (
    CommittedEvent,
    Entry,
    OutboxRecord,
    ProjectionStep,
    RecipientGroup,
    decode_record,
    encode_record,
)
from greenroom.conversations.dynamodb.items.rows import MarkedRead, Unchanged
from greenroom.conversations.dynamodb.items.threads import StoredStanding

RECORD = OutboxRecord(
    thread_id="thr_1",
    ver=7,
    kind="project",
    at_ms=1000,
    groups=(
        RecipientGroup(
            {"ann": 6},
            (
                ProjectionStep(
                    MarkedRead("msg_1", 1000, 0), Entry("inbox.changed", None, "ann", 1000)
                ),
                ProjectionStep(Unchanged(), Entry("thread.changed", None, None, 1000)),
            ),
        ),
    ),
    events=(CommittedEvent("thread.read", 1000, "ann", "msg_1"),),
    standing=StoredStanding("confirmed", 1, ("ann",)),
)
STORED = {
    "thread_id": "thr_1",
    "ver": 7,
    "kind": "project",
    "at_ms": 1000,
    "parts": [
        {
            "users": {"ann": 6},
            "steps": [
                {
                    "what": {"type": "read", "message_id": "msg_1", "at_ms": 1000, "unread": 0},
                    "entry": ["inbox.changed", None, "ann", 1000],
                },
                {"what": {"type": "shown"}, "entry": ["thread.changed", None, None, 1000]},
            ],
        }
    ],
    "events": [
        {"event": "thread.read", "at_ms": 1000, "actor": "ann", "message_id": "msg_1"},
    ],
    "stands": ["confirmed", 1, ["ann"]],
}


def test_a_record_is_written_under_the_stored_names() -> None:
    assert json.loads(zlib.decompress(encode_record(RECORD), -15)) == STORED


def test_a_stored_record_is_read() -> None:
    assert decode_record(zlib.compress(json.dumps(STORED).encode(), 6, -15)) == RECORD
