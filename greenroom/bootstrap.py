"""The composition root: chooses the adapter of every port and wires the rooms together."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

from greenroom import __version__
from greenroom.accounts.actions import Accounts
from greenroom.accounts.postgres.store import PostgresAccountStore
from greenroom.accounts.rest import AccountsRest
from greenroom.bootstrap_contract import ContractRooms
from greenroom.bootstrap_conversations import Parts, on_dynamodb, on_postgres, pool_of
from greenroom.bootstrap_events import event_data, eventbridge_consumer
from greenroom.bootstrap_files import FileRooms
from greenroom.bootstrap_webhooks import UNFLUSHED, WebhookRooms
from greenroom.cards.catalogue.loading import load_catalogue
from greenroom.conversations.backend_actions import BackendConversations
from greenroom.conversations.history_store import HistoryStore
from greenroom.conversations.polling_api.actions import PairConversations
from greenroom.conversations.polling_api.rest import SimpleRest
from greenroom.conversations.postgres.feeds import PINNED_PLANS
from greenroom.conversations.rest.backend import BackendRest
from greenroom.conversations.rest.inbox import InboxRest
from greenroom.conversations.rest.threads import ConversationsRest
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.upkeep import ConversationUpkeep
from greenroom.events.collector import OUTBOX_TOPIC, Collector
from greenroom.events.log import EventLog
from greenroom.events.upkeep import EventUpkeep
from greenroom.files.media.process import MediaRunner
from greenroom.files.postgres.card_uses import PostgresCardFiles
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.ids import Randomness, system_randomness
from greenroom.maintenance import Maintenance, Round
from greenroom.platform.bus.port import Bus, LonelyBus
from greenroom.platform.bus.postgres import PostgresBus
from greenroom.platform.embedded.dynamodb.shared import EMBEDDED, EmbeddedDynamoDb
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.embedded.s3.opening import running_blobs
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.http.limits import limits_endpoint
from greenroom.platform.http.problems import known_problems
from greenroom.platform.http.reference.openapi import openapi_document
from greenroom.platform.http.standard import standard_endpoints
from greenroom.platform.postgres.connecting import explained
from greenroom.platform.tokens.verifying import TokenVerifier, check_secret, load_or_create_secret
from greenroom.presence.actions import Presence
from greenroom.presence.rest import PresenceRest
from greenroom.realtime.actions import Realtime
from greenroom.realtime.asyncapi import asyncapi_endpoint
from greenroom.realtime.rest import RealtimeRest
from greenroom.realtime.ws import RealtimeSockets
from greenroom.settings import Settings, server_url
from greenroom.webapp.files import BUILT, read_files
from greenroom.webapp.rest import WebAppRest

TITLE = "Greenroom"
LEAST_LEDGER_CONNECTIONS = 7
"""The worker keeps two connections to listen, one while it is the leader, one while it collects
events and one while it publishes them to EventBridge. With fewer connections than this, everything
else could wait for ever."""


@contextmanager
def database(settings: Settings) -> Iterator[str]:
    """The URL of the configured database. Starts embedded engines and keeps them running."""
    with ExitStack() as stack:
        if settings.conversations == "dynamodb" and settings.dynamodb_endpoint == EMBEDDED:
            stack.enter_context(EmbeddedDynamoDb(settings.home).using())
        stack.enter_context(_running_blobs(settings))
        url = settings.database_url
        yield url or stack.enter_context(EmbeddedPostgres(settings.home).using())


def _running_blobs(settings: Settings) -> AbstractContextManager[None]:
    origins = {*settings.allowed_origins, *_own_origins(settings)}
    return running_blobs(settings.home, settings.blob_place, settings.s3_endpoint, sorted(origins))


def _own_origins(settings: Settings) -> list[str]:
    """Where the server's own pages come from, which also upload to the embedded S3."""
    if settings.public_url is not None:
        parts = urlsplit(settings.public_url)
        return [f"{parts.scheme}://{parts.netloc}"]
    if settings.port == 0:
        # The port is known only when the server listens.
        return ["*"]
    own = server_url(settings, settings.port)
    return [own, own.replace("//127.0.0.1:", "//localhost:")]


