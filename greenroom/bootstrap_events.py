"""The composition root of what other systems get: the data of events, and EventBridge."""

from asyncpg import Pool

from greenroom.bookings.transactions import ContractTransactions
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.conversations.store import ConversationStore
from greenroom.events.consumers import Consumer
from greenroom.events.log import EventLog
from greenroom.files.store import FileStore
from greenroom.kernel.clock import Clock
from greenroom.platform.aws.eventbridge import open_event_bridge
from greenroom.settings import Settings
from greenroom.webhooks.data import EventData
from greenroom.webhooks.eventbridge import CONSUMER, WINDOW, EventBridgePublisher


def event_data(
    store: ConversationStore,
    transactions: ContractTransactions,
    files: FileStore,
    catalogue: Catalogue,
) -> EventData:
    private = [name for name, each in catalogue.types.items() if each.erases_payload]
    return EventData(store, transactions, files, private_cards=private)


def eventbridge_consumer(
    settings: Settings, pool: Pool, events: EventLog, data: EventData, *, clock: Clock
) -> Consumer | None:
    """Publishes to the configured bus; None if there is none."""
    if settings.eventbridge_bus is None:
        return None
    bus = open_event_bridge(
        settings.eventbridge_bus,
        endpoint=settings.eventbridge_endpoint,
        region=settings.eventbridge_region,
        clock=clock,
    )
    publisher = EventBridgePublisher(bus, data, include_content=settings.eventbridge_content)
    return Consumer(pool, events, CONSUMER, publisher.publish, batch=WINDOW)
