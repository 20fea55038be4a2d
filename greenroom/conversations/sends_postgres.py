"""Appending messages on PostgreSQL: many sends, one round trip, one commit."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from asyncpg import Pool, PostgresError, Record

from greenroom.conversations.model import Message
from greenroom.conversations.sql_postgres import APPEND
from greenroom.conversations.store import Send
from greenroom.kernel.clock import Clock, rfc3339
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    ParticipantMuted,
    Problem,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
)
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.group_commit import GroupCommit
from greenroom.platform.postgres import PASSING_FAILURES, Session, unavailable_on_failure

SEND_WINDOW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Repeat:
    """The send was made before; this is the message it made."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Appended:
    message: Message
    viewers: list[str]
    """Whose feeds have grown by it."""


class SendBatches:
    """Sends that arrive together share a commit. See `GroupCommit` for when."""

    def __init__(
        self,
        pool: Pool,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        wake: Callable[[Iterable[str]], None],
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._randomness = randomness
        self._wake = wake
        self._group: GroupCommit[Send, Message | Repeat] = GroupCommit(
            self._flush,
            _keys,
            writers=limits.send_connections,
            batch_limit=limits.send_batch,
            queue_limit=limits.send_queue,
        )

    async def submit(self, send: Send) -> Message | Repeat:
        return await self._group.submit(send)

    async def close(self) -> None:
        await self._group.drain()
        await self._pool.close()

    @unavailable_on_failure()
    async def _flush(self, sends: Sequence[Send]) -> Sequence[Message | Repeat | Exception]:
        try:
            async with self._pool.acquire() as conn:
                results = await _append(conn, sends, self._clock(), self._randomness)
        except (PostgresError, ValueError) as failure:
            if isinstance(failure, PASSING_FAILURES) and not isinstance(failure, ValueError):
                raise
            # One bad row must not fail its neighbours: find it by sending each alone. A value
            # that cannot even be encoded for the server is a ValueError.
            if len(sends) == 1:
                return [failure]
            return [(await self._flush([send]))[0] for send in sends]
        self._wake(user for each in results if isinstance(each, Appended) for user in each.viewers)
        return [each.message if isinstance(each, Appended) else each for each in results]


def _keys(send: Send) -> Iterable[Hashable]:
    yield send.author_id, "client_id", send.draft.client_id
    if send.key is not None:
        yield send.author_id, "key", send.key


async def append_in(conn: Session, send: Send, now_ms: int, randomness: Randomness) -> Appended:
    """Append within the caller's transaction, which knows that it is no repeat."""
    [result] = await _append(conn, [send], now_ms, randomness)
    if isinstance(result, Exception):
        raise result
    if isinstance(result, Repeat):
        raise IdempotencyMismatch
    return result


async def system_message(
    conn: Session,
    thread_id: str,
    actor: str | None,
    system: str,
    now_ms: int,
    randomness: Randomness,
) -> list[str]:
    """Say something in the server's own voice, within the caller's transaction; to whom."""
    [row] = await conn.fetch(
        APPEND, now_ms, SEND_WINDOW, [thread_id], [actor], ["system"], [None], [None], [""],
        [None], [system], [None], [0], [None], [randomness()], [None], [None],
    )  # fmt: skip
    return row["viewers"] or []


async def _append(
    conn: Session, sends: Sequence[Send], now_ms: int, randomness: Randomness
) -> list[Appended | Repeat | Exception]:
    rows = await conn.fetch(
        APPEND,
        now_ms,
        SEND_WINDOW,
        [send.thread_id for send in sends],
        [send.author_id for send in sends],
        ["text"] * len(sends),
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
    )
    by_place = {row["ord"]: row for row in rows}
    return [
        _outcome(send, by_place.get(place), now_ms) for place, send in enumerate(sends, start=1)
    ]


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
    # `until` also counts those of the batch that were refused before this one, which take nothing.
    wait_ms = min(row["until"] - now_ms, send.cost_ms)
    return RateLimited("Too many messages in this thread.", retry_after_s=wait_ms / 1000)


def refusal(verdict: str, until_ms: int | None) -> Problem | None:
    """Why someone may not write in a thread; None: that is not the reason."""
    if verdict == "not_found":
        return ThreadNotFound()
    if verdict == "locked":
        return ThreadLocked()
    if verdict == "muted" and until_ms is not None:
        return ParticipantMuted(f"Until {rfc3339(until_ms)}.")
    if verdict == "blocked_by_you":
        return MsgBlockedByUser()
    return None


def _message(send: Send, row: Record) -> Message:
    return Message(
        id=row["message_id"],
        thread_id=send.thread_id,
        seq=row["seq"],
        author_id=send.author_id,
        kind="text",
        body=send.draft.body,
        body_html=send.draft.body_html,
        system=None,
        reply_to=send.draft.reply_to,
        client_id=send.draft.client_id,
        created_at_ms=row["created_at"],
    )