class Rooms:
    """All rooms, wired together. Opened and closed by `async with`."""

    def __init__(
        self,
        settings: Settings,
        database_url: str,
        *,
        clock: Clock = system_clock,
        randomness: Randomness = system_randomness,
        media: MediaRunner | None = None,
    ) -> None:
        """`media` is there instead of the media process."""
        limits = settings.limits
        self.settings = settings
        self.clock = clock
        self._database_url = database_url
        self.bus: Bus = _bus(settings, database_url)

        def wake(user_ids: Iterable[str]) -> None:
            self.bus.publish("feed", user_ids)

        pool = pool_of(settings, database_url, limits.read_connections)
        people = PostgresAccountStore(pool)
        parts = Parts(settings, database_url, pool, clock, randomness, wake)
        if settings.conversations == "dynamodb":
            kept = on_dynamodb(parts, people)
        else:
            kept = on_postgres(parts)
        self._kept = kept
        self.thread_updates = kept.thread_updates
        connections = max(limits.ledger_connections, LEAST_LEDGER_CONNECTIONS)
        self._ledger_pool = pool_of(settings, database_url, connections)
        file_pool = pool_of(settings, database_url, limits.file_connections, PINNED_PLANS)
        webhook_pool = pool_of(settings, database_url, limits.webhook_connections, UNFLUSHED)
        self._pools = (*kept.pools, self._ledger_pool, file_pool, webhook_pool)
        self.files = FileRooms(
            *(settings, file_pool, kept.thread_updates, kept.store, kept.upkeep, people),
            clock=clock,
            randomness=randomness,
            media=media,
        )
        viewing = self.files.files.viewing
        self.events = EventLog(self._ledger_pool, self.bus)
        self.event_upkeep = EventUpkeep(self._ledger_pool)
        self.collector = Collector(
            self._ledger_pool, self.events, self.bus, clock=clock, store=kept.hands_over
        )
        catalogue = load_catalogue(settings.cards)
        self.contract = ContractRooms(
            settings,
            self._ledger_pool,
            catalogue,
            kept.thread_updates,
            kept.store,
            people,
            PostgresCardFiles(),
            viewing,
            clock=clock,
            randomness=randomness,
            events=self.events,
            wake_collector=lambda: self.bus.publish(OUTBOX_TOPIC, ["ledger"]),
        )
        viewing.register_place("crd_", self._sees_card)
        self.contract.worker.add(self.files.runner(self._ledger_pool))
        self.contract.worker.add(self.collector)
        self.event_data = event_data(
            kept.store, self.contract.transactions, self.files.store, catalogue
        )
        publisher = eventbridge_consumer(
            *(settings, self._ledger_pool, self.events, self.event_data), clock=clock
        )
        if publisher is not None:
            self.contract.worker.add(publisher)
        self.webhooks = WebhookRooms(
            *(settings, self._ledger_pool, webhook_pool, self.events, self.event_data, self.bus),
            clock=clock,
            randomness=randomness,
        )
        self.contract.worker.add(self.webhooks.runner)
        self.accounts = Accounts(
            people,
            token_verifier(settings, clock),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )
        self.store: ConversationStore = kept.store
        self.upkeep: ConversationUpkeep = kept.upkeep
        self.history: HistoryStore = kept.history
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
            attachments=self.files.files,
        )
        self.backend_conversations = BackendConversations(
            *(self.store, self.accounts), clock=clock, randomness=randomness, limits=limits
        )
        self.realtime = Realtime(
            *(self.store, self.conversations, self.presence, self.accounts, self.bus),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )

    async def __aenter__(self) -> Self:
        async with explained(self._database_url):
            for pool in self._pools:
                await pool
        await self._kept.prepare()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.contract.close()
        await self.webhooks.close()
        await self.files.close()
        await self.store.close()
        for pool in self._pools:
            await pool.close()

    async def _sees_card(self, viewer: str, thread_id: str, card_id: str) -> bool:
        """Whoever sees the message of a card sees its files."""
        message_id = await self.contract.cards.message_id_of(thread_id, card_id)
        if message_id is None:
            return False
        return await self.store.message(viewer, thread_id, message_id) is not None

    def pruning(self) -> Sequence[Round]:
        """Rounds of maintenance; each deletes a batch of expired data."""
        return (
            self.store.prune,
            self.upkeep.prune_messages,
            self.presence.prune,
            self._prune_tickets,
            self._expire,
            *self.files.pruning(),
            *self.webhooks.pruning(),
        )

    async def prune(self) -> dict[str, int]:
        """Run each round of `pruning` once."""
        return {name: count for work in self.pruning() for name, count in (await work()).items()}

    async def _prune_tickets(self) -> dict[str, int]:
        return {"ticket": await self.accounts.prune_tickets()}

    async def _expire(self) -> dict[str, int]:
        expiry, limit = self._kept.expiry, self.settings.limits.maintenance_batch
        return {} if expiry is None else {"expired": await expiry.delete_expired(limit)}

    def settling(self) -> Sequence[Round]:
        """Rounds that finish changes of dead processes."""
        return (self._settle,)

    async def settle(self) -> None:
        for work in self.settling():
            await work()

    async def _settle(self) -> dict[str, int]:
        return {"unsettled": await self.store.settle()}

    async def check_ready(self) -> None:
        """Raises if this process cannot serve: a store is unreachable, or its feed has stopped."""
        await self.store.ping()
        self.realtime.feeds.check_progress()

    def endpoints(self, extra: Sequence[Endpoint] = ()) -> list[Endpoint]:
        """All endpoints: the calls, and what is not part of the API's reference: the server's own
        blobs and the web app."""
        web_app = WebAppRest(read_files(BUILT), blobs_origin=self.files.blobs.origin)
        return [*self.calls(extra), *self.files.blob_endpoints(), *web_app.endpoints()]

    def calls(self, extra: Sequence[Endpoint] = ()) -> list[Endpoint]:
        limits = self.settings.limits
        both = self.conversations, self.backend_conversations
        ours = [
            *ConversationsRest(*both, clock=self.clock, limits=limits).endpoints(),
            *BackendRest(*both, clock=self.clock, limits=limits).endpoints(),
            *InboxRest(self.conversations, clock=self.clock, limits=limits).endpoints(),
            *RealtimeRest(self.realtime).endpoints(),
            asyncapi_endpoint(title=TITLE, version=__version__),
            *PresenceRest(self.presence).endpoints(),
            *SimpleRest(self.conversations).endpoints(),
            *AccountsRest(self.accounts).endpoints(),
            limits_endpoint(limits),
            *self.contract.endpoints(),
            *self.files.endpoints(),
            *self.webhooks.endpoints(),
            *extra,
        ]
        standard = standard_endpoints(
            ours, ready=self.check_ready, title=TITLE, version=__version__
        )
        return [*ours, *standard]


