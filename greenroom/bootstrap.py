"""The composition root: the only place that knows which adapter stands behind which port."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import asyncpg

from greenroom import __version__
from greenroom.accounts.actions import Accounts
from greenroom.accounts.rest import AccountsRest
from greenroom.accounts.store_postgres import PostgresAccountStore
from greenroom.bookings.events import DeliverContract
from greenroom.cards.catalogue import load_catalogue
from greenroom.contract import Contract
from greenroom.conversations.decisions_postgres import PostgresDecisions
from greenroom.conversations.feeds_postgres import PINNED_PLANS
from greenroom.conversations.pairs import PairConversations
from greenroom.conversations.people import Profile
from greenroom.conversations.postings import Postings
from greenroom.conversations.postings_dynamodb import DynamoPostings
from greenroom.conversations.postings_postgres import PostgresPostings
from greenroom.conversations.rest import ConversationsRest
from greenroom.conversations.rest_inbox import InboxRest
from greenroom.conversations.simple import SimpleRest
from greenroom.conversations.store import ConversationStore, Deliver, DomainEvent
from greenroom.conversations.store_dynamodb import DynamoConversations
from greenroom.conversations.store_postgres import PostgresConversations
from greenroom.conversations.upkeep import ConversationUpkeep
from greenroom.conversations.upkeep_dynamodb import DynamoUpkeep
from greenroom.conversations.upkeep_postgres import PostgresUpkeep
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.ids import Randomness, system_randomness
from greenroom.maintenance import Maintenance
from greenroom.platform.auth import TokenVerifier, check_secret, load_or_create_secret
from greenroom.platform.bus import Bus, LonelyBus
from greenroom.platform.bus_postgres import PostgresBus
from greenroom.platform.dynamodb.embedded import EMBEDDED, EmbeddedDynamoDb
from greenroom.platform.dynamodb.expiry import Expiry
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.embedded_postgres import EmbeddedPostgres
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.http.openapi import openapi_document
from greenroom.platform.http.problems import known_problems
from greenroom.platform.http.standard import standard_endpoints
from greenroom.platform.postgres import new_pool, unavailable_on_failure
from greenroom.presence.actions import Presence
from greenroom.presence.rest import PresenceRest
from greenroom.presence.store import PresenceStore
from greenroom.presence.store_dynamodb import DynamoPresence
from greenroom.presence.store_postgres import PostgresPresence
from greenroom.realtime.actions import Realtime
from greenroom.realtime.asyncapi import asyncapi_endpoint
from greenroom.realtime.rest import RealtimeRest
from greenroom.realtime.ws import RealtimeSockets
from greenroom.settings import Settings
from greenroom.webapp.files import BUILT, read_files
from greenroom.webapp.rest import WebAppRest

TITLE = "Greenroom"
LEAST_LEDGER_CONNECTIONS = 4
"""The worker keeps one to listen on and one while it leads: with fewer, all would wait for ever."""


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The URL of the configured database. Embedded engines run while this is open."""
    with ExitStack() as stack:
        if settings.conversations == "dynamodb" and settings.dynamodb_endpoint == EMBEDDED:
            stack.enter_context(EmbeddedDynamoDb(settings.home).using())
        url = settings.database_url
        yield url or stack.enter_context(EmbeddedPostgres(settings.home).using())


