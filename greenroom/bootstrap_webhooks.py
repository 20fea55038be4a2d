"""The composition root of webhooks: endpoints, dispatcher, sender and upkeep."""

from collections.abc import Sequence

from asyncpg import Pool

from greenroom import __version__
from greenroom.events.log import EventLog
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.maintenance import Round
from greenroom.platform.bus.port import Bus
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.http_client import HttpClient
from greenroom.platform.postgres.pool import open_pool
from greenroom.platform.tokens.verifying import load_or_create_secret
from greenroom.settings import Settings
from greenroom.webhooks.actions import Webhooks
from greenroom.webhooks.dispatching import Dispatcher
from greenroom.webhooks.rest import WebhooksRest
from greenroom.webhooks.running import WebhookRunner
from greenroom.webhooks.sending import FillsData, Sender
from greenroom.webhooks.signing import Sealer
from greenroom.webhooks.upkeep import Standing, WebhookUpkeep, standings

KEY_FILE = "webhook-key"

UNFLUSHED = {"synchronous_commit": "off"}
"""For the connections of deliveries. When the database crashes, the last outcomes are forgotten,
and these events are posted again, as after the crash of a worker. Nothing that a caller was told is
written over them."""


class WebhookRooms:
    """Webhooks, wired together."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        delivery_pool: Pool,
        events: EventLog,
        data: FillsData,
        bus: Bus,
        *,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        limits = settings.limits
        sealer = webhook_sealer(settings)
        self._client = HttpClient(egress=settings.egress_allow, connections=limits.webhook_posts)
        sender = Sender(
            *(delivery_pool, data, self._client, sealer),
            clock=clock,
            limits=limits,
            agent=f"greenroom/{__version__}",
        )
        dispatcher = Dispatcher(delivery_pool, clock=clock, limits=limits)
        self.runner = WebhookRunner(events, dispatcher, sender, bus)
        self.webhooks = Webhooks(
            *(pool, events, sealer, settings.egress_allow),
            clock=clock,
            randomness=randomness,
            limits=limits,
            wake=self.runner.publish,
        )
        self._upkeep = WebhookUpkeep(pool, clock=clock, limits=limits)

    def endpoints(self) -> list[Endpoint]:
        return WebhooksRest(self.webhooks).endpoints()

    def pruning(self) -> Sequence[Round]:
        return (self._upkeep.prune_deliveries,)

    async def close(self) -> None:
        await self._client.close()


def webhook_sealer(settings: Settings) -> Sealer:
    """Every server and worker on one database needs the same key."""
    if settings.webhook_key is not None:
        return Sealer(settings.webhook_key.encode())
    settings.home.mkdir(parents=True, exist_ok=True)
    return Sealer(load_or_create_secret(settings.home / KEY_FILE))


async def webhook_standings(settings: Settings, url: str) -> list[Standing]:
    """How webhooks are, for `greenroom doctor`, which makes no key."""
    limits = settings.limits
    has_key = settings.webhook_key is not None or (settings.home / KEY_FILE).exists()
    sealer = webhook_sealer(settings) if has_key else None
    pool = await open_pool(
        url, min_size=1, max_size=1, statement_timeout_ms=limits.statement_timeout_ms
    )
    try:
        return await standings(pool, sealer, limits.webhooks)
    finally:
        await pool.close()
