"""Pools of connections to PostgreSQL, and the errors that callers get when one is lost."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from greenroom.kernel.errors import Unavailable, Unreadable
from greenroom.platform.postgres.connecting import explained

CONNECT_TIMEOUT_S = 10

Session = PoolConnectionProxy
"""A connection on loan from a pool."""

_YEAR_2000_US = 946_684_800_000_000

# Failures that end by themselves: the server is away, starting, full or a standby, or it has ended
# a deadlock. OSError includes TimeoutError.
PASSING_FAILURES = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    # A connection that heard of the server's end while it was idle.
    asyncpg.InternalClientError,
)

# A stored value that PostgreSQL cannot turn into a number, such as an infinite time.
_UNREADABLE_FAILURES = (
    asyncpg.FeatureNotSupportedError,
    asyncpg.NumericValueOutOfRangeError,
    asyncpg.DatetimeFieldOverflowError,
)


@asynccontextmanager
async def unavailable_on_failure() -> AsyncIterator[None]:
    """Turns a failure that ends by itself into `Unavailable`, and one at a stored value into
    `Unreadable`. Works as a decorator too.

    asyncpg raises InterfaceError both for a closed connection and for a malformed address. The
    latter is a ValueError too, and goes through: waiting does not help.
    """
    try:
        yield
    except PASSING_FAILURES as failure:
        if isinstance(failure, ValueError):
            raise
        raise Unavailable("The database does not answer just now.") from failure
    except _UNREADABLE_FAILURES as failure:
        raise Unreadable from failure


@asynccontextmanager
async def snapshot(pool: asyncpg.Pool) -> AsyncIterator[Session]:
    """A connection on which everything is read as of one moment. Use it for whatever is shown
    together: two statements outside of it can contradict each other."""
    async with (
        unavailable_on_failure(),
        pool.acquire() as conn,
        conn.transaction(isolation="repeatable_read", readonly=True),
    ):
        yield conn


async def open_pool(
    url: str, *, min_size: int, max_size: int, statement_timeout_ms: int
) -> asyncpg.Pool:
    """Raises UnreachableError."""
    async with explained(url):
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
    """A pool that connects when it is awaited. `settings` are settings of PostgreSQL."""
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
    """Times are whole milliseconds in the code and timestamptz in the database."""
    await connection.set_type_codec(
        "timestamptz",
        schema="pg_catalog",
        encoder=lambda at_ms: (at_ms * 1000 - _YEAR_2000_US,),
        decoder=lambda moment: (moment[0] + _YEAR_2000_US) // 1000,
        format="tuple",
    )


async def _leave_as_is(connection: asyncpg.Connection) -> None:
    """No code here changes a session, so the usual reset would only cost a round trip."""
