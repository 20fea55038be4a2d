"""Reads and writes the rows of cards, and loads the legs and open cards of a thread."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from asyncpg import Record

from greenroom.bookings.legs import stage_of_states
from greenroom.bookings.model import LegState
from greenroom.bookings.transactions import ContractSnapshot, ContractTransaction
from greenroom.cards import sql
from greenroom.cards.model import Card
from greenroom.cards.sides import LegFacts
from greenroom.conversations.thread_updates import Standing
from greenroom.platform.postgres.pool import Session


@dataclass(slots=True)
class Contract:
    """The legs and open cards of one thread."""

    thread_id: str
    legs: tuple[LegFacts, ...]
    open_cards: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The people that each open card waits for."""

    def note(self, card: Card) -> None:
        """Update the open cards after this card has changed."""
        if card.is_open:
            self.open_cards[card.id] = card.waits_for
        else:
            self.open_cards.pop(card.id, None)

    def standing(self) -> Standing:
        stage = stage_of_states(LegState(leg.state) for leg in self.legs if leg.is_current)
        waits_for = frozenset(user for users in self.open_cards.values() for user in users)
        return Standing(stage, len(self.open_cards), waits_for)


async def load_contract(tx: ContractTransaction | ContractSnapshot, thread_id: str) -> Contract:
    [row] = await tx.conn.fetch(sql.CONTRACT_OF_THREAD, thread_id)
    return read_contract(row)


def read_contract(row: Record) -> Contract:
    legs = tuple(LegFacts(*each) for each in msgspec.json.decode(row["legs"]))
    open_cards = {card: tuple(users) for card, users in _pairs(row["open_cards"])}
    return Contract(row["thread_id"], legs, open_cards)


def _pairs(text: str) -> list[tuple[str, list[str]]]:
    return msgspec.json.decode(text, type=list[tuple[str, list[str]]])


async def find_cards(conn: Session, card_ids: Sequence[str]) -> dict[str, Card]:
    """Those of these cards that exist. For the server itself: nothing is checked."""
    rows = await conn.fetch(sql.FIND_CARDS, card_ids) if card_ids else []
    return {row["card_id"]: read_card(row) for row in rows}


async def add_card(tx: ContractTransaction, card: Card) -> None:
    await tx.conn.execute(
        sql.ADD_CARD,
        card.id,
        card.thread_id,
        card.message_id,
        card.type,
        card.state,
        card.version,
        _json(card.payload),
        _json(card.totals),
        card.created_by,
        card.buyer,
        card.seller,
        card.group_id,
        card.leg_id,
        card.answers_card,
        card.is_open,
        card.waits_for,
        card.expires_at_ms,
        card.created_at_ms,
        card.updated_at_ms,
    )


async def keep_card(tx: ContractTransaction, card: Card) -> None:
    await tx.conn.execute(
        sql.KEEP_CARD,
        card.id,
        card.state,
        card.version,
        _json(card.payload),
        _json(card.totals),
        card.group_id,
        card.leg_id,
        card.is_open,
        card.waits_for,
        card.expires_at_ms,
        card.updated_at_ms,
    )


def read_card(row: Record) -> Card:
    return Card(
        type=row["type"],
        state=row["state"],
        created_by=row["created_by"],
        buyer=row["buyer"],
        seller=row["seller"],
        payload=msgspec.json.decode(row["payload"]),
        totals=msgspec.json.decode(row["totals"]),
        id=row["card_id"],
        thread_id=row["thread_id"],
        message_id=row["message_id"],
        version=row["version"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        answers_card=row["answers_card"],
        is_open=row["is_open"],
        waits_for=tuple(row["waits_for"]),
        expires_at_ms=row["expires_at"],
        created_at_ms=row["created_at"],
        updated_at_ms=row["updated_at"],
        leg_start_ms=row["leg_start"],
        leg_end_ms=row["leg_end"],
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
