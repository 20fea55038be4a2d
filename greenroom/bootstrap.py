"""The composition root: the only place that knows which adapter stands behind which port."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

import asyncpg

from greenroom import __version__
from greenroom.accounts.actions import Accounts
from greenroom.accounts.rest import AccountsRest
from greenroom.accounts.store_postgres import PostgresAccountStore
from greenroom.conversations.feeds_postgres import PINNED_PLANS
from greenroom.conversations.pairs import PairConversations
from greenroom.conversations.rest import ConversationsRest
from greenroom.conversations.rest_inbox import InboxRest
from greenroom.conversations.simple import SimpleRest
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.store_postgres import PostgresConversations
from greenroom.conversations.upkeep import ConversationUpkeep
from greenroom.conversations.upkeep_postgres import PostgresUpkeep
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.ids import Randomness, system_randomness
from greenroom.maintenance import Maintenance
from greenroom.platform.auth import TokenVerifier, check_secret, load_or_create_secret
from greenroom.platform.bus import Bus
from greenroom.platform.bus_nats import NatsBus
from greenroom.platform.bus_postgres import PostgresBus
from greenroom.platform.embedded_postgres import EmbeddedPostgres
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.http.standard import standard_endpoints
from greenroom.platform.postgres import new_pool, unavailable_on_failure
from greenroom.presence.actions import Presence
from greenroom.presence.rest import PresenceRest
from greenroom.presence.store_postgres import PostgresPresence
from greenroom.realtime.actions import Realtime
from greenroom.realtime.asyncapi import asyncapi_endpoint
from greenroom.realtime.rest import RealtimeRest
from greenroom.realtime.ws import RealtimeSockets
from greenroom.settings import Settings


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The URL of the configured database; the embedded one runs while this is open."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with EmbeddedPostgres(settings.home).using() as url:
        yield url


class Rooms:
    """Everything that runs, put together. Opens and closes with `async with`."""

    def __init__(
        self,
        settings: Settings,
        database_url: str,
        *,
        clock: Clock = system_clock,
        randomness: Randomness = system_randomness,
    ) -> None:
        limits = settings.limits
        self.settings = settings
        self.clock = clock
        self._pool = _pool(settings, database_url, limits.read_connections)
        self._send_pool = _pool(settings, database_url, limits.send_connections)
        self._feed_pool = _pool(settings, database_url, limits.feed_connections, PINNED_PLANS)
        self._ack_pool = _pool(settings, database_url, limits.ack_connections)
        self.bus: Bus = _bus(settings, database_url)

        def wake(user_ids: Iterable[str]) -> None:
            self.bus.publish("feed", user_ids)

        self.accounts = Accounts(
            PostgresAccountStore(self._pool),
            token_verifier(settings, clock),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )
        self.store: ConversationStore = PostgresConversations(
            *(self._pool, self._send_pool, self._feed_pool, self._ack_pool),
            clock=clock,
            randomness=randomness,
            limits=limits,
            wake=wake,
        )
        self.upkeep: ConversationUpkeep = PostgresUpkeep(
            self._pool, clock=clock, randomness=randomness, limits=limits, wake=wake
        )
        self.presence = Presence(
            PostgresPresence(self._feed_pool, limits=limits), self.bus, clock=clock, limits=limits
        )
        self.conversations = PairConversations(
            self.store,
            self.accounts,
            self.presence,
            clock=clock,
            randomness=randomness,
            limits=limits,
            require_job=settings.require_job,
        )
        self.realtime = Realtime(
            *(self.store, self.conversations, self.presence, self.accounts, self.bus),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )

    async def __aenter__(self) -> Self:
        async with unavailable_on_failure():
            for pool in (self._pool, self._send_pool, self._feed_pool, self._ack_pool):
                await pool
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def prune(self) -> dict[str, int]:
        """One round of forgetting what is past its keeping time."""
        return {
            **await self.store.prune(),
            **await self.upkeep.prune_messages(),
            **await self.presence.prune(),
            "ticket": await self.accounts.prune_tickets(),
        }

    def endpoints(self, extra: Sequence[Endpoint] = ()) -> list[Endpoint]:
        limits = self.settings.limits
        ours = [
            *ConversationsRest(self.conversations, clock=self.clock, limits=limits).endpoints(),
            *InboxRest(self.conversations, clock=self.clock, limits=limits).endpoints(),
            *RealtimeRest(self.realtime).endpoints(),
            asyncapi_endpoint(title="Greenroom", version=__version__),
            *PresenceRest(self.presence).endpoints(),
            *SimpleRest(self.conversations).endpoints(),
            *AccountsRest(self.accounts).endpoints(),
            *extra,
        ]
        standard = standard_endpoints(
            ours, ready=self.store.ping, title="Greenroom", version=__version__
        )
        return [*ours, *standard]


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
        return NatsBus(settings.nats_url, queue_limit=settings.limits.bus_queue)
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


def http_app(rooms: Rooms, extra: Sequence[Endpoint] = ()) -> HttpApp:
    """The server's app: rooms and maintenance run while it does; `extra` calls beside theirs."""
    limits = rooms.settings.limits
    maintenance = Maintenance(rooms.prune, interval_s=limits.maintenance_interval_s)

    async def startup() -> None:
        await rooms.__aenter__()
        await rooms.realtime.start()
        maintenance.start()

    async def shutdown() -> None:
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
