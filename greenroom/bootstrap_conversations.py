"""The composition root of conversations: the store with the adapters of its database, PostgreSQL or
DynamoDB."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from greenroom.accounts.postgres.store import PostgresAccountStore
from greenroom.bookings.standing import standings_of
from greenroom.conversations.dynamodb.changes.history import DynamoHistory
from greenroom.conversations.dynamodb.changes.thread_updates import DynamoThreadUpdates
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.dynamodb.upkeep.adapter import DynamoUpkeep
from greenroom.conversations.history_store import HistoryStore
from greenroom.conversations.people import Profile
from greenroom.conversations.postgres.decisions import PostgresDecisions
from greenroom.conversations.postgres.feeds import PINNED_PLANS
from greenroom.conversations.postgres.history import PostgresHistory
from greenroom.conversations.postgres.store import PostgresConversations
from greenroom.conversations.postgres.thread_updates import PostgresThreadUpdates
from greenroom.conversations.postgres.upkeep.adapter import PostgresUpkeep
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.thread_updates import ThreadUpdates
from greenroom.conversations.upkeep import ConversationUpkeep
from greenroom.events.collector import HandsOver
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.platform.dynamodb.expiry import Expiry
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.embedded.dynamodb.shared import EMBEDDED
from greenroom.platform.postgres.pool import new_pool
from greenroom.presence.dynamodb.store import DynamoPresence
from greenroom.presence.postgres.store import PostgresPresence
from greenroom.presence.store import PresenceStore
from greenroom.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """What both conversation stores are built from."""

    settings: Settings
    database_url: str
    pool: asyncpg.Pool
    clock: Clock
    randomness: Randomness
    wake: Callable[[Iterable[str]], None]


@dataclass(frozen=True, slots=True)
class KeptConversations:
    """The conversation store and the other adapters that use the same database."""

    store: ConversationStore
    upkeep: ConversationUpkeep
    presence: PresenceStore
    thread_updates: ThreadUpdates
    pools: Sequence[asyncpg.Pool]
    prepare: Callable[[], Awaitable[None]]
    history: HistoryStore
    expiry: Expiry | None = None
    """Deletes expired items, for engines that do not do so themselves."""
    hands_over: HandsOver | None = None
    """The store again, where domain events are not in PostgreSQL's outbox."""


def on_postgres(parts: Parts) -> KeptConversations:
    limits = parts.settings.limits

    def pool(connections: int, more: Mapping[str, str] | None = None) -> asyncpg.Pool:
        return pool_of(parts.settings, parts.database_url, connections, more)

    send_pool, ack_pool = pool(limits.send_connections), pool(limits.ack_connections)
    feed_pool = pool(limits.feed_connections, PINNED_PLANS)
    store = PostgresConversations(
        *(parts.pool, send_pool, feed_pool, ack_pool),
        clock=parts.clock,
        randomness=parts.randomness,
        limits=limits,
        wake=parts.wake,
    )
    thread_updates = PostgresThreadUpdates(
        clock=parts.clock, randomness=parts.randomness, wake=parts.wake
    )
    upkeep = PostgresUpkeep(
        *(parts.pool, standings_of, thread_updates),
        clock=parts.clock,
        randomness=parts.randomness,
        limits=limits,
        wake=parts.wake,
    )

    async def prepare() -> None:
        """Nothing to do: migrations have made the tables."""

    pools = (parts.pool, send_pool, feed_pool, ack_pool)
    presence = PostgresPresence(feed_pool, limits=limits)
    history = PostgresHistory(
        parts.pool, clock=parts.clock, randomness=parts.randomness, limits=limits
    )
    return KeptConversations(store, upkeep, presence, thread_updates, pools, prepare, history)


def on_dynamodb(parts: Parts, people: PostgresAccountStore) -> KeptConversations:
    # Imported here, because it needs the optional packages of the extra `dynamodb`.
    from greenroom.platform.embedded.dynamodb.opening import open_client, running_access  # noqa: PLC0415

    settings, limits = parts.settings, parts.settings.limits
    place = (settings.home, settings.dynamodb_endpoint, settings.dynamodb_region)
    client = open_client(running_access(*place))
    table = Table(client, settings.dynamodb_table, Meter())

    async def profiles(user_ids: Sequence[str]) -> Mapping[str, Profile]:
        return {
            user.user_id: Profile(user.display_name, user.avatar_url)
            for user in await people.find_users(user_ids)
        }

    async def prepare() -> None:
        if settings.dynamodb_endpoint == EMBEDDED:
            await create_table(client, settings.dynamodb_table)
        await table.ping()

    ledger = PostgresDecisions(parts.pool, clock=parts.clock, randomness=parts.randomness)
    store = DynamoConversations(
        table,
        profiles,
        ledger,
        clock=parts.clock,
        randomness=parts.randomness,
        limits=limits,
        wake=parts.wake,
    )
    upkeep = DynamoUpkeep(*store.parts)
    presence = DynamoPresence(table, limits=limits)
    thread_updates = DynamoThreadUpdates(store.parts[0], store.decisions, ledger)
    is_embedded = settings.dynamodb_endpoint == EMBEDDED
    expiry = Expiry(table, clock=parts.clock) if is_embedded else None
    return KeptConversations(
        store,
        upkeep,
        presence,
        thread_updates,
        (parts.pool,),
        prepare,
        DynamoHistory(*store.parts),
        expiry,
        store,
    )


def pool_of(
    settings: Settings, url: str, connections: int, more: Mapping[str, str] | None = None
) -> asyncpg.Pool:
    return new_pool(
        url,
        min_size=1,
        max_size=connections,
        statement_timeout_ms=settings.limits.statement_timeout_ms,
        settings=more,
    )
