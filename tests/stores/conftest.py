"""The adapters that the contract holds for, and what every test of it needs."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.people import Profile
from greenroom.conversations.postgres.decisions import PostgresDecisions
from greenroom.conversations.postgres.feeds import PINNED_PLANS
from greenroom.conversations.postgres.store import PostgresConversations
from greenroom.conversations.postgres.transactions import Wake
from greenroom.conversations.store import ConversationStore
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.postgres.pool import new_pool
from tests.support.seeds import chosen_seed

from .faults import FaultRig
from .mischief import dynamodb_mischief, postgres_mischief
from .world import ROOMY, Disturb, OpenStore, Seed, WildClock, names, seeded_randomness


def nobody(_user_ids: Iterable[str]) -> None:
    """Nobody follows a feed here."""


def postgres_adapter(url: str) -> OpenStore:
    @asynccontextmanager
    async def open_store(
        *, clock: Clock, randomness: Randomness, limits: Limits = ROOMY, wake: Wake = nobody
    ) -> AsyncIterator[ConversationStore]:
        async def pool(connections: int, settings: Mapping[str, str] | None = None) -> Any:
            return await new_pool(
                url,
                min_size=1,
                max_size=connections,
                statement_timeout_ms=limits.statement_timeout_ms,
                settings=settings,
            )

        store = PostgresConversations(
            await pool(limits.read_connections),
            await pool(limits.send_connections),
            await pool(limits.feed_connections, PINNED_PLANS),
            await pool(limits.ack_connections),
            clock=clock,
            randomness=randomness,
            limits=limits,
            wake=wake,
        )
        try:
            yield store
        finally:
            await store.close()

    return open_store


def dynamodb_adapter(access: Access, table_name: str, ledger_url: str) -> OpenStore:
    @asynccontextmanager
    async def open_store(
        *, clock: Clock, randomness: Randomness, limits: Limits = ROOMY, wake: Wake = nobody
    ) -> AsyncIterator[ConversationStore]:
        pool = await new_pool(
            ledger_url, min_size=0, max_size=2, statement_timeout_ms=limits.statement_timeout_ms
        )
        store = DynamoConversations(
            Table(open_client(access), table_name, Meter()),
            nameless,
            PostgresDecisions(pool, clock=clock, randomness=randomness),
            clock=clock,
            randomness=randomness,
            limits=limits,
            wake=wake,
        )
        try:
            yield store
        finally:
            await store.close()
            await pool.close()

    return open_store


async def nameless(_user_ids: Sequence[str]) -> dict[str, Profile]:
    """Nobody here has told anyone their name."""
    return {}


@pytest.fixture(scope="module")
def open_store(request: pytest.FixtureRequest, conversations: str) -> OpenStore:
    url: str = request.getfixturevalue("database_url")
    if conversations == "postgres":
        return postgres_adapter(url)
    access = request.getfixturevalue("dynamodb_access")
    return dynamodb_adapter(access, request.getfixturevalue("dynamodb_table"), url)


@pytest.fixture
def disturb(request: pytest.FixtureRequest, conversations: str) -> Disturb:
    if conversations == "postgres":
        return postgres_mischief(request.getfixturevalue("database_url"))
    access = request.getfixturevalue("dynamodb_access")
    return dynamodb_mischief(access, request.getfixturevalue("dynamodb_table"))


@pytest.fixture
def clock() -> WildClock:
    return WildClock()


@pytest.fixture
async def store(open_store: OpenStore, clock: WildClock, seed: Seed) -> AsyncIterator[Any]:
    randomness = seeded_randomness(seed.random.randrange(1 << 40))
    async with open_store(clock=clock, randomness=randomness) as opened:
        yield opened


@pytest.fixture
async def rig(
    dynamodb_access: Access, dynamodb_table: str, pool: asyncpg.Pool, clock: WildClock, seed: Seed
) -> AsyncIterator[FaultRig]:
    """Where a test puts what it wants between the DynamoDB store and the database."""
    randomness = seeded_randomness(seed.random.randrange(1 << 40))
    opened = FaultRig(dynamodb_access, dynamodb_table, pool, clock=clock, randomness=randomness)
    yield opened
    await opened.close()


@pytest.fixture
def person() -> Callable[[], str]:
    """Someone whom no other test knows."""
    ids = names("p")
    return lambda: next(ids)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> Seed:
    """Printed with a failure, as pytest shows what a failed test wrote."""
    chosen = Seed(chosen_seed(request.node.nodeid))
    print(f"replay with {chosen}")
    return chosen
