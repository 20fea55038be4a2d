"""What the contract shows in threads that are kept on DynamoDB: decided in the ledger's own
transaction, carried out once after it."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from greenroom.conversations.card_items_dynamodb import with_cards
from greenroom.conversations.decisions import Booking, PostingLog
from greenroom.conversations.decisions_dynamodb import Decisions
from greenroom.conversations.keys_dynamodb import card_place_key, message_key
from greenroom.conversations.model import Message, Role, ThreadKind
from greenroom.conversations.postings import Posted, Posting, ThreadFacts
from greenroom.conversations.rows_dynamodb import message_from
from greenroom.conversations.sends_dynamodb import check_may_send
from greenroom.conversations.states_dynamodb import ThreadState
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.kernel.errors import ActionInvalidState, ThreadNotFound, Unavailable
from greenroom.platform.postgres import Session

PROMOTED = (ThreadKind.INQUIRY, ThreadKind.INVITE)

log = logging.getLogger(__name__)


class DynamoPostings:
    """`Postings` through the ledger's decisions. The lock is one of the ledger's: it keeps those
    who post in order, and nobody from writing messages."""

    def __init__(self, threads: Threads, decisions: Decisions, ledger: PostingLog) -> None:
        self._threads = threads
        self._decisions = decisions
        self._ledger = ledger

    async def access(
        self, conn: Session, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        # An outsider is told before anything is locked, and holds nobody up.
        await self._read(thread_id, viewer)
        booked = await self._ledger.lock(conn, thread_id)
        state = await self._read(thread_id, viewer)
        if viewer is not None and to_write:
            check_may_send(state, viewer, self._threads.clock())
        return _facts(state, booked, viewer)

    async def _read(self, thread_id: str, viewer: str | None) -> ThreadState:
        state = await self._threads.read(thread_id)
        if state is None or (viewer is not None and not state.sees(viewer)):
            raise ThreadNotFound
        return state

    async def post(self, conn: Session, posting: Posting) -> Posted:
        thread_id, promotes = posting.thread_id, posting.promotes
        if promotes is not None:
            booking = Booking(promotes.group_id, promotes.leg_id)
            state = await self._read(thread_id, None)
            if state.kind not in PROMOTED and _booking_of(state) != booking:
                raise ActionInvalidState("Only an inquiry or invite becomes a project, once.")
            await self._ledger.book(conn, thread_id, booking)
        decision_id = await self._ledger.decide_posting(
            conn, thread_id, msgspec.json.encode(posting)
        )
        return Posted(posting, decision_id=decision_id)

    async def show(self, posted: Sequence[Posted]) -> None:
        for thread_id in sorted({each.posting.thread_id for each in posted}):
            try:
                await self._decisions.carry_out_in(thread_id)
            except Exception:
                log.exception("a posting is shown later", extra={"event": thread_id})
        for each in posted:
            try:
                await self._fill_in(each)
            except Unavailable:
                log.warning("a posting is shown later", extra={"event": each.posting.thread_id})

    async def _fill_in(self, posted: Posted) -> None:
        card = posted.posting.new_card or posted.posting.changed_card
        place = None
        if card is not None:
            place = await self._threads.table.get(card_place_key(card.card_id))
        if place is None:
            return
        if posted.posting.new_card is None:
            posted.posting = replace(posted.posting, message_id=place["m"])
            return
        posted.message = await self._message(posted.posting.thread_id, place["m"])

    async def _message(self, thread_id: str, message_id: str) -> Message | None:
        key = message_key(thread_id, message_id)
        item = None if key is None else await self._threads.table.get(key)
        if item is None:
            return None
        [message] = await with_cards(self._threads.table, [message_from(item)])
        return message


def _booking_of(state: ThreadState) -> Booking | None:
    if state.kind != ThreadKind.PROJECT:
        return None
    return Booking(state.group_id, state.leg_id)


def _facts(state: ThreadState, booked: Booking | None, viewer: str | None) -> ThreadFacts:
    """What is decided counts, whether or not the thread shows it yet."""
    kind, booking = state.kind, Booking(state.group_id, state.leg_id)
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
