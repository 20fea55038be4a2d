"""`ThreadUpdates` for threads on DynamoDB: recorded in the ledger's transaction, applied after
it."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from greenroom.conversations.decisions import UpdateLog
from greenroom.conversations.dynamodb.changes.decisions import Decisions
from greenroom.conversations.dynamodb.changes.sends import check_may_send
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.cards import with_cards
from greenroom.conversations.dynamodb.items.keys import card_pointer_key, message_key
from greenroom.conversations.dynamodb.items.rows import message_from
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.model import (
    BookingRef,
    Message,
    Role,
    ThreadKind,
    check_promotion,
)
from greenroom.conversations.thread_updates import (
    AppliedUpdate,
    Promotion,
    ThreadFacts,
    ThreadUpdate,
)
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.platform.postgres.pool import Session

log = logging.getLogger(__name__)


class DynamoThreadUpdates:
    """Each update is a decision in the ledger. The lock is a row lock in PostgreSQL: it orders the
    updates of a thread and does not delay messages."""

    def __init__(self, threads: Threads, decisions: Decisions, ledger: UpdateLog) -> None:
        self._threads = threads
        self._decisions = decisions
        self._ledger = ledger

    async def access(
        self, conn: Session, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        # Outsiders are refused before the lock, so that they cannot delay others.
        await self._read(thread_id, viewer)
        booked = await self._ledger.lock(conn, thread_id)
        state = await self._read(thread_id, viewer)
        if viewer is not None and to_write:
            check_may_send(state, viewer, self._threads.clock())
        return _facts(state, booked, viewer)

    async def access_without_lock(
        self, conn: Session, thread_id: str, viewer: str | None
    ) -> ThreadFacts:
        state = await self._read(thread_id, viewer)
        return _facts(state, await self._ledger.booking_of(conn, thread_id), None)

    async def _read(self, thread_id: str, viewer: str | None) -> StoredThread:
        state = await self._threads.read(thread_id)
        if state is None or (viewer is not None and not state.sees(viewer)):
            raise ThreadNotFound
        return state

    async def apply(self, conn: Session, update: ThreadUpdate) -> AppliedUpdate:
        thread_id, promotes = update.thread_id, update.promotes
        if promotes is not None:
            await self._book(conn, thread_id, promotes)
        decision_id = await self._ledger.decide_update(conn, thread_id, msgspec.json.encode(update))
        return AppliedUpdate(update, decision_id=decision_id)

    async def _book(self, conn: Session, thread_id: str, promotes: Promotion) -> None:
        """Checks against the decided booking, which the thread may not show yet."""
        state = await self._read(thread_id, None)
        facts = _facts(state, await self._ledger.booking_of(conn, thread_id), None)
        is_own = facts.kind == ThreadKind.PROJECT and facts.booking == promotes.booking
        if not is_own:
            check_promotion(facts.kind, state.standing.stage, follows=promotes.follows)
        follows = not is_own and facts.kind == ThreadKind.PROJECT
        await self._ledger.book(conn, thread_id, promotes.booking, follows=follows)

    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        for thread_id in sorted({each.update.thread_id for each in applied}):
            await self.catch_up(thread_id)
        for each in applied:
            try:
                await self._fill_in(each)
            except Unavailable:
                log.warning(
                    "the message of a card could not be read; it is in the thread",
                    extra={"event": each.update.thread_id},
                )

    async def catch_up(self, thread_id: str) -> None:
        try:
            await self._decisions.apply_pending(thread_id)
        except Exception:
            log.exception(
                "updates of a thread could not be applied; they will be tried again",
                extra={"event": thread_id},
            )

    async def _fill_in(self, applied: AppliedUpdate) -> None:
        card = applied.update.new_card or applied.update.changed_card
        pointer = None
        if card is not None:
            pointer = await self._threads.table.get(card_pointer_key(card.card_id))
        if pointer is None:
            return
        if applied.update.new_card is None:
            applied.update = replace(applied.update, message_id=pointer["m"])
            return
        applied.message = await self._message(applied.update.thread_id, pointer["m"])

    async def _message(self, thread_id: str, message_id: str) -> Message | None:
        key = message_key(thread_id, message_id)
        item = None if key is None else await self._threads.table.get(key)
        if item is None:
            return None
        [message] = await with_cards(self._threads.table, [message_from(item)])
        return message


def _facts(state: StoredThread, booked: BookingRef | None, viewer: str | None) -> ThreadFacts:
    """With the decided booking, which the thread may not show yet."""
    kind, booking = state.kind, BookingRef(state.group_id, state.leg_id)
    if booked is not None:
        kind, booking = ThreadKind.PROJECT.value, booked
    return ThreadFacts(
        id=state.id,
        kind=kind,
        locked=state.locked,
        group_id=booking.group_id,
        leg_id=booking.leg_id,
        people={user: Role(state.members[user].role) for user in state.active()},
        unseen_by=frozenset(
            user for user in state.active() if viewer is not None and state.is_between(viewer, user)
        ),
    )
