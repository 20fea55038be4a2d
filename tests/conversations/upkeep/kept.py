"""Where conversations are kept, looked at and broken by hand: whole tables, single values."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from greenroom.conversations.dynamodb.items.keys import entry_key, head_key, thread_key
from greenroom.conversations.dynamodb.items.rows import Packed, Row, row_from, row_item
from greenroom.conversations.dynamodb.reads.paging import id_of
from greenroom.conversations.dynamodb.upkeep.retention import PLACE
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.ids import id_time_ms
from greenroom.platform.dynamodb.table import EPOCH_KEY, Delete, Put, Table, Update
from greenroom.platform.dynamodb.values import Item

if TYPE_CHECKING:
    import asyncpg

    from greenroom.conversations.dynamodb.changes.threads import Threads

DAY_MS = 24 * 60 * 60 * 1000


class Kept(Protocol):
    """One person's thread is meant where none is named: they have no other."""

    after_a_lost_head: tuple[str, ...]
    """What someone hears whose feed lost its head, once that is mended."""

    async def everything(self) -> str:
        """As text, to look for words in, or for any change."""
        ...

    async def words(self) -> str:
        """What messages say and have said."""
        ...

    async def rows(self) -> list[Any]:
        """What all inbox rows say."""
        ...

    async def of_person(self, user_id: str) -> int:
        """How many rows, feed entries and blocks of their own someone has."""
        ...

    async def plant(self, kind: str, user_id: str) -> None:
        """A fault of this kind."""
        ...

    async def set_unread(self, user_id: str, unread: int) -> None: ...

    async def set_seq(self, thread_id: str, seq: int) -> None:
        """Of all its messages."""
        ...

    async def lose_head(self, user_id: str) -> None: ...

    def while_others_prune(self) -> AbstractAsyncContextManager[None]: ...

    async def forget_all(self) -> None:
        """An empty world for a test that looks at the whole of it."""
        ...


POSTGRES_FAULTS = {
    "unread_count": "update inbox_index set unread_count = unread_count + 2 where user_id = $1",
    "file_messages": "update inbox_index set file_messages = file_messages + 1 where user_id = $1",
    "last_message": "update inbox_index set last_message_id = '' where user_id = $1",
    "last_activity": """update inbox_index set last_msg_ts = last_msg_ts - interval '1 hour'
        where user_id = $1""",
    "awaits_reply": "update inbox_index set awaits_reply = not awaits_reply where user_id = $1",
    "thread_kind": "update inbox_index set kind = 'dispute' where user_id = $1",
    "inbox_row_missing": "delete from inbox_index where user_id = $1",
    "inbox_row_stray": "update thread_participant set status = 'left' where user_id = $1",
    "last_seq": """update thread set last_seq = last_seq + 1
        where thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "last_msg_ts": """update thread set last_msg_ts = last_msg_ts + interval '1 day'
        where thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "muted_until": """update thread_participant set muted_until = '4000-01-01T00:00:00Z BC'
        where user_id = $1""",
    "feed": "delete from feed where user_id = $1 and n = 2",
    "seq": """update message set seq = seq + 10
        where seq > 2 and thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "created_at_id": """update message set created_at = created_at - interval '3 ms'
        where seq = 1 and thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "created_at_order": """update message set created_at = created_at + interval '5 days'
        where seq = 1 and thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "thread_missing": """delete from thread where thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
}


