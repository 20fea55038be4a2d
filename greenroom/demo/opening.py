"""Opens the configured store for loading a sample."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from greenroom.demo.loading import Loading
from greenroom.demo.loading_dynamodb import DynamoLoading
from greenroom.demo.loading_postgres import PostgresLoading
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.embedded.dynamodb.shared import EMBEDDED
from greenroom.platform.postgres.pool import Session, open_pool
from greenroom.settings import Settings

LOADING_LOCK = 7235922


@asynccontextmanager
async def open_loading(settings: Settings, database_url: str) -> AsyncIterator[Loading]:
    pool = await open_pool(database_url, min_size=1, max_size=1, statement_timeout_ms=0)
    try:
        async with pool.acquire() as conn:
            if settings.conversations == "dynamodb":
                async with _open_table(settings) as table:
                    yield DynamoLoading(conn, table, is_aws=settings.dynamodb_endpoint is None)
            else:
                yield PostgresLoading(conn)
    finally:
        await pool.close()


@asynccontextmanager
async def _open_table(settings: Settings) -> AsyncIterator[Table]:
    # Imported here, because it needs the optional packages of the extra `dynamodb`.
    from greenroom.platform.embedded.dynamodb.opening import open_client, running_access  # noqa: PLC0415

    place = (settings.home, settings.dynamodb_endpoint, settings.dynamodb_region)
    client = open_client(running_access(*place))
    try:
        if settings.dynamodb_endpoint == EMBEDDED:
            await create_table(client, settings.dynamodb_table)
        yield Table(client, settings.dynamodb_table, Meter())
    finally:
        await client.close()


@asynccontextmanager
async def loading_alone(conn: Session) -> AsyncIterator[None]:
    """An advisory lock: one load at a time."""
    await conn.execute("select pg_advisory_lock($1)", LOADING_LOCK)
    try:
        yield
    finally:
        await conn.execute("select pg_advisory_unlock($1)", LOADING_LOCK)
