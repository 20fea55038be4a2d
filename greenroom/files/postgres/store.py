"""The store of files on PostgreSQL."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from asyncpg import Pool, Record

from greenroom.conversations.attachments import FileState, FileUse
from greenroom.conversations.model import Media
from greenroom.conversations.thread_updates import ThreadUpdates
from greenroom.files.model import File
from greenroom.files.postgres import sql
from greenroom.files.postgres.read_rows import ReadRows
from greenroom.files.postgres.rows import read_file, write_renditions
from greenroom.files.store import LookedAt, OperatorAct, Processed, Quotas, Sighting, Step
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ActionInvalidState, NotFound, RateLimited, ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.kept_answers import claim, keep, recall
from greenroom.platform.postgres.pool import Session, unavailable_on_failure
from greenroom.platform.postgres.rate_buckets import take_from
from greenroom.platform.tasks.table import enqueue

PROCESS = "file"
"""The kind of task that processes a file; its key is the file's id."""

HOUR = timedelta(hours=1)
HOUR_S = 3600
DAY_MS = 24 * 60 * 60 * 1000
MOST_PLACES = 20
"""Newer places of a file are looked at first; whoever sends it more often has others to see it."""


class PostgresFiles:
    """`FileStore` on the table `file` and those beside it."""

    def __init__(self, pool: Pool, threads: ThreadUpdates, *, clock: Clock, limits: Limits) -> None:
        self._read = ReadRows(limits.read_files)
        self._pool = pool
        self._threads = threads
        self._clock = clock

    @unavailable_on_failure()
    async def add(self, file: File, quotas: Quotas, once: Once | None = None) -> File | Kept:
        async with self._pool.acquire() as conn, conn.transaction():
            kept = None if once is None else await claim(conn, once, self._clock())
            if kept is not None:
                return kept
            await self._check_quotas(conn, file, quotas)
            [row] = await conn.fetch(
                sql.INSERT,
                file.id,
                file.thread_id,
                file.owner,
                file.purpose,
                file.name,
                file.mime,
                file.bytes,
                file.sha256,
                file.watermark,
                file.media,
                file.parts_handle,
                file.created_at_ms,
                file.width,
                file.height,
                file.duration_ms,
                file.peaks,
            )
            added = read_file(row)
            if once is not None:
                await keep(conn, once, once.answer(added))
            return added

    async def _check_quotas(self, conn: Session, file: File, quotas: Quotas) -> None:
        """The rate limit comes first: its row is locked until the commit, so that one person's
        uploads begin one after the other. The thread is locked by `access`."""
        now_ms = self._clock()
        await take_from(
            conn,
            f"uploads:{file.owner}",
            now_ms,
            count=quotas.uploads_per_hour,
            window=HOUR,
            detail=f"At most {quotas.uploads_per_hour} uploads per hour.",
        )
        [mine] = await conn.fetch(sql.OF_PERSON, file.owner, now_ms - DAY_MS)
        if mine["open"] >= quotas.open_uploads:
            raise RateLimited("Complete or cancel other uploads first.", retry_after_s=60)
        if mine["bytes"] + file.bytes > quotas.person_bytes_per_day:
            raise RateLimited(
                "This is more than one person may upload a day.", retry_after_s=HOUR_S
            )
        if file.thread_id is None:
            return
        await self._threads.access(conn, file.thread_id, file.owner, to_write=True)
        in_thread = await conn.fetchval(sql.BYTES_OF_THREAD, file.thread_id)
        if in_thread + file.bytes > quotas.thread_bytes:
            raise RateLimited("This thread has as many files as it may.", retry_after_s=HOUR_S)

    @unavailable_on_failure()
    async def recall(self, once: Once) -> Kept | None:
        return await recall(self._pool, once)

    @unavailable_on_failure()
    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        async with self._pool.acquire() as conn, conn.transaction():
            kept = await claim(conn, once, self._clock())
            if kept is None:
                await keep(conn, once, refusal)
            return kept or refusal

    @unavailable_on_failure()
    async def find(self, file_id: str) -> File | None:
        row = await self._pool.fetchrow(sql.FIND, file_id)
        return None if row is None else read_file(row)

    @unavailable_on_failure()
    async def find_many(self, file_ids: Sequence[str]) -> dict[str, File]:
        rows = await self._pool.fetch(sql.FIND_MANY, file_ids)
        return {row["file_id"]: read_file(row) for row in rows}

    @unavailable_on_failure()
    async def places(self, file_id: str) -> tuple[str, ...]:
        rows = await self._pool.fetch(sql.PLACES, file_id, MOST_PLACES)
        return tuple(row["place"] for row in rows)

    @unavailable_on_failure()
    async def look(self, viewer: str | None, uses: Sequence[FileUse]) -> list[LookedAt]:
        known = [(use, self._read.find(use)) for use in uses]
        found = [each for _, each in known if each is not None]
        others = [use for use, each in known if each is None]
        return [*found, *await self._look(viewer, others)] if others else found

    async def _look(self, viewer: str | None, uses: Sequence[FileUse]) -> list[LookedAt]:
        ids, places = [use.file_id for use in uses], [use.message_id for use in uses]
        found = []
        for row in await self._pool.fetch(sql.LOOK, ids, places, viewer):
            file = read_file(row)
            self._read.keep(file, row["version"])
            found.append(LookedAt(file, row["place"], row["is_revealed"], row["is_known"]))
        return found

    @unavailable_on_failure()
    async def note_uses(self, uses: Sequence[FileUse]) -> None:
        ids, threads = [use.file_id for use in uses], [use.thread_id for use in uses]
        places, now_ms = [use.message_id for use in uses], self._clock()
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(sql.NOTE_USES, ids, threads, places, now_ms)
            for row in await conn.fetch(sql.BIND, ids, threads):
                if row["state"] == "processing":
                    await enqueue(conn, PROCESS, row["file_id"], due_ms=now_ms)

    @unavailable_on_failure()
    async def sight(self, viewer: str, file_id: str) -> Sighting | None:
        row = await self._pool.fetchrow(sql.SIGHT, file_id, viewer, MOST_PLACES)
        return None if row is None else _sighting(row)

    @unavailable_on_failure()
    async def sees_thread(self, viewer: str, thread_id: str) -> bool:
        async with self._pool.acquire() as conn:
            try:
                await self._threads.access_without_lock(conn, thread_id, viewer)
            except ThreadNotFound:
                return False
            return True

    @unavailable_on_failure()
    async def list_thread(
        self,
        viewer: str,
        thread_id: str,
        media: Media | None,
        *,
        before: str | None,
        limit: int,
    ) -> tuple[Sighting, ...]:
        of = (thread_id, viewer, MOST_PLACES)
        rows = await self._pool.fetch(sql.LIST_THREAD, *of, media, before, limit)
        return tuple(map(_sighting, rows))

    @unavailable_on_failure()
    async def complete(self, file_id: str, sha256: str | None) -> File | None:
        now_ms = self._clock()
        async with self._pool.acquire() as conn, conn.transaction():
            row = await conn.fetchrow(sql.COMPLETE, file_id, now_ms, sha256)
            if row is not None and row["thread_id"] is not None:
                await enqueue(conn, PROCESS, file_id, due_ms=now_ms)
            row = row or await conn.fetchrow(sql.FIND, file_id)
        return None if row is None else read_file(row)

    @unavailable_on_failure()
    async def set_alt(self, file_id: str, alt: str | None) -> File | None:
        row = await self._pool.fetchrow(sql.SET_ALT, file_id, alt)
        return None if row is None else read_file(row)

    @unavailable_on_failure()
    async def reveal(self, file_id: str, viewer: str) -> None:
        await self._pool.execute(sql.REVEAL, file_id, viewer, self._clock())

    @unavailable_on_failure()
    async def finish(self, file_id: str, processed: Processed, steps: Sequence[Step]) -> bool:
        async with self._pool.acquire() as conn, conn.transaction():
            done = await conn.fetchval(
                sql.FINISH,
                file_id,
                processed.state,
                processed.reason,
                processed.media,
                processed.sha256,
                processed.content_mime,
                processed.width,
                processed.height,
                processed.duration_ms,
                processed.peaks,
                processed.band,
                processed.band_source,
                write_renditions(processed.renditions),
                self._clock(),
            )
            if done:
                await self._note_steps(conn, file_id, steps)
        return bool(done)

    @unavailable_on_failure()
    async def note_steps(self, file_id: str, steps: Sequence[Step]) -> None:
        async with self._pool.acquire() as conn:
            await self._note_steps(conn, file_id, steps)

    async def _note_steps(self, conn: Session, file_id: str, steps: Sequence[Step]) -> None:
        # Once per step: a statement may not change a row twice.
        last = {each.step: each for each in steps}.values()
        columns = ([getattr(each, name) for each in last] for name in Step.__slots__)
        await conn.execute(sql.NOTE_STEPS, file_id, *columns, self._clock())

    @unavailable_on_failure()
    async def note_told(self, file_id: str) -> None:
        await self._pool.execute(sql.NOTE_TOLD, file_id, self._clock())

    @unavailable_on_failure()
    async def expire(self, file_id: str) -> bool:
        return bool(await self._pool.fetchval(sql.EXPIRE, file_id, self._clock()))

    @unavailable_on_failure()
    async def operate(
        self, file_id: str, act: OperatorAct, once: Once | None = None
    ) -> File | Kept:
        async with self._pool.acquire() as conn, conn.transaction():
            kept = None if once is None else await claim(conn, once, self._clock())
            if kept is not None:
                return kept
            done = await self._operate(conn, file_id, act)
            if once is not None:
                await keep(conn, once, once.answer(done))
            return done

    async def _operate(self, conn: Session, file_id: str, act: OperatorAct) -> File:
        now_ms = self._clock()
        row = await conn.fetchrow(sql.LOCK, file_id)
        if row is None:
            raise NotFound
        if not _may(act, row["state"]):
            raise ActionInvalidState(f"The file is {row['state']}.")
        await conn.execute(
            sql.AUDIT, file_id, act.actor, act.role, act.act, act.reason, row["state"], now_ms
        )
        if act.act == "delete":
            await conn.execute(sql.EXPIRE, file_id, now_ms)
            return replace(read_file(row), state="expired")
        [released] = await conn.fetch(sql.RELEASE, file_id)
        await enqueue(conn, PROCESS, file_id, {"released": True}, due_ms=now_ms)
        return read_file(released)

    async def abandoned(self, before_ms: int, limit: int) -> tuple[File, ...]:
        return await self._files(sql.ABANDONED, before_ms, limit)

    async def unsent(self, after: str, before_ms: int, limit: int) -> tuple[File, ...]:
        return await self._files(sql.UNSENT, after, _id_at(before_ms), limit)

    async def between(self, after: str, before_ms: int, limit: int) -> tuple[File, ...]:
        return await self._files(sql.BETWEEN, after, _id_at(before_ms), limit)

    async def untold(self, before_ms: int, limit: int) -> tuple[File, ...]:
        return await self._files(sql.UNTOLD, before_ms, limit)

    async def of_owner(self, owner: str, *, after: str, limit: int) -> tuple[File, ...]:
        return await self._files(sql.OF_OWNER, owner, after, limit)

    @unavailable_on_failure()
    async def _files(self, query: str, *arguments: object) -> tuple[File, ...]:
        return tuple(map(read_file, await self._pool.fetch(query, *arguments)))

    @unavailable_on_failure()
    async def forget(self, deleted_before_ms: int, created_before_ms: int, limit: int) -> int:
        created_before = _id_at(created_before_ms)
        done = await self._pool.execute(sql.FORGET, deleted_before_ms, created_before, limit)
        return int(done.rpartition(" ")[2])

    @unavailable_on_failure()
    async def erase_texts(self, user_id: str) -> None:
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(sql.ERASE_TEXTS, user_id)
            await conn.execute(sql.ERASE_GRANTS, user_id)

    @unavailable_on_failure()
    async def is_time(self, name: str, every_s: int) -> bool:
        window = timedelta(seconds=every_s)
        async with self._pool.acquire() as conn:
            try:
                await take_from(
                    conn, f"round:{name}", self._clock(), count=1, window=window, detail=name
                )
            except RateLimited:
                return False
        return True

    async def list_state(
        self, state: FileState, *, after: str | None, limit: int
    ) -> tuple[File, ...]:
        return await self._files(sql.LIST_STATE, state, after, limit)


def _sighting(row: Record) -> Sighting:
    return Sighting(read_file(row), tuple(row["places"]), row["is_revealed"])


def _id_at(at_ms: int) -> str:
    """Smaller than the ids of all files from then on, and larger than those before."""
    return f"fil_{max(0, at_ms):012x}"


def _may(act: OperatorAct, state: FileState) -> bool:
    return state == "quarantined" if act.act == "release" else state != "expired"
