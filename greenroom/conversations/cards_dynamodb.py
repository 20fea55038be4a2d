"""What a change of the contract does to a thread on DynamoDB, as part of one change of it."""

from dataclasses import replace

from greenroom.conversations.card_items_dynamodb import card_item, place_item
from greenroom.conversations.keys_dynamodb import card_place_key, message_key
from greenroom.conversations.membership_dynamodb import Membership
from greenroom.conversations.messages_dynamodb import readers
from greenroom.conversations.model import EventType
from greenroom.conversations.postings import Posting, Shadow, Standing
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.states_dynamodb import Stands
from greenroom.platform.dynamodb.table import Put, Table


class Cards:
    def __init__(self, table: Table, membership: Membership) -> None:
        self._table = table
        self._membership = membership

    async def make_part_of(self, change: Change, posting: Posting) -> None:
        """In the order that `Posting` tells."""
        promotes, shows_more = posting.promotes, bool(posting.notices)
        if promotes is not None:
            before = change.state
            self._membership.promotion(change, promotes.group_id, promotes.leg_id)
            shows_more |= change.state is not before
        if posting.new_card is not None:
            self._come(change, posting.new_card, posting.actor)
            shows_more = True
        elif posting.changed_card is not None:
            shows_more |= await self._change(change, posting.changed_card, posting.actor)
        for notice in posting.notices:
            system = {"code": notice.code, "params": dict(notice.params)}
            change.append(None, kind="system", system=system)
        if posting.standing is not None:
            _stand(change, posting.standing, posting.actor, is_all=not shows_more)

    def _come(self, change: Change, card: Shadow, author: str | None) -> None:
        message = change.append(
            author, kind="card", card=card.card, card_id=card.card_id, audience=card.visible_to
        )
        change.writes += [
            Put(card_item(message.thread_id, message.id, card.card)),
            Put(place_item(card.card_id, message.thread_id, message.id)),
        ]

    async def _change(self, change: Change, card: Shadow, actor: str | None) -> bool:
        """Whether its message is there: it may be past its keeping time."""
        place = await self._table.get(card_place_key(card.card_id))
        key = None if place is None else message_key(change.state.id, place["m"])
        item = None if key is None else await self._table.get(key)
        if place is None or item is None:
            return False
        change.writes.append(Put(card_item(change.state.id, place["m"], card.card)))
        change.tell(
            readers(change.state, item),
            EventType.CARD_CHANGED,
            message_id=place["m"],
            actor=actor,
        )
        return True


def _stand(change: Change, standing: Standing, actor: str | None, *, is_all: bool) -> None:
    """Everyone who sees the thread hears of it once: with whatever else this change has told them,
    which brings their row along, or by an event of its own. `is_all`: there is nothing else."""
    before = change.state.stands
    after = Stands(standing.stage, standing.open_cards, tuple(sorted(standing.waits_for)))
    if after == before:
        return
    change.state = replace(change.state, stands=after)
    has_moved = (after.stage, after.open_cards) != (before.stage, before.open_cards)
    if has_moved and is_all:
        change.state = replace(change.state, updated_at_ms=change.now_ms)
        change.tell_all(actor)
        return
    concerned = {*before.waits_for} ^ {*after.waits_for}
    unheard = [
        user
        for user in change.state.viewers()
        if not change.steps_of(user) and (has_moved or user in concerned)
    ]
    change.tell(unheard, EventType.INBOX_CHANGED, actor=actor)
