"""The content of cards, as items of their own beside the messages.

A card changes while its message stays, so pages and feeds read its content separately. It is stored
as JSON text, because it can contain fractions and this adapter stores whole numbers only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from greenroom.conversations.dynamodb.items.keys import CARDS, card_key, card_pointer_key
from greenroom.conversations.dynamodb.items.rows import message_from
from greenroom.conversations.model import Message
from greenroom.kernel.kept import reads_kept
from greenroom.platform.dynamodb.table import Key, Table
from greenroom.platform.dynamodb.values import Item


def card_item(thread_id: str, message_id: str, card: Mapping[str, Any]) -> Item:
    pk, sk = card_key(thread_id, message_id)
    return {"pk": pk, "sk": sk, "card": msgspec.json.encode(card)}


def card_pointer_item(card_id: str, thread_id: str, message_id: str) -> Item:
    pk, sk = card_pointer_key(card_id)
    return {"pk": pk, "sk": sk, "th": thread_id, "m": message_id}


async def with_cards(table: Table, messages: Sequence[Message]) -> list[Message]:
    """These messages of one thread, in order, with the current content of the cards among them."""
    cards = [message for message in messages if message.kind == "card"]
    if not cards:
        return list(messages)
    pk, _ = card_key(cards[0].thread_id, "")
    items = await table.query(pk, between=(CARDS + cards[0].id, CARDS + cards[-1].id))
    found = {(item["pk"], item["sk"]): item for item in items}
    return [shown_with(message, found) for message in messages]


async def cards_of(table: Table, items: Iterable[Item | None]) -> dict[Key, Item]:
    """The content items of the cards among these message items, of any threads."""
    messages = [message_from(item) for item in items if item is not None and "cardId" in item]
    if not messages:
        return {}
    return await table.get_many([card_key(each.thread_id, each.id) for each in messages])


@reads_kept
def shown_with(message: Message, found: Mapping[Key, Item]) -> Message:
    if message.kind != "card":
        return message
    item = found.get(card_key(message.thread_id, message.id))
    return replace(message, card=None if item is None else msgspec.json.decode(item["card"]))
