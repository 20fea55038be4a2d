"""Appending messages: calls the SQL function `append_messages` and reads what came of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.conversations.model import Message
from greenroom.conversations.postgres.rows import attachments_json
from greenroom.conversations.store import Send
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    ParticipantMuted,
    Problem,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    ThreadReadOnly,
)
from greenroom.kernel.ids import Randomness
from greenroom.platform.postgres.pool import Session

SEND_WINDOW = timedelta(minutes=1)
"""How far one author may run ahead in one thread."""

# See db/functions/append_messages.sql.
APPEND = """
select * from append_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17)
"""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The send was made before; this is the message that it made."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Appended:
    message: Message
    viewers: list[str]
    """Whose feeds have grown by it."""


async def append_batch(
    conn: Session, sends: Sequence[Send], now_ms: int, randomness: Randomness
) -> list[Appended | Repeat | Exception]:
    """Append several messages in one statement; says what came of each, in the same order."""
    rows = await conn.fetch(
        APPEND,
        now_ms,
        SEND_WINDOW,
        [send.thread_id for send in sends],
        [send.author_id for send in sends],
        [send.draft.kind for send in sends],
        [send.draft.client_id for send in sends],
        [send.draft.hash() for send in sends],
        [send.draft.body for send in sends],
        [send.draft.body_html for send in sends],
        [None] * len(sends),
        [send.draft.reply_to for send in sends],
        [send.cost_ms for send in sends],
        [_audience(send) for send in sends],
        [randomness() for _ in sends],
        [send.key for send in sends],
        [send.fingerprint for send in sends],
        [attachments_json(send.draft.attachments) for send in sends],
    )
    by_place = {row["ord"]: row for row in rows}
    return [
        _outcome(send, by_place.get(place), now_ms) for place, send in enumerate(sends, start=1)
    ]


async def append_one(
    conn: Session, send: Send, now_ms: int, randomness: Randomness
) -> Appended | Repeat:
    """Append one message within the caller's transaction. Raises why it was refused."""
    [result] = await append_batch(conn, [send], now_ms, randomness)
    if isinstance(result, Exception):
        raise result
    return result


async def append_notice(
    conn: Session,
    thread_id: str,
    actor: str | None,
    system: dict[str, Any],
    now_ms: int,
    randomness: Randomness,
    *,
    body: str = "",
    html: str | None = None,
) -> Appended:
    """Append a message of the server or the marketplace within the caller's transaction."""
    encoded = msgspec.json.encode(system).decode()
    [row] = await conn.fetch(
        APPEND, now_ms, SEND_WINDOW, [thread_id], [actor], ["system"], [None], [None], [body],
        [html], [encoded], [None], [0], [None], [randomness()], [None], [None], [None],
    )  # fmt: skip
    message = Message(
        id=row["message_id"],
        thread_id=thread_id,
        seq=row["seq"],
        author_id=actor,
        kind="system",
        body=body,
        body_html=html,
        system=system,
        reply_to=None,
        client_id=None,
        created_at_ms=row["created_at"],
    )
    return Appended(message, row["viewers"] or [])


def _audience(send: Send) -> str | None:
    return None if send.visible_to is None else ",".join(sorted(send.visible_to))


def _outcome(send: Send, row: Record | None, now_ms: int) -> Appended | Repeat | Exception:
    if row is None:
        return ThreadNotFound()
    verdict = row["verdict"]
    if verdict == "ok":
        return Appended(_message(send, row), row["viewers"] or [])
    if verdict == "repeat":
        return Repeat(row["message_id"])
    if verdict == "mismatch":
        return IdempotencyMismatch("This client_id or key was used for another message.")
    refused = refusal(verdict, row["until"])
    if refused is not None:
        return refused
    # `until` also counts sends of the batch that were refused before this one and cost nothing.
    wait_ms = min(row["until"] - now_ms, send.cost_ms)
    return RateLimited("Too many messages in this thread.", retry_after_s=wait_ms / 1000)


def _message(send: Send, row: Record) -> Message:
    return Message(
        id=row["message_id"],
        thread_id=send.thread_id,
        seq=row["seq"],
        author_id=send.author_id,
        kind=send.draft.kind,
        body=send.draft.body,
        body_html=send.draft.body_html,
        system=None,
        reply_to=send.draft.reply_to,
        client_id=send.draft.client_id,
        created_at_ms=row["created_at"],
        attachments=send.draft.attachments,
    )


def refusal(verdict: str, until_ms: int | None) -> Problem | None:
    """The error of a verdict that forbids writing in the thread; None for any other verdict."""
    if verdict == "not_found":
        return ThreadNotFound()
    if verdict == "locked":
        return ThreadLocked()
    if verdict == "read_only":
        return ThreadReadOnly()
    if verdict == "muted" and until_ms is not None:
        return ParticipantMuted(f"Until {rfc3339(until_ms)}.")
    if verdict == "blocked_by_you":
        return MsgBlockedByUser()
    return None
