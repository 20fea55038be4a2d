"""Connections to PostgreSQL, and what a lost one looks like to a caller."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from greenroom.kernel.errors import Unavailable

CONNECT_TIMEOUT_S = 10

Session = PoolConnectionProxy
"""A connection on loan from a pool."""

_YEAR_2000_US = 946_684_800_000_000

# What passes by itself: the server is away, starting, full, switched over, or it broke a deadlock.
# OSError includes TimeoutError.
PASSING_FAILURES = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    # A connection that was told of the server's end while it was idle.
    asyncpg.InternalClientError,
)


@asynccontextmanager
async def unavailable_on_failure() -> AsyncIterator[None]:
    """Turns a failure that passes into `Unavailable`; also works as a decorator.

    asyncpg's InterfaceError says both "this connection is closed" and "this address is wrong"; the
    latter is a ValueError as well and goes through, because no waiting mends it.
    """
    try:
        yield
    except PASSING_FAILURES as failure:
        if isinstance(failure, ValueError):
            raise
        raise Unavailable("The database does not answer just now.") from failure


@unavailable_on_failure()
async def open_pool(
    url: str, *, min_size: int, max_size: int, statement_timeout_ms: int
) -> asyncpg.Pool:
    return await new_pool(
        url, min_size=min_size, max_size=max_size, statement_timeout_ms=statement_timeout_ms
    )


def new_pool(
    url: str,
    *,
    min_size: int,
    max_size: int,
    statement_timeout_ms: int,
    settings: Mapping[str, str] | None = None,
) -> asyncpg.Pool:
    """A pool that connects when it is awaited; `settings` are PostgreSQL's own."""
    return asyncpg.create_pool(
        url,
        min_size=min_size,
        max_size=max_size,
        timeout=CONNECT_TIMEOUT_S,
        server_settings={
            "application_name": "greenroom",
            "TimeZone": "UTC",
            "statement_timeout": str(statement_timeout_ms),
            **(settings or {}),
        },
        init=_use_milliseconds,
        reset=_leave_as_is,
    )


async def _use_milliseconds(connection: asyncpg.Connection) -> None:
    """Times are whole milliseconds everywhere in the code; here they meet timestamptz."""
    await connection.set_type_codec(
        "timestamptz",
        schema="pg_catalog",
        encoder=lambda at_ms: (at_ms * 1000 - _YEAR_2000_US,),
        decoder=lambda moment: (moment[0] + _YEAR_2000_US) // 1000,
        format="tuple",
    )


async def _leave_as_is(connection: asyncpg.Connection) -> None:
    """Nobody changes a session here, so the usual reset would be a round trip for nothing."""