class Rooms:
    """Everything that runs, put together. Opens and closes with `async with`."""

    def __init__(
        self,
        settings: Settings,
        database_url: str,
        *,
        clock: Clock = system_clock,
        randomness: Randomness = system_randomness,
        listeners: Sequence[Deliver] = (),
        contract_listeners: Sequence[DeliverContract] = (),
    ) -> None:
        """`listeners` are told of all that happens in threads, and `contract_listeners` of all that
        happens to contracts, at least once and in order each."""
        limits = settings.limits
        self.settings = settings
        self.clock = clock
        self._listeners = listeners
        self.bus: Bus = _bus(settings, database_url)

        def wake(user_ids: Iterable[str]) -> None:
            self.bus.publish("feed", user_ids)

        pool = _pool(settings, database_url, limits.read_connections)
        people = PostgresAccountStore(pool)
        has_listeners = bool(listeners)
        parts = Parts(settings, database_url, pool, clock, randomness, wake, has_listeners)
        if settings.conversations == "dynamodb":
            kept = _on_dynamodb(parts, people)
        else:
            kept = _on_postgres(parts)
        self._kept = kept
        self.postings = kept.postings
        connections = max(limits.ledger_connections, LEAST_LEDGER_CONNECTIONS)
        self._ledger_pool = _pool(settings, database_url, connections)
        self.contract = Contract(
            settings,
            self._ledger_pool,
            load_catalogue(settings.cards),
            kept.postings,
            kept.store,
            people,
            clock=clock,
            randomness=randomness,
            listeners=contract_listeners,
        )
        self.accounts = Accounts(
            people,
            token_verifier(settings, clock),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )
        self.store: ConversationStore = kept.store
        self.upkeep: ConversationUpkeep = kept.upkeep
        self.presence = Presence(kept.presence, self.bus, clock=clock, limits=limits)
        self.conversations = PairConversations(
            self.store,
            self.accounts,
            self.presence,
            clock=clock,
            randomness=randomness,
            limits=limits,
            require_job=settings.require_job,
            show_card=self.contract.cards.renderer.render,
        )
        self.realtime = Realtime(
            *(self.store, self.conversations, self.presence, self.accounts, self.bus),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )

    async def __aenter__(self) -> Self:
        async with unavailable_on_failure():
            for pool in (*self._kept.pools, self._ledger_pool):
                await pool
        await self._kept.prepare()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.contract.close()
        await self.store.close()
        for pool in (*self._kept.pools, self._ledger_pool):
            await pool.close()

    async def prune(self) -> dict[str, int]:
        """One round of forgetting what is past its keeping time."""
        return {
            **await self.store.prune(),
            **await self.upkeep.prune_messages(),
            **await self.presence.prune(),
            "ticket": await self.accounts.prune_tickets(),
            "expired": await self._expire(),
        }

    async def _expire(self) -> int:
        expiry, limit = self._kept.expiry, self.settings.limits.maintenance_batch
        return 0 if expiry is None else await expiry.delete_expired(limit)

    async def settle(self) -> dict[str, int]:
        """Finish what a process that is gone has left half done, and hand domain events on."""
        settled = await self.store.settle()
        if self._listeners:
            await self.store.hand_over(self._tell_listeners)
        return {"unsettled": settled}

    async def _tell_listeners(self, events: Sequence[DomainEvent]) -> None:
        for deliver in self._listeners:
            await deliver(events)

    def endpoints(self, extra: Sequence[Endpoint] = ()) -> list[Endpoint]:
        """The calls, and the pages of the web app, which are no part of the reference."""
        return [*self.calls(extra), *WebAppRest(read_files(BUILT)).endpoints()]

    def calls(self, extra: Sequence[Endpoint] = ()) -> list[Endpoint]:
        limits = self.settings.limits
        ours = [
            *ConversationsRest(self.conversations, clock=self.clock, limits=limits).endpoints(),
            *InboxRest(self.conversations, clock=self.clock, limits=limits).endpoints(),
            *RealtimeRest(self.realtime).endpoints(),
            asyncapi_endpoint(title=TITLE, version=__version__),
            *PresenceRest(self.presence).endpoints(),
            *SimpleRest(self.conversations).endpoints(),
            *AccountsRest(self.accounts).endpoints(),
            *self.contract.endpoints(self.conversations),
            *extra,
        ]
        standard = standard_endpoints(ours, ready=self.store.ping, title=TITLE, version=__version__)
        return [*ours, *standard]


@dataclass(frozen=True, slots=True)
class Parts:
    """What every way of keeping conversations is put together from."""

    settings: Settings
    database_url: str
    pool: asyncpg.Pool
    clock: Clock
    randomness: Randomness
    wake: Callable[[Iterable[str]], None]
    has_listeners: bool


@dataclass(frozen=True, slots=True)
class KeptConversations:
    """Conversations and all that lies beside them in the same place."""

    store: ConversationStore
    upkeep: ConversationUpkeep
    presence: PresenceStore
    postings: Postings
    pools: Sequence[asyncpg.Pool]
    prepare: Callable[[], Awaitable[None]]
    expiry: Expiry | None = None
    """Deletes what is past its time, where the engine itself does not."""