class PostgresKept:
    TABLES = (
        *("thread", "thread_participant", "message", "message_audit", "user_block"),
        *("inbox_index", "feed", "feed_head", "outbox", "idempotency_key", "listing_thread"),
        *("thread_key", "imported_message"),
    )
    after_a_lost_head: tuple[str, ...] = ("reset",)

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def everything(self) -> str:
        return await self._text(("app_user", *self.TABLES))

    async def words(self) -> str:
        return await self._text(("message", "message_audit"))

    async def _text(self, tables: Sequence[str]) -> str:
        found = []
        for table in tables:
            rows = await self._pool.fetch(f"select t::text as row from {table} t order by 1")  # noqa: S608
            found += [f"{table} {row['row']}" for row in rows]
        return "\n".join(found)

    async def rows(self) -> list[Any]:
        """All but the state of the send limit, which no message tells."""
        return list(
            await self._pool.fetch(
                "select user_id, thread_id, folder, kind, last_msg_ts, last_message_id, "
                "unread_count, pinned, starred, awaits_reply, needs_action, file_messages "
                "from inbox_index order by user_id"
            )
        )

    async def of_person(self, user_id: str) -> int:
        count: int = await self._pool.fetchval(
            "select (select count(*) from inbox_index where user_id = $1) + "
            "(select count(*) from feed where user_id = $1) + "
            "(select count(*) from user_block where blocker_user = $1) + "
            "(select count(*) from listing_thread where opener_user = $1)",
            user_id,
        )
        return count

    async def plant(self, kind: str, user_id: str) -> None:
        await self._pool.execute(POSTGRES_FAULTS[kind], user_id)

    async def set_unread(self, user_id: str, unread: int) -> None:
        query = "update inbox_index set unread_count = $2 where user_id = $1"
        await self._pool.execute(query, user_id, unread)

    async def set_seq(self, thread_id: str, seq: int) -> None:
        query = "update message set seq = $2 where thread_id = $1"
        await self._pool.execute(query, thread_id, seq)

    async def lose_head(self, user_id: str) -> None:
        await self._pool.execute("delete from feed_head where user_id = $1", user_id)

    @asynccontextmanager
    async def while_others_prune(self) -> AsyncIterator[None]:
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute("select pg_advisory_xact_lock(7235922)")
            yield

    async def forget_all(self) -> None:
        await self._pool.execute(f"truncate {', '.join(self.TABLES)}, rate_limit")


