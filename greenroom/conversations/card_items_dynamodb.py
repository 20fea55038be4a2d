"""What threads show of cards, as items beside the messages that they are.

A card's shadow changes while its message stays: it lies apart, and pages and feeds read it at that
moment. It is kept as JSON, in which fractions are what they were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from greenroom.conversations.keys_dynamodb import CARDS, card_key, card_place_key
from greenroom.conversations.model import Message
from greenroom.conversations.rows_dynamodb import message_from
from greenroom.platform.dynamodb.table import Key, Table
from greenroom.platform.dynamodb.values import Item


def card_item(thread_id: str, message_id: str, card: Mapping[str, Any]) -> Item:
    pk, sk = card_key(thread_id, message_id)
    return {"pk": pk, "sk": sk, "card": msgspec.json.encode(card)}


def place_item(card_id: str, thread_id: str, message_id: str) -> Item:
    pk, sk = card_place_key(card_id)
    return {"pk": pk, "sk": sk, "th": thread_id, "m": message_id}


async def with_cards(table: Table, messages: Sequence[Message]) -> list[Message]:
    """Messages of one thread in their order, the cards among them as they are now: one query."""
    cards = [message for message in messages if message.kind == "card"]
    if not cards:
        return list(messages)
    pk, _ = card_key(cards[0].thread_id, "")
    items = await table.query(pk, between=(CARDS + cards[0].id, CARDS + cards[-1].id))
    found = {(item["pk"], item["sk"]): item for item in items}
    return [shown_with(message, found) for message in messages]


async def cards_of(table: Table, items: Iterable[Item | None]) -> dict[Key, Item]:
    """What is shown of the cards among the items of messages, of whichever threads."""
    messages = [message_from(item) for item in items if item is not None and "cardId" in item]
    if not messages:
        return {}
    return await table.get_many([card_key(each.thread_id, each.id) for each in messages])


def shown_with(message: Message, found: Mapping[Key, Item]) -> Message:
    if message.kind != "card":
        return message
    item = found.get(card_key(message.thread_id, message.id))
    return replace(message, card=None if item is None else msgspec.json.decode(item["card"]))
