"""Adds a `ThreadUpdate` (card, notices, standing) to a change of a thread on DynamoDB."""

from dataclasses import replace

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.membership import Membership
from greenroom.conversations.dynamodb.changes.messages import readers
from greenroom.conversations.dynamodb.items.cards import card_item, card_pointer_item
from greenroom.conversations.dynamodb.items.keys import card_pointer_key, message_key
from greenroom.conversations.dynamodb.items.threads import StoredStanding
from greenroom.conversations.model import EventType
from greenroom.conversations.thread_updates import Shadow, Standing, ThreadUpdate
from greenroom.platform.dynamodb.table import Put, Table


class CardUpdates:
    def __init__(self, table: Table, membership: Membership) -> None:
        self._table = table
        self._membership = membership

    async def add_to_change(self, change: Change, update: ThreadUpdate) -> None:
        """In the order that `ThreadUpdate` defines."""
        promotes, shows_more = update.promotes, bool(update.notices)
        if promotes is not None:
            before = change.state
            self._membership.add_promotion(change, promotes.booking, follows=promotes.follows)
            shows_more |= change.state is not before
        if update.new_card is not None:
            self._add_card(change, update.new_card, update.actor)
            shows_more = True
        elif update.changed_card is not None:
            shows_more |= await self._change_card(change, update.changed_card, update.actor)
        for notice in update.notices:
            system = {"code": notice.code, "params": dict(notice.params)}
            change.append(None, kind="system", system=system)
        if update.booking_changed and not shows_more:
            change.notify_all(update.actor)
            shows_more = True
        if update.standing is not None:
            _set_standing(change, update.standing, update.actor, is_all=not shows_more)

    def _add_card(self, change: Change, card: Shadow, author: str | None) -> None:
        message = change.append(
            author, kind="card", card=card.card, card_id=card.card_id, audience=card.visible_to
        )
        change.writes += [
            Put(card_item(message.thread_id, message.id, card.card)),
            Put(card_pointer_item(card.card_id, message.thread_id, message.id)),
        ]

    async def _change_card(self, change: Change, card: Shadow, actor: str | None) -> bool:
        """Returns whether the card's message exists: it may have been deleted by retention."""
        pointer = await self._table.get(card_pointer_key(card.card_id))
        key = None if pointer is None else message_key(change.state.id, pointer["m"])
        item = None if key is None else await self._table.get(key)
        if pointer is None or item is None:
            return False
        change.writes.append(Put(card_item(change.state.id, pointer["m"], card.card)))
        change.notify(
            readers(change.state, item),
            EventType.CARD_CHANGED,
            message_id=pointer["m"],
            actor=actor,
        )
        return True


def _set_standing(change: Change, standing: Standing, actor: str | None, *, is_all: bool) -> None:
    """Everyone who sees the thread gets one event: either another event of this change, which
    updates their row as well, or one of its own. `is_all`: the change has no other event."""
    before = change.state.standing
    after = StoredStanding(standing.stage, standing.open_cards, tuple(sorted(standing.waits_for)))
    if after == before:
        return
    change.state = replace(change.state, standing=after)
    has_moved = (after.stage, after.open_cards) != (before.stage, before.open_cards)
    if has_moved and is_all:
        change.state = replace(change.state, updated_at_ms=change.now_ms)
        change.notify_all(actor)
        return
    concerned = {*before.waits_for} ^ {*after.waits_for}
    unnotified = [
        user
        for user in change.state.viewers()
        if not change.steps_for(user) and (has_moved or user in concerned)
    ]
    change.notify(unnotified, EventType.INBOX_CHANGED, actor=actor)
