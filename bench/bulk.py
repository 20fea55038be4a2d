"""Loading generated messages into all tables, compared with a bare COPY of the message rows."""

import asyncio
import tempfile
import time
from pathlib import Path

import asyncpg

from bench.product import Product
from bench.report import Row, at_least, say
from greenroom.demo.bulk import load_bulk
from greenroom.demo.bulk_postgres import TABLES
from greenroom.demo.crowd import Bulk
from greenroom.platform.postgres.migrations import migrate
from greenroom.settings import load_settings

MESSAGES_PER_THREAD = 40


def bulk(server: Product, messages: int) -> Row:
    say(f"loading a sample of {messages:,} messages")
    full_s, bare_s = asyncio.run(_measure(server.database_url, messages))
    shown = f"{full_s:.1f} s for all tables, {bare_s:.1f} s for messages by COPY"
    return at_least(f"sample of {messages:,} / COPY", shown, bare_s / full_s, 0.3)


async def _measure(server_url: str, messages: int) -> tuple[float, float]:
    loaded = await _fresh_database(server_url, "bench_bulk")
    started = time.perf_counter()
    bulk = Bulk(1, messages, messages // MESSAGES_PER_THREAD)
    await load_bulk(load_settings({}), loaded, bulk)
    full_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "message.copy"
        await _write_messages(loaded, rows)
        return full_s, await _copy_messages(await _fresh_database(server_url, "bench_copy"), rows)


async def _fresh_database(server_url: str, name: str) -> str:
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f"create database {name}")
    finally:
        await connection.close()
    url = f"{server_url.rpartition('/')[0]}/{name}"
    await migrate(url)
    return url


async def _write_messages(url: str, rows: Path) -> None:
    columns = ", ".join(TABLES["message"])
    connection = await asyncpg.connect(url)
    try:
        query = f"select {columns} from message order by ctid"  # noqa: S608 (our own columns)
        await connection.copy_from_query(query, output=rows, format="binary")
    finally:
        await connection.close()


async def _copy_messages(url: str, rows: Path) -> float:
    connection = await asyncpg.connect(url)
    try:
        started = time.perf_counter()
        await connection.copy_to_table(
            "message", source=rows, columns=list(TABLES["message"]), format="binary"
        )
        return time.perf_counter() - started
    finally:
        await connection.close()
