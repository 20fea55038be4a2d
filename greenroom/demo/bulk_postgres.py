"""Writes generated threads into PostgreSQL with COPY, in one transaction.

The outbox stays empty, as if all domain events had been delivered.
"""

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from struct import Struct
from typing import Any

from greenroom.demo.crowd import Body, Crowd, Talk, promotion
from greenroom.demo.progress import Progress
from greenroom.platform.postgres.pool import Session

CHUNK_BYTES = 1 << 17
CHUNK_THREADS = 2000
YEAR_2000_MS = 946_684_800_000

TABLES = {
    "feed_head": ("user_id", "last_n", "pruned_n"),
    "thread": (
        "thread_id", "kind", "subject", "role_context", "leg_id", "city", "opened_by_user",
        "last_seq", "last_msg_ts", "created_at", "updated_at",
    ),
    "thread_participant": (
        "thread_id", "user_id", "role", "status", "last_read_id", "last_read_ts",
        "shown_read_id", "shown_read_ts", "joined_at",
    ),
    "inbox_index": (
        "user_id", "thread_id", "kind", "last_msg_ts", "last_message_id", "unread_count",
        "awaits_reply",
    ),
    "feed": ("user_id", "n", "type", "thread_id", "message_id", "actor", "at"),
    # In the order in which `_rows` builds a row: thread and sender, text, the message itself.
    "message": (
        "thread_id", "sender_user", "kind", "body_text", "body_html", "system", "send_hash",
        "client_id", "message_id", "seq", "created_at",
    ),
}  # fmt: skip


@dataclass(slots=True)
class Chunk:
    """The rows of a number of threads, besides their messages."""

    threads: list[tuple[Any, ...]] = field(default_factory=list)
    participants: list[tuple[Any, ...]] = field(default_factory=list)
    inbox: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, talk: Talk) -> None:
        started_ms, ended_ms = talk.times[0], talk.times[-1]
        self.threads.append(
            (
                talk.thread_id, talk.kind, talk.subject, talk.trade, talk.leg_id, talk.city,
                talk.buyer, len(talk.times), ended_ms, started_ms, talk.changed_ms,
            )
        )  # fmt: skip
        for user_id, role, read_at, read_ms, unread in talk.readings:
            read_id = talk.ids[read_at] if read_at >= 0 else ""
            self.participants.append(
                (
                    talk.thread_id, user_id, role, "active", read_id, read_ms, read_id, read_ms,
                    started_ms,
                )
            )  # fmt: skip
            awaits_reply = talk.senders[-1] not in (user_id, None)
            self.inbox.append(
                (
                    user_id, talk.thread_id, talk.kind, ended_ms, talk.ids[-1], unread,
                    awaits_reply,
                )
            )  # fmt: skip


async def copy_crowd(conn: Session, crowd: Crowd, progress: Progress) -> None:
    """Copy all rows, in the caller's transaction. The crowd's people exist already."""
    bodies, talks = [_body(body) for body in crowd.bodies], crowd.talks()
    while True:
        chunk = Chunk()
        source = _framed(_message_rows(islice(talks, CHUNK_THREADS), bodies, chunk))
        await conn.copy_to_table(
            "message", source=source, columns=TABLES["message"], format="binary"
        )
        if not chunk.threads:
            break
        await _copy(conn, "thread", chunk.threads)
        await _copy(conn, "thread_participant", chunk.participants)
        await _copy(conn, "inbox_index", chunk.inbox)
        progress.advance(sum(row[TABLES["thread"].index("last_seq")] for row in chunk.threads))
    await _copy(
        conn,
        "feed",
        (
            (each.user_id, n, each.type, each.thread_id, each.message_id, each.actor, each.at_ms)
            for n, each in crowd.feed()
        ),
    )
    await _copy(conn, "feed_head", crowd.heads())


async def _copy(conn: Session, table: str, rows: Any) -> None:
    await conn.copy_records_to_table(table, records=rows, columns=TABLES[table])


async def _framed(rows: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Join rows to chunks, with the header and the trailer of COPY's binary format."""
    pieces, size = [b"PGCOPY\n\xff\r\n\0" + bytes(8)], 0
    for row in rows:
        pieces.append(row)
        size += len(row)
        if size > CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    yield b"".join((*pieces, b"\xff\xff"))


def _message_rows(talks: Iterable[Talk], bodies: list[bytes], chunk: Chunk) -> Iterator[bytes]:
    """The rows of `message`; adds the other rows of the threads to the chunk."""
    for talk in talks:
        yield from _rows(talk, bodies)
        chunk.add(talk)


def _rows(talk: Talk, bodies: list[bytes]) -> Iterator[bytes]:
    """The hot loop: constant parts are encoded once per thread, sender and text."""
    pack, sent = _TAIL.pack, talk.sent_before
    thread = _ROW + _field(talk.thread_id.encode())
    parts = {who: thread + _field(who.encode()) for who in talk.people}
    messages = zip(talk.times, talk.ids, talk.senders, talk.bodies, strict=True)
    for seq, (at_ms, message_id, sender, body) in enumerate(messages, start=1):
        moment_us = (at_ms - YEAR_2000_MS) * 1000
        if sender is None:
            tail = _SYSTEM_TAIL.pack(-1, 30, message_id.encode(), 8, seq, 8, moment_us)
            yield thread + _NULL + _promotion(talk.leg_id) + tail
            continue
        sent += 1
        yield (
            parts[sender]
            + bodies[body]
            + pack(11, b"g%010x" % sent, 30, message_id.encode(), 8, seq, 8, moment_us)
        )


_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)
_ROW = Struct(">h").pack(len(TABLES["message"]))
# client_id, message_id, seq and created_at, each preceded by its length.
_TAIL = Struct(">i11si30siqiq")
_SYSTEM_TAIL = Struct(">ii30siqiq")


def _field(value: bytes) -> bytes:
    return _LENGTH.pack(len(value)) + value


def _body(body: Body) -> bytes:
    """The fields kind, body_text, body_html, system and send_hash."""
    html = _NULL if body.html is None else _field(body.html.encode())
    return _field(b"text") + _field(body.text.encode()) + html + _NULL + _field(body.hash)


def _promotion(leg_id: str | None) -> bytes:
    jsonb = b"\x01" + json.dumps(promotion(leg_id), separators=(",", ":")).encode()
    return _field(b"system") + _field(b"") + _NULL + _field(jsonb) + _NULL
