"""Feeds of many people at once: what open connections read, and what clients acknowledge.

One statement reads for everyone whose feed has grown since the last look, and one transaction
writes for everyone whose clients have acknowledged something. A round trip per person would cost
more than the work itself.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from asyncpg import Pool, Record

from greenroom.conversations.model import Cursor, Event, EventType, Thread
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.rows import event_from, head_of, thread_from
from greenroom.conversations.postgres.transactions import Wake
from greenroom.conversations.store import Changes, FeedPosition
from greenroom.kernel.clock import Clock
from greenroom.kernel.limits import Limits
from greenroom.platform.batching import Batching
from greenroom.platform.postgres.pool import Session, unavailable_on_failure

# How far the feeds of several people have come.
HEADS = """
select h.user_id, h.last_n, (select epoch from feed_epoch) as epoch
from feed_head h where h.user_id = any ($1::text[])
"""
EPOCH = "select epoch from feed_epoch"
# See db/functions/acknowledge.sql.
ACKNOWLEDGE = "select * from acknowledge($1, $2, $3, $4, $5)"

# Settings of the connections that read feeds. They allow index look-ups only: the planner does not
# know that a batch is small beside the tables.
PINNED_PLANS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}


class Acknowledgement(NamedTuple):
    viewer: str
    up_to: Cursor


class PostgresFeeds:
    def __init__(
        self, pool: Pool, ack_pool: Pool, *, clock: Clock, limits: Limits, wake: Wake
    ) -> None:
        self._pool = pool
        # Apart, because an acknowledgement waits for the disk, and readers must not.
        self._ack_pool = ack_pool
        self._clock = clock
        self._limits = limits
        self._wake = wake
        self._epoch = ""
        self._acks: Batching[Acknowledgement, int | None] = Batching(
            self._acknowledge,
            _viewer_of,
            writers=limits.ack_connections,
            batch_limit=limits.ack_batch,
            queue_limit=limits.ack_queue,
        )

    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        [changes] = await self.changes_of_many([FeedPosition(viewer, since)], limit)
        return changes

    @unavailable_on_failure()
    async def changes_of_many(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        async with self._pool.acquire() as conn:
            return await _read_changes(conn, positions, limit, self._clock())

    @unavailable_on_failure()
    async def heads(self, viewers: Sequence[str]) -> dict[str, Cursor]:
        rows = await self._pool.fetch(HEADS, viewers)
        return {row["user_id"]: head_of(row) for row in rows}

    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        """In several steps if there is much, so that none holds its locks for long."""
        reached: int | None = 0
        while reached is not None and reached < up_to.n:
            reached = await self._acks.submit(Acknowledgement(viewer, up_to))

    @unavailable_on_failure()
    async def _acknowledge(self, acks: Sequence[Acknowledgement]) -> Sequence[int | None]:
        """How far each has come; None for those who had come that far before, and for cursors of
        another epoch or beyond the head."""
        async with self._ack_pool.acquire() as conn:
            if any(ack.up_to.epoch != self._epoch for ack in acks):
                self._epoch = await conn.fetchval(EPOCH)
            known = [ack for ack in acks if ack.up_to.epoch == self._epoch]
            rows = await conn.fetch(
                ACKNOWLEDGE,
                self._clock(),
                [ack.viewer for ack in known],
                [ack.up_to.n for ack in known],
                self._limits.ack_span,
                self._limits.delivery_shown_participants,
            )
        self._wake([row["user_id"] for row in rows if row["is_told"]])
        reached = {row["user_id"]: row["acked_n"] for row in rows if not row["is_told"]}
        return [reached.get(ack.viewer) for ack in acks]

    async def close(self) -> None:
        await self._acks.drain()
        await self._ack_pool.close()
        await self._pool.close()


async def _read_changes(
    conn: Session, positions: Sequence[FeedPosition], limit: int, now_ms: int
) -> list[Changes]:
    viewers = [each.viewer for each in positions]
    numbers = [each.since.n if each.since is not None else 0 for each in positions]
    rows = await conn.fetch(sql.CHANGES, viewers, numbers, limit + 1)
    threads = await _changed_threads(conn, viewers, rows)
    pages = groupby(rows, key=lambda row: row["place"])
    return [
        _changes_from(list(page), each.since, limit, threads.get(each.viewer, {}), now_ms)
        for each, (_, page) in zip(positions, pages, strict=True)
    ]


async def _changed_threads(
    conn: Session, viewers: Sequence[str], rows: Sequence[Record]
) -> dict[str, dict[str, Thread]]:
    """The threads of `thread.changed` events, by viewer: no other event carries its thread."""
    changed = {
        (viewers[row["place"] - 1], row["f_thread_id"])
        for row in rows
        if row["type"] == EventType.THREAD_CHANGED
    }
    threads: dict[str, dict[str, Thread]] = {}
    if changed:
        of_viewers, ids = zip(*sorted(changed), strict=True)
        for row in await conn.fetch(sql.THREADS_OF_MANY, of_viewers, ids):
            threads.setdefault(row["i_user_id"], {})[row["thread_id"]] = thread_from(row)
    return threads


def _changes_from(
    rows: Sequence[Record],
    since: Cursor | None,
    limit: int,
    threads: dict[str, Thread],
    now_ms: int,
) -> Changes:
    """From the rows of one viewer, of which there is at least one."""
    head = head_of(rows[0])
    acked = Cursor(head.epoch, rows[0]["acked_n"])
    if since is not None and not _is_kept(since, head, rows[0]["pruned_n"]):
        return Changes((Event(EventType.RESET, head, now_ms),), head, False, acked)
    page = [row for row in rows if row["n"] is not None][:limit]
    events = [event_from(row, head.epoch, threads) for row in page]
    return Changes(
        tuple(event for event in events if event is not None),
        Cursor(head.epoch, page[-1]["n"]) if page else since or head,
        len(rows) > limit,
        acked,
    )


def _is_kept(since: Cursor, head: Cursor, pruned_n: int) -> bool:
    return since.epoch == head.epoch and pruned_n <= since.n <= head.n


def _viewer_of(ack: Acknowledgement) -> Iterable[Hashable]:
    yield ack.viewer
