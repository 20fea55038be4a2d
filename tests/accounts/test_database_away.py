"""A database that cannot be reached is `UNAVAILABLE`; a programming error is not."""

import socket

import asyncpg
import pytest

from greenroom.kernel.errors import Unavailable, UserNotFound
from greenroom.platform.postgres.connecting import UnreachableError
from greenroom.platform.postgres.pool import open_pool, unavailable_on_failure


async def test_nobody_listens() -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        url = f"postgresql://nobody@127.0.0.1:{unheard.getsockname()[1]}/none"
        with pytest.raises(UnreachableError):
            await open_pool(url, min_size=1, max_size=1, statement_timeout_ms=1000)


async def test_a_session_that_the_server_ends(database_url: str) -> None:
    pool = await open_pool(database_url, min_size=1, max_size=2, statement_timeout_ms=1000)
    async with pool.acquire() as connection:
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        await pool.execute("SELECT pg_terminate_backend($1, 1000)", pid)
        with pytest.raises(Unavailable):
            async with unavailable_on_failure():
                await connection.fetchval("SELECT 1")
    async with unavailable_on_failure():
        assert await pool.fetchval("SELECT 1") == 1
    await pool.close()
    with pytest.raises(Unavailable):
        async with unavailable_on_failure():
            await pool.fetchval("SELECT 1")


async def test_a_statement_that_takes_too_long(database_url: str) -> None:
    pool = await open_pool(database_url, min_size=1, max_size=1, statement_timeout_ms=20)
    with pytest.raises(Unavailable):
        async with unavailable_on_failure():
            await pool.execute("SELECT pg_sleep(60)")
    await pool.close()


async def test_mistakes_and_other_problems_go_through(pool: asyncpg.Pool) -> None:
    with pytest.raises(asyncpg.PostgresSyntaxError):
        async with unavailable_on_failure():
            await pool.execute("SELEKT")
    with pytest.raises(asyncpg.DataError):
        async with unavailable_on_failure():
            await pool.fetchval("SELECT $1::int", "not a number")
    with pytest.raises(ValueError, match="scheme"):
        await open_pool("mysql://here", min_size=1, max_size=1, statement_timeout_ms=1000)
    with pytest.raises(UserNotFound):
        async with unavailable_on_failure():
            raise UserNotFound


async def test_sessions_speak_utc_under_our_name(pool: asyncpg.Pool) -> None:
    assert await pool.fetchval("SHOW TimeZone") == "UTC"
    assert await pool.fetchval("SHOW application_name") == "greenroom"
    assert await pool.fetchval("SHOW statement_timeout") == "15s"