def _on_postgres(parts: Parts) -> KeptConversations:
    limits = parts.settings.limits

    def pool(connections: int, more: Mapping[str, str] | None = None) -> asyncpg.Pool:
        return _pool(parts.settings, parts.database_url, connections, more)

    send_pool, ack_pool = pool(limits.send_connections), pool(limits.ack_connections)
    feed_pool = pool(limits.feed_connections, PINNED_PLANS)
    store = PostgresConversations(
        *(parts.pool, send_pool, feed_pool, ack_pool),
        clock=parts.clock,
        randomness=parts.randomness,
        limits=limits,
        wake=parts.wake,
    )
    upkeep = PostgresUpkeep(
        parts.pool,
        clock=parts.clock,
        randomness=parts.randomness,
        limits=limits,
        wake=parts.wake,
    )

    async def prepare() -> None:
        """Migrations have made the tables."""

    pools = (parts.pool, send_pool, feed_pool, ack_pool)
    presence = PostgresPresence(feed_pool, limits=limits)
    postings = PostgresPostings(clock=parts.clock, randomness=parts.randomness, wake=parts.wake)
    return KeptConversations(store, upkeep, presence, postings, pools, prepare)


def _on_dynamodb(parts: Parts, people: PostgresAccountStore) -> KeptConversations:
    # Here, because the packages behind it are an extra that others do without.
    from greenroom.platform.dynamodb.opening import open_client, running_access  # noqa: PLC0415

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
        has_listeners=parts.has_listeners,
    )
    upkeep = DynamoUpkeep(*store.parts)
    presence = DynamoPresence(table, limits=limits)
    postings = DynamoPostings(store.parts[0], store.decisions, ledger)
    is_embedded = settings.dynamodb_endpoint == EMBEDDED
    expiry = Expiry(table, clock=parts.clock) if is_embedded else None
    return KeptConversations(store, upkeep, presence, postings, (parts.pool,), prepare, expiry)


def _pool(
    settings: Settings, url: str, connections: int, more: Mapping[str, str] | None = None
) -> asyncpg.Pool:
    return new_pool(
        url,
        min_size=1,
        max_size=connections,
        statement_timeout_ms=settings.limits.statement_timeout_ms,
        settings=more,
    )


def _bus(settings: Settings, database_url: str) -> Bus:
    if settings.nats_url is not None:
        # With its client comes half a second of imports, which every command would wait for.
        from greenroom.platform.bus_nats import NatsBus  # noqa: PLC0415

        return NatsBus(settings.nats_url, queue_limit=settings.limits.bus_queue)
    if settings.conversations == "dynamodb":
        # A message passes PostgreSQL by, and so do hints of it.
        return LonelyBus()
    return PostgresBus(database_url, queue_limit=settings.limits.bus_queue)


def token_verifier(settings: Settings, clock: Clock) -> TokenVerifier:
    return TokenVerifier(
        # With published keys alone there is no shared secret, and none is made.
        secret=jwt_secret(settings) if settings.jwt_secret or not settings.jwks_url else None,
        jwks_url=settings.jwks_url,
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
        clock=clock,
        cache_size=settings.limits.verified_tokens,
    )


def jwt_secret(settings: Settings) -> bytes:
    if settings.jwt_secret is not None:
        secret = settings.jwt_secret.encode()
        check_secret(secret)
        return secret
    settings.home.mkdir(parents=True, exist_ok=True)
    return load_or_create_secret(settings.home / "jwt-secret")


def openapi(rooms: Rooms, extra: Sequence[Endpoint] = ()) -> dict[str, Any]:
    """The reference, as `GET /openapi.json` answers it. Nothing needs to be open for it."""
    return openapi_document(
        rooms.calls(extra), title=TITLE, version=__version__, problems=known_problems()
    )


def http_app(rooms: Rooms, extra: Sequence[Endpoint] = ()) -> HttpApp:
    """The server's app: rooms and maintenance run while it does; `extra` calls beside theirs."""
    limits = rooms.settings.limits
    maintenance = Maintenance(rooms.prune, interval_s=limits.maintenance_interval_s)
    settling = Maintenance(rooms.settle, interval_s=limits.settle_interval_s)

    async def startup() -> None:
        await rooms.__aenter__()
        await rooms.realtime.start()
        maintenance.start()
        settling.start()
        if rooms.settings.worker:
            rooms.contract.worker.start()

    async def shutdown() -> None:
        if rooms.settings.worker:
            await rooms.contract.worker.stop()
        await settling.stop()
        await maintenance.stop()
        await rooms.realtime.stop()
        await rooms.__aexit__()

    return HttpApp(
        rooms.endpoints(extra),
        authenticate=rooms.accounts.authenticate,
        redeem=rooms.accounts.redeem_ticket,
        sockets=RealtimeSockets(rooms.realtime).endpoints(),
        on_drain=rooms.realtime.streams.end_all,
        limits=limits,
        allowed_origins=rooms.settings.allowed_origins,
        startup=startup,
        shutdown=shutdown,
        clock=rooms.clock,
        access_log=rooms.settings.access_log,
    )
