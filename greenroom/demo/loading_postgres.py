"""Loads the sample into PostgreSQL."""

from datetime import date, datetime

from greenroom.demo.accounts import put_crowd, wait_for_disk
from greenroom.demo.bulk_postgres import TABLES, copy_crowd
from greenroom.demo.crowd import Bulk, Crowd, user_id
from greenroom.demo.cues import said_cues
from greenroom.demo.loading import Begun, Contents
from greenroom.demo.progress import Progress
from greenroom.platform.postgres.pool import Session

MESSAGE_TIME = "select created_at from message where sender_user = $1 and client_id = $2"
THREAD_OF = "select thread_id from message where sender_user = $1 and client_id = $2"
SET_CITY = "update thread set city = $2 where thread_id = $1"
HAS_FEED = "select 1 from feed_head where user_id = $1"
# A thread's last_seq is its number of messages, which is quicker than counting a million rows.
COUNTS = "select count(*) as threads, coalesce(sum(last_seq), 0)::bigint as messages from thread"


class PostgresLoading:
    def __init__(self, conn: Session) -> None:
        self.accounts = conn
        self._conn = conn

    async def begin(self, seed: int, today: date) -> Begun:
        """If the first message exists, a sample was begun; if the last one does, it is complete."""
        said = said_cues(seed, today)
        first, last = said[0], said[-1]
        if await self._message_time(last.step.who, last.client_id) is not None:
            return Begun(seed, today, is_whole=True)
        begun_ms = await self._message_time(first.step.who, first.client_id)
        if begun_ms is None:
            return Begun(seed, today, is_whole=False)
        begun = datetime.fromtimestamp(begun_ms / 1000, first.scene.zone).date()
        last_day = date.fromordinal(begun.toordinal() - first.step.day)
        return Begun(seed, last_day, is_whole=False)

    async def _message_time(self, author: str | None, client_id: str) -> int | None:
        at_ms: int | None = await self._conn.fetchval(MESSAGE_TIME, author, client_id)
        return at_ms

    async def set_city(self, thread_id: str, city: str, at_ms: int) -> None:  # noqa: ARG002
        await self._conn.execute(SET_CITY, thread_id, city)

    async def finish(self, now_ms: int) -> None:  # noqa: ARG002
        await wait_for_disk(self._conn)

    async def load_bulk(self, bulk: Bulk, now_ms: int) -> bool:
        if await self._conn.fetchval(HAS_FEED, user_id(bulk.seed, 0)):
            return False
        crowd = Crowd(bulk, now_ms)
        async with self._conn.transaction():
            await put_crowd(self._conn, crowd.people())
            await copy_crowd(self._conn, crowd, Progress(bulk.messages, "messages"))
        for table in ("app_user", *TABLES):
            await self._conn.execute(f"vacuum (analyze) {table}")
        return True

    async def thread_of(self, author: str, client_id: str) -> str | None:
        thread_id: str | None = await self._conn.fetchval(THREAD_OF, author, client_id)
        return thread_id

    async def count(self) -> Contents:
        [row] = await self._conn.fetch(COUNTS)
        return Contents(row["threads"], row["messages"])
