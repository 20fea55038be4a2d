"""A change to conversations while it is being made: locks, messages, feed events, domain events.

The order of locks is the same everywhere: the idempotency key, the thread, then the feed heads of
the people concerned, sorted. What a change checks, it checks after the locks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec
from asyncpg import Record

from greenroom.conversations.model import BookingRef, EventType, Message, Thread
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.append import Repeat, append_notice, append_one
from greenroom.conversations.postgres.rows import message_from, thread_from
from greenroom.conversations.store import Send
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import IdempotencyMismatch, NotFound, ThreadNotFound
from greenroom.kernel.ids import Randomness
from greenroom.platform.postgres.pool import Session

SET_MESSAGE_JOB = "update message set job_id = $3 where thread_id = $1 and message_id = $2"


class LockedThread(NamedTuple):
    kind: str
    is_locked: bool
    booking: BookingRef
    stage: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction, and what every change does within it. Whoever owns the transaction wakes
    the people in `told` after the commit."""

    conn: Session
    clock: Clock
    randomness: Randomness
    told: set[str] = field(default_factory=set)
    """Whose feeds have grown in this transaction."""

    async def lock(
        self, thread_id: str, *, by: str | None, and_head_of: str | None = None
    ) -> LockedThread:
        """Lock the thread and the feed heads of its people, for one of them (None: the backend).

        Somebody outside the thread is refused before anything is locked, by the same query that a
        missing thread costs. Membership is checked again after the lock by those who need it: it
        can have changed while this waited.
        """
        if by is not None:
            await self.member(by, thread_id)
        row = await self.conn.fetchrow(sql.LOCK_THREAD, thread_id)
        if row is None:
            raise ThreadNotFound
        if and_head_of is None:
            await self.conn.execute(sql.LOCK_HEADS_OF_THREAD, thread_id)
        else:
            people = await self.conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, and_head_of)
            await self.lock_heads([*(row["user_id"] for row in people), and_head_of])
        booking = BookingRef(row["group_id"], row["leg_id"])
        return LockedThread(row["kind"], row["locked"], booking, row["stage"])

    async def lock_heads(self, users: Sequence[str]) -> None:
        await self.conn.execute(sql.LOCK_HEADS, users)

    async def add_heads(self, users: Sequence[str]) -> None:
        """Before any lock: a head that is not there cannot be locked."""
        await self.conn.execute(sql.ADD_HEADS, users)

    async def member(self, user_id: str, thread_id: str) -> Record:
        row = await self.conn.fetchrow(sql.MEMBER, user_id, thread_id)
        if row is None:
            raise ThreadNotFound
        return row

    async def load(self, viewer: str | None, thread_id: str) -> Thread:
        """The thread as this viewer sees it by now (None: the backend)."""
        if viewer is None:
            row = await self.conn.fetchrow(sql.THREAD_FOR_BACKEND, thread_id)
        else:
            row = await self.conn.fetchrow(sql.THREADS, viewer, [thread_id])
        if row is None:
            raise ThreadNotFound
        return thread_from(row, with_inbox=viewer is not None)

    async def find_message(self, viewer: str, thread_id: str, message_id: str) -> Message | None:
        row = await self.conn.fetchrow(sql.MESSAGE, viewer, thread_id, message_id)
        return None if row is None else message_from(row)

    async def load_message(self, viewer: str, thread_id: str, message_id: str) -> Message:
        message = await self.find_message(viewer, thread_id, message_id)
        if message is None:
            raise NotFound("There is no such message in this thread.")
        return message

    async def append(self, send: Send) -> Message:
        """Append a message that the caller knows to be new; a repeat raises IdempotencyMismatch."""
        appended = await self.append_or_find(send)
        if isinstance(appended, Repeat):
            raise IdempotencyMismatch
        return appended

    async def append_or_find(self, send: Send) -> Message | Repeat:
        appended = await append_one(self.conn, send, self.clock(), self.randomness)
        if isinstance(appended, Repeat):
            return appended
        self.told.update(appended.viewers)
        message = appended.message
        if send.job_id is None:
            return message
        await self.conn.execute(SET_MESSAGE_JOB, send.thread_id, message.id, send.job_id)
        return replace(message, job_id=send.job_id)

    async def say(self, actor: str | None, thread_id: str, code: str, **params: Any) -> None:
        """Append a notice of the server itself."""
        system = {"code": code, "params": params}
        appended = await append_notice(
            self.conn, thread_id, actor, system, self.clock(), self.randomness
        )
        self.told.update(appended.viewers)

    async def tell(
        self,
        users: Sequence[str],
        event: str,
        thread_id: str | None,
        message_id: str | None = None,
        *,
        actor: str | None,
        at_ms: int | None = None,
        file_id: str | None = None,
    ) -> None:
        """Write one event to the feeds of these people, whose heads are locked."""
        at_ms = self.clock() if at_ms is None else at_ms
        self.told.update(users)
        await self.conn.execute(
            sql.FEED, users, event, thread_id, message_id, actor, at_ms, file_id
        )

    async def tell_all(self, thread_id: str, actor: str | None) -> None:
        """Tell everyone who sees the thread that it has changed."""
        people = await self.conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, actor)
        viewers = [row["user_id"] for row in people if row["sees_thread"]]
        await self.tell(viewers, EventType.THREAD_CHANGED, thread_id, actor=actor)

    async def tell_viewers(self, event: EventType, message: Message, actor: str) -> list[str]:
        """Tell everyone who sees the message; returns them."""
        rows = await self.conn.fetch(sql.VIEWERS_OF_MESSAGE, message.thread_id, message.id)
        viewers = [row["user_id"] for row in rows]
        await self.tell(viewers, event, message.thread_id, message.id, actor=actor)
        return viewers

    async def publish(
        self,
        event: str,
        actor: str | None,
        thread_id: str,
        data: dict[str, Any] | None = None,
        *,
        message_id: str | None = None,
    ) -> None:
        """Write a domain event to the outbox."""
        encoded = None if data is None else msgspec.json.encode(data).decode()
        await self.conn.execute(
            sql.OUTBOX, event, self.clock(), actor, thread_id, message_id, encoded
        )