class DynamoKept:
    # Nothing is lost: it is as long as its entries say.
    after_a_lost_head: tuple[str, ...] = ()

    def __init__(self, table: Table, pool: asyncpg.Pool, threads: Threads) -> None:
        self.table = table
        self._pool = pool
        self._threads = threads

    async def items(self, prefix: str = "") -> list[Item]:
        """Those whose sort key begins like this, once nothing is under way."""
        await self._threads.projector.drain()
        found: list[Item] = []
        start: Item | None = None
        while True:
            page, start = await self.table.scan(start=start, limit=1000)
            found += [item for item in page if item["sk"].startswith(prefix)]
            if start is None:
                return sorted(found, key=lambda item: (item["pk"], item["sk"]))

    async def everything(self) -> str:
        people = await self._pool.fetch("select t::text as row from app_user t order by 1")
        lines = [row["row"] for row in people]
        for item in await self.items():
            shown = {name: _unpacked(name, value) for name, value in item.items()}
            lines.append(json.dumps(shown, sort_keys=True, default=repr))
        return "\n".join(lines)

    async def words(self) -> str:
        said = [*await self.items("MSG#"), *await self.items("AUD#")]
        return "\n".join(item["body"] for item in said)

    async def rows(self) -> list[Any]:
        rows = [row_from(item) for item in await self.items("PART#")]
        return [(row.user_id, row.packed) for row in rows if row.packed is not None]

    async def of_person(self, user_id: str) -> int:
        rows = [row for user, row in await self.rows() if user == user_id]
        entries = await self.table.query(f"FEED#{user_id}", prefix="E#")
        blocks = await self.table.query(f"BLK#{user_id}", prefix="OUT#")
        blocks += [item for item in await self.items("IN#") if item["sk"] == f"IN#{user_id}"]
        listings = await self.table.query(f"LST#{user_id}")
        return len(rows) + len(entries) + len(blocks) + len(listings)

    async def plant(self, kind: str, user_id: str) -> None:
        await getattr(self, f"_plant_{kind}")(user_id)

    async def _plant_unread_count(self, user_id: str) -> None:
        await self.change_row(user_id, unread=(await self.packed(user_id)).unread + 2)

    async def _plant_file_messages(self, user_id: str) -> None:
        count = (await self.packed(user_id)).file_messages
        await self.change_row(user_id, file_messages=count + 1)

    async def _plant_last_message(self, user_id: str) -> None:
        await self.change_row(user_id, last=None)

    async def _plant_last_activity(self, user_id: str) -> None:
        await self.change_row(user_id, activity_ms=1_700_000_000_000)

    async def _plant_awaits_reply(self, user_id: str) -> None:
        await self.change_row(user_id, awaits_reply=not (await self.packed(user_id)).awaits_reply)

    async def _plant_thread_kind(self, user_id: str) -> None:
        await self.change_row(user_id, kind="dispute")

    async def _plant_inbox_row_missing(self, user_id: str) -> None:
        row = await self.row(user_id)
        await self.table.write(Delete((f"THR#{row.thread_id}", f"PART#{user_id}")))

    async def _plant_inbox_row_stray(self, user_id: str) -> None:
        thread = await self.thread(user_id)
        member = {**thread["members"][user_id], "s": "left"}
        del member["k"]
        members = {**thread["members"], user_id: member}
        await self.table.write(Put({**thread, "members": members}))

    async def _plant_muted_until(self, user_id: str) -> None:
        await self.change_row(user_id, muted_until_ms=-(10**17))

    async def _plant_last_seq(self, user_id: str) -> None:
        thread = await self.thread(user_id)
        await self.table.write(Put({**thread, "lastSeq": thread["lastSeq"] + 1}))

    async def _plant_last_msg_ts(self, user_id: str) -> None:
        thread = await self.thread(user_id)
        await self.table.write(Put({**thread, "lastMessageAt": thread["lastMessageAt"] + DAY_MS}))

    async def _plant_feed(self, user_id: str) -> None:
        await self.table.write(Delete(entry_key(user_id, 2)))

    async def _plant_seq(self, user_id: str) -> None:
        for item in await self.messages(user_id):
            if item["seq"] > 2:
                await self.table.write(Put({**item, "seq": item["seq"] + 10}))

    async def _plant_created_at_id(self, user_id: str) -> None:
        await self._move_first(user_id, -3)

    async def _plant_created_at_order(self, user_id: str) -> None:
        await self._move_first(user_id, 5 * DAY_MS)

    async def _move_first(self, user_id: str, by_ms: int) -> None:
        first = (await self.messages(user_id))[0]
        at_ms = id_time_ms(id_of(first)) + by_ms
        await self.table.write(Delete((first["pk"], first["sk"])))
        await self.table.write(Put({**first, "sk": f"MSG#{rfc3339(at_ms)}#{id_of(first)}"}))

    async def _plant_thread_missing(self, user_id: str) -> None:
        await self.table.write(Delete(thread_key((await self.row(user_id)).thread_id)))

    async def row(self, user_id: str) -> Row:
        [row] = [row for row in map(row_from, await self.items("PART#")) if row.user_id == user_id]
        return row

    async def packed(self, user_id: str) -> Packed:
        packed = (await self.row(user_id)).packed
        assert packed is not None
        return packed

    async def change_row(self, user_id: str, **changes: Any) -> None:
        row = await self.row(user_id)
        packed = msgspec.structs.replace(await self.packed(user_id), **changes)
        await self.table.write(Put(row_item(msgspec.structs.replace(row, packed=packed))))

    async def thread(self, user_id: str) -> Item:
        found = await self.table.get(thread_key((await self.row(user_id)).thread_id))
        assert found is not None
        return found

    async def messages(self, user_id: str) -> list[Item]:
        thread_id = (await self.row(user_id)).thread_id
        return [item for item in await self.items("MSG#") if item["pk"] == f"THR#{thread_id}"]

    async def set_unread(self, user_id: str, unread: int) -> None:
        await self.change_row(user_id, unread=unread)

    async def set_seq(self, thread_id: str, seq: int) -> None:
        for item in await self.items("MSG#"):
            if item["pk"] == f"THR#{thread_id}":
                await self.table.write(Put({**item, "seq": seq}))

    async def lose_head(self, user_id: str) -> None:
        await self.table.write(Delete(head_key(user_id)))

    @asynccontextmanager
    async def while_others_prune(self) -> AsyncIterator[None]:
        names, values = {"#until": "until"}, {":until": self._threads.clock() + 60_000}
        await self.table.write(Update(PLACE, "SET #until = :until", values=values, names=names))
        yield
        await self.table.write(Delete(PLACE))

    async def forget_all(self) -> None:
        keys = [(item["pk"], item["sk"]) for item in await self.items()]
        await self.table.write_many([Delete(key) for key in keys if key != EPOCH_KEY])


def _unpacked(name: str, value: Any) -> Any:
    return zlib.decompress(value, -15) if name == "row" else value
