"""The composition root: the only place that knows which adapter stands behind which port."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import asyncpg

from greenroom import __version__
from greenroom.accounts.actions import Accounts
from greenroom.accounts.rest import AccountsRest
from greenroom.accounts.store_postgres import PostgresAccountStore
from greenroom.conversations.actions import Conversations
from greenroom.conversations.rest import ConversationsRest
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.store_postgres import PostgresConversations
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.ids import Randomness, system_randomness
from greenroom.maintenance import Maintenance
from greenroom.platform.auth import TokenVerifier, check_secret, load_or_create_secret
from greenroom.platform.embedded_postgres import EmbeddedPostgres
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.http.standard import standard_endpoints
from greenroom.platform.postgres import new_pool, unavailable_on_failure
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
        self.accounts = Accounts(
            PostgresAccountStore(self._pool),
            token_verifier(settings, clock),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )
        self.store: ConversationStore = PostgresConversations(
            self._pool, self._send_pool, clock=clock, randomness=randomness, limits=limits
        )
        self.conversations = Conversations(
            self.store, self.accounts, clock=clock, randomness=randomness, limits=limits
        )

    async def __aenter__(self) -> Self:
        async with unavailable_on_failure():
            await self._pool
            await self._send_pool
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    def endpoints(self) -> list[Endpoint]:
        ours = [
            *ConversationsRest(
                self.conversations, clock=self.clock, limits=self.settings.limits
            ).endpoints(),
            *AccountsRest(self.accounts).endpoints(),
        ]
        standard = standard_endpoints(
            ours, ready=self.store.ping, title="Greenroom", version=__version__
        )
        return [*ours, *standard]


def _pool(settings: Settings, url: str, connections: int) -> asyncpg.Pool:
    return new_pool(
        url,
        min_size=1,
        max_size=connections,
        statement_timeout_ms=settings.limits.statement_timeout_ms,
    )


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


def http_app(rooms: Rooms) -> HttpApp:
    """The server's app: rooms and maintenance run while it does."""
    limits = rooms.settings.limits
    maintenance = Maintenance(rooms.store.prune, interval_s=limits.maintenance_interval_s)

    async def startup() -> None:
        await rooms.__aenter__()
        maintenance.start()

    async def shutdown() -> None:
        await maintenance.stop()
        await rooms.__aexit__()

    return HttpApp(
        rooms.endpoints(),
        authenticate=rooms.accounts.authenticate,
        limits=limits,
        allowed_origins=rooms.settings.allowed_origins,
        startup=startup,
        shutdown=shutdown,
        clock=rooms.clock,
        access_log=rooms.settings.access_log,
    )
