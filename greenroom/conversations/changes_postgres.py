"""What every change to a conversation is made of: a transaction, locks, and telling people.

The order of locks is the same everywhere: the idempotency key, the thread, then the feed heads of
the people concerned, sorted. What a change checks, it checks after the locks.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import msgspec
from asyncpg import Pool, Record

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.feeds_postgres import Wake
from greenroom.conversations.model import EventType, Message, Thread, ThreadKind
from greenroom.conversations.rows_postgres import message_from, thread_from
from greenroom.conversations.sends_postgres import append_in, system_message
from greenroom.conversations.store import Send
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    ActionInvalidState,
    NotFound,
    ThreadNotFound,
)
from greenroom.kernel.ids import Randomness
from greenroom.platform.answers_postgres import claim, keep, recall
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import Session, unavailable_on_failure

T = TypeVar("T")


class LockedThread(NamedTuple):
    kind: str
    is_locked: bool
    group_id: str | None
    leg_id: str | None


# Whose feeds the transaction of this task has grown: they are woken once it is committed.
_told: ContextVar[set[str]] = ContextVar("told")


@contextmanager
def noting_told() -> Iterator[set[str]]:
    """Whose feeds grow meanwhile."""
    told: set[str] = set()
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


class PostgresTelling:
    """What is done within a transaction, whoever's it is."""

    def __init__(self, *, clock: Clock, randomness: Randomness, wake: Wake) -> None:
        self._clock = clock
        self._randomness = randomness
        self._wake = wake

    async def _lock(
        self, conn: Session, thread_id: str, *, by: str | None, and_head_of: str | None = None
    ) -> LockedThread:
        """Lock the thread and its people's heads, for one of them (or the backend: None).

        An outsider is told before anything is locked, with the one query that a missing thread
        costs. Who may act is looked at again afterwards: it can have changed while this waited.
        """
        if by is not None:
            await self._member(conn, by, thread_id)
        row = await conn.fetchrow(sql.LOCK_THREAD, thread_id)
        if row is None:
            raise ThreadNotFound
        if and_head_of is None:
            await conn.execute(sql.LOCK_HEADS_OF_THREAD, thread_id)
        else:
            people = await conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, and_head_of)
            await conn.execute(sql.LOCK_HEADS, [*(r["user_id"] for r in people), and_head_of])
        return LockedThread(row["kind"], row["locked"], row["group_id"], row["leg_id"])

    async def _member(self, conn: Session, user_id: str, thread_id: str) -> Record:
        row = await conn.fetchrow(sql.MEMBER, user_id, thread_id)
        if row is None:
            raise ThreadNotFound
        return row

    async def _load(self, conn: Session, viewer: str | None, thread_id: str) -> Thread:
        if viewer is None:
            row = await conn.fetchrow(sql.THREAD_FOR_BACKEND, thread_id)
        else:
            row = await conn.fetchrow(sql.THREADS, viewer, [thread_id])
        if row is None:
            raise ThreadNotFound
        return thread_from(row, with_inbox=viewer is not None)

    async def _load_message(
        self, conn: Session, viewer: str, thread_id: str, message_id: str
    ) -> Message:
        row = await conn.fetchrow(sql.MESSAGE, viewer, thread_id, message_id)
        if row is None:
            raise NotFound
        return message_from(row)

    async def _tell(
        self,
        conn: Session,
        users: Sequence[str],
        event: EventType,
        thread_id: str,
        message_id: str | None = None,
        *,
        actor: str | None,
        at_ms: int | None = None,
    ) -> None:
        at_ms = self._clock() if at_ms is None else at_ms
        _told.get().update(users)
        await conn.execute(sql.FEED, users, event, thread_id, message_id, actor, at_ms)

    async def _tell_all(self, conn: Session, thread_id: str, actor: str | None) -> None:
        people = await conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, actor)
        viewers = [row["user_id"] for row in people if row["sees_thread"]]
        await self._tell(conn, viewers, EventType.THREAD_CHANGED, thread_id, actor=actor)

    async def _tell_viewers(
        self, conn: Session, event: EventType, message: Message, actor: str
    ) -> list[str]:
        rows = await conn.fetch(sql.VIEWERS_OF_MESSAGE, message.thread_id, message.id)
        viewers = [row["user_id"] for row in rows]
        await self._tell(conn, viewers, event, message.thread_id, message.id, actor=actor)
        return viewers

    async def _say(
        self, conn: Session, actor: str | None, thread_id: str, code: str, **params: Any
    ) -> None:
        system = msgspec.json.encode({"code": code, "params": params}).decode()
        viewers = await system_message(
            conn, thread_id, actor, system, self._clock(), self._randomness
        )
        _told.get().update(viewers)

    async def _append(self, conn: Session, send: Send) -> Message:
        appended = await append_in(conn, send, self._clock(), self._randomness)
        _told.get().update(appended.viewers)
        return appended.message

    async def _publish(
        self,
        conn: Session,
        event: str,
        actor: str | None,
        thread_id: str,
        data: dict[str, Any] | None = None,
        *,
        message_id: str | None = None,
    ) -> None:
        encoded = None if data is None else msgspec.json.encode(data).decode()
        await conn.execute(sql.OUTBOX, event, self._clock(), actor, thread_id, message_id, encoded)

    async def _promote(
        self, conn: Session, thread_id: str, group_id: str | None, leg_id: str | None
    ) -> bool:
        """Says whether it was none of this booking's before."""
        locked = await self._lock(conn, thread_id, by=None)
        if locked.kind not in (ThreadKind.INQUIRY, ThreadKind.INVITE):
            if (locked.kind, locked.group_id, locked.leg_id) != ("project", group_id, leg_id):
                raise ActionInvalidState("Only an inquiry or invite becomes a project, once.")
            return False
        await conn.execute(sql.PROMOTE_THREAD, thread_id, group_id, leg_id, self._clock())
        await self._tell_all(conn, thread_id, None)
        booking = {"group_id": group_id, "leg_id": leg_id}
        await self._say(conn, None, thread_id, "thread.promoted", **booking)
        await self._publish(conn, "thread.promoted_to_project", None, thread_id, booking)
        return True


class PostgresChanges(PostgresTelling):
    def __init__(self, pool: Pool, *, clock: Clock, randomness: Randomness, wake: Wake) -> None:
        super().__init__(clock=clock, randomness=randomness, wake=wake)
        self._pool = pool

    @unavailable_on_failure()
    async def _change(self, change: Callable[[Session], Awaitable[T]]) -> T:
        with noting_told() as told:
            async with self._pool.acquire() as conn, conn.transaction():
                outcome = await change(conn)
        self._wake(told)
        return outcome

    async def _change_once(
        self, change: Callable[[Session], Awaitable[T]], once: Once | None
    ) -> T | Kept:
        """A change, and under a `Once` its kept answer, in one transaction."""
        if once is None:
            return await self._change(change)
        return await self._change(lambda conn: self._keep(conn, change, once))

    async def _keep(
        self, conn: Session, change: Callable[[Session], Awaitable[T]], once: Once
    ) -> T | Kept:
        kept = await claim(conn, once, self._clock())
        if kept is not None:
            return kept
        outcome = await change(conn)
        await keep(conn, once, once.answer(outcome))
        return outcome

    @unavailable_on_failure()
    async def recall(self, once: Once) -> Kept | None:
        return await recall(self._pool, once)

    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        async def change(conn: Session) -> Kept:
            kept = await claim(conn, once, self._clock())
            if kept is not None:
                return kept
            await keep(conn, once, refusal)
            return refusal

        return await self._change(change)
