"""Fills in the `data` of events when they are delivered, from the state at that moment.

An event keeps ids and codes only. So what was deleted or erased since is not delivered any more,
and what the event is about is as it is now, which can be newer than the event.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from greenroom.bookings.documents.actions import Document
from greenroom.bookings.documents.manifests import Manifest
from greenroom.bookings.finding import (
    AmendmentFound,
    Refund,
    find_amendments,
    find_documents,
    find_groups,
    find_manifests,
    find_payments,
    find_refunds,
)
from greenroom.bookings.model import Group, Leg, Payment
from greenroom.bookings.transactions import ContractTransactions
from greenroom.cards.model import Card
from greenroom.cards.rows import find_cards
from greenroom.conversations.model import Thread
from greenroom.conversations.store import ConversationStore, FoundMessage
from greenroom.events.model import LoggedEvent
from greenroom.files.model import File
from greenroom.files.store import FileStore
from greenroom.webhooks import nouns
from greenroom.webhooks.nouns import Json, Noun, gone, restricted

LIFTED = {
    "payment_id": "payment",
    "refund_id": "refund",
    "amendment_id": "amendment",
    "document_id": "document",
    "manifest_id": "manifest",
    "file_id": "file",
}
"""Ids in the data of an event, and the fields under which their things are filled in. Everything
else in it is a detail of the event."""


@dataclass(slots=True)
class _Found:
    """Everything that some events are about, by id."""

    threads: Mapping[str, Thread] = field(default_factory=dict)
    messages: Mapping[str, FoundMessage] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    cards: Mapping[str, Card] = field(default_factory=dict)
    payments: Mapping[str, Payment] = field(default_factory=dict)
    refunds: Mapping[str, Refund] = field(default_factory=dict)
    amendments: Mapping[str, AmendmentFound] = field(default_factory=dict)
    documents: Mapping[str, Document] = field(default_factory=dict)
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    files: Mapping[str, File] = field(default_factory=dict)


class EventData:
    """`private_cards` are the card types whose payload is erased when they end. Receivers would
    keep it, so it is never delivered."""

    def __init__(
        self,
        store: ConversationStore,
        transactions: ContractTransactions,
        files: FileStore,
        *,
        private_cards: Collection[str] = (),
    ) -> None:
        self._store = store
        self._transactions = transactions
        self._files = files
        self._private_cards = frozenset(private_cards)

    async def fill(
        self, events: Sequence[LoggedEvent], *, include_content: bool
    ) -> list[dict[str, Any]]:
        """The `data` of each event. One query per kind of thing, however many events there are.
        With `include_content` also text that people wrote, if everybody in the thread sees it."""
        found = await self._find(events)
        return [self._data(event, found, include_content) for event in events]

    async def _find(self, events: Sequence[LoggedEvent]) -> _Found:
        found = _Found()
        await self._find_in_contract(events, found)
        if files := _ids(events, "file_id"):
            found.files = await self._files.find_many(files)
        if threads := _unique(event.thread_id for event in events):
            found.threads = await self._store.find_threads(threads)
        places = {
            *((event.thread_id, event.message_id) for event in events),
            # Who sees a card is kept with its message.
            *((card.thread_id, card.message_id) for card in found.cards.values()),
        }
        if known := [(thread, message) for thread, message in places if thread and message]:
            found.messages = await self._store.find_messages(known)
        return found

    async def _find_in_contract(self, events: Sequence[LoggedEvent], found: _Found) -> None:
        async with self._transactions.snapshot() as snapshot:
            conn = snapshot.conn
            found.groups = await find_groups(conn, _unique(each.group_id for each in events))
            found.cards = await find_cards(conn, _unique(each.card_id for each in events))
            found.payments = await find_payments(conn, _ids(events, "payment_id"))
            refunds = _unique(each.refund_id for each in found.payments.values())
            found.refunds = await find_refunds(conn, [*_ids(events, "refund_id"), *refunds])
            found.amendments = await find_amendments(conn, _ids(events, "amendment_id"))
            found.documents = await find_documents(conn, _ids(events, "document_id"))
            found.manifests = await find_manifests(conn, _ids(events, "manifest_id"))

    def _data(self, event: LoggedEvent, found: _Found, include_content: bool) -> Json:
        makers: dict[str, tuple[Mapping[str, Any], Noun]] = {
            "thread": (found.threads, nouns.thread_noun),
            "message": (found.messages, nouns.message_noun),
            "card": (found.cards, self._card_noun(found)),
            "booking": (found.groups, nouns.booking_noun),
            "leg": (_legs_of(event, found), nouns.leg_noun),
            "payment": (found.payments, nouns.payment_noun),
            "refund": (found.refunds, nouns.refund_noun),
            "amendment": (found.amendments, nouns.amendment_noun),
            "document": (found.documents, nouns.document_noun),
            "manifest": (found.manifests, nouns.manifest_noun),
            "file": (found.files, nouns.file_noun),
        }
        data = _recorded(event)
        for name, thing_id in _things_of(event, found):
            things, noun = makers[name]
            thing = things.get(thing_id)
            data[name] = gone(thing_id) if thing is None else noun(thing, include_content)
        return data

    def _card_noun(self, found: _Found) -> Noun:
        def noun(card: Card, include_content: bool) -> Json:
            message = found.messages.get(card.message_id or "")
            if message is not None and message.is_partial:
                return restricted(card.id)
            # Without its message it is not known who sees the card.
            is_open = message is not None and card.type not in self._private_cards
            return nouns.card_noun(card, include_content and is_open)

        return noun


def refer(event: LoggedEvent) -> Json:
    """The data of an event with nothing but the ids of what it is about."""
    data = _recorded(event)
    for name, thing_id in _things_of(event, _Found()):
        data[name] = {"id": thing_id, "truncated": True}
    return {**data, "truncated": True}


def _recorded(event: LoggedEvent) -> Json:
    """What the event itself has recorded, which stays as it was."""
    data: Json = {
        "event_id": event.event_id,
        "actor": event.actor,
        "thread_number": event.thread_number,
    }
    if event.money is not None:
        data["amount"] = nouns.amount_noun(event.money)
    given = event.data or {}
    if details := {name: value for name, value in given.items() if name not in LIFTED}:
        data["details"] = details
    return data


def _things_of(event: LoggedEvent, found: _Found) -> Iterator[tuple[str, str]]:
    """The names and ids of what the event is about."""
    given = event.data or {}
    ids = {
        "thread": event.thread_id,
        "message": event.message_id,
        "card": event.card_id,
        "booking": event.group_id,
        "leg": event.leg_id,
        **{LIFTED[name]: given.get(name) for name in LIFTED},
    }
    payment = found.payments.get(ids["payment"] or "")
    if payment is not None:
        ids["refund"] = payment.refund_id
    for name, thing_id in ids.items():
        if thing_id is not None:
            yield name, thing_id


def _legs_of(event: LoggedEvent, found: _Found) -> Mapping[str, tuple[Leg, str]]:
    group = found.groups.get(event.group_id or "")
    return {} if group is None else {leg.leg_id: (leg, group.currency) for leg in group.legs}


def _ids(events: Sequence[LoggedEvent], name: str) -> list[str]:
    return _unique((event.data or {}).get(name) for event in events)


def _unique(ids: Iterable[str | None]) -> list[str]:
    return sorted({each for each in ids if each is not None})