async def check_bus(settings: Settings) -> None:
    """Raises `Unavailable` if NATS is configured and does not answer."""
    if settings.nats_url is not None:
        # Here, because its client is loaded only where it is needed.
        from greenroom.platform.bus.nats import check_server  # noqa: PLC0415

        await check_server(settings.nats_url)


def _bus(settings: Settings, database_url: str) -> Bus:
    if settings.nats_url is not None:
        # Imported here, because its client takes half a second to import.
        from greenroom.platform.bus.nats import NatsBus  # noqa: PLC0415

        return NatsBus(settings.nats_url, queue_limit=settings.limits.bus_queue)
    if settings.conversations == "dynamodb":
        # Messages do not go through PostgreSQL, so NOTIFY cannot announce them. Servers poll.
        return LonelyBus()
    return PostgresBus(database_url, queue_limit=settings.limits.bus_queue)


def token_verifier(settings: Settings, clock: Clock) -> TokenVerifier:
    return TokenVerifier(
        # With a JWKS URL alone there is no shared secret, and none is created.
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
    """The OpenAPI document, as `GET /openapi.json` returns it. The rooms need not be open."""
    return openapi_document(
        rooms.calls(extra), title=TITLE, version=__version__, problems=known_problems()
    )


def http_app(rooms: Rooms, extra: Sequence[Endpoint] = ()) -> HttpApp:
    """The ASGI app. It opens the rooms and runs maintenance and the worker. `extra` adds calls."""
    limits = rooms.settings.limits
    maintenance = Maintenance(rooms.pruning(), interval_s=limits.maintenance_interval_s)
    settling = Maintenance(rooms.settling(), interval_s=limits.settle_interval_s)

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
        is_https=rooms.settings.is_https,
        startup=startup,
        shutdown=shutdown,
        clock=rooms.clock,
        access_log=rooms.settings.access_log,
    )
