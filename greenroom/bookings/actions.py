"""What the marketplace's backend does with bookings (propose, confirm, cancel, end a dispute), and
what timers do (start a leg)."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

import asyncpg

from greenroom.bookings import confirming, reading, sql
from greenroom.bookings.calendars.actions import Calendars
from greenroom.bookings.cancellation_policy import Policy, quote
from greenroom.bookings.documents.actions import Documents
from greenroom.bookings.documents.manifests import Manifests
from greenroom.bookings.ending import cancel_leg, complete_leg
from greenroom.bookings.legs import (
    BEGIN,
    change_leg_state,
    lock_group,
    record_group,
    record_leg,
    thread_of,
)
from greenroom.bookings.model import ENDED, Group, GroupState, Leg, LegState, Side
from greenroom.bookings.money.orders import balance_of
from greenroom.bookings.money.payout_holds import free_payout
from greenroom.bookings.money.settling import Settling, lock_for_money
from greenroom.bookings.proposals import Proposal
from greenroom.bookings.reading import Booking
from greenroom.bookings.standing import standing_of
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions, NewEvent
from greenroom.conversations.thread_updates import Notice, ThreadFacts, ThreadUpdate
from greenroom.conversations.wire import ThreadView
from greenroom.kernel.clock import Clock, rfc3339
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    InvalidRequest,
    UserNotFound,
)
from greenroom.kernel.ids import Randomness, system_randomness
from greenroom.kernel.money import Money
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import unavailable_on_failure

PROJECT = "project"
NOT_OVER = (
    "The thread has a booking that is not over: it takes the next one when every leg of it is "
    "completed or cancelled."
)

Exists = Callable[[Sequence[str]], Awaitable[Collection[str]]]
"""Returns those of the given user ids that are registered."""
OpenThread = Callable[[str, Sequence[str], str, str], Awaitable[str]]
"""Opens a thread: (buyer, sellers, subject, key). The same key again returns the same thread."""
ShowThread = Callable[[str], Awaitable[ThreadView | None]]
"""Returns a thread, by its id, as the backend sees it."""
RunNow = Callable[[Sequence[str]], Awaitable[None]]
"""Carries out these payments now and waits for them for a limited time. They are queued already, so
the worker carries out what is left."""


@dataclass(frozen=True, slots=True)
class BookingDependencies:
    """Functions of other rooms that bookings call; the composition root fills them in."""

    exists: Exists
    open_thread: OpenThread
    show_thread: ShowThread
    run_now: RunNow


class Bookings:
    def __init__(
        self,
        transactions: ContractTransactions,
        settling: Settling,
        dependencies: BookingDependencies,
        *,
        policy: Policy,
        public_url: str = "",
        randomness: Randomness = system_randomness,
    ) -> None:
        self.transactions = transactions
        self.policy = policy
        self.documents = Documents(transactions)
        self.manifests = Manifests(transactions)
        self.calendars = Calendars(transactions, public_url)
        self._dependencies = dependencies
        self._randomness = randomness
        settling.register(confirming.PURPOSE, confirming.on_payment)

    @property
    def clock(self) -> Clock:
        return self.transactions.clock

    async def create(self, proposal: Proposal, once: Once | None = None) -> Booking | Kept:
        people = [proposal.buyer, *proposal.sellers]
        missing = set(people) - set(await self._dependencies.exists(people))
        if missing:
            raise UserNotFound(f"There is no user {min(missing)}.")
        thread_id = proposal.thread_id
        if thread_id is None:
            thread_id = await self._open_thread(proposal, once)

        async def work(tx: ContractTransaction) -> Booking:
            facts = await tx.access(thread_id, None)
            await _check_thread(tx, facts, proposal)
            group = await _insert(tx, proposal, thread_id)
            if facts.kind == PROJECT:
                await _show_next_booking(tx, group, thread_id)
            elif proposal.thread_id is not None:
                await _show_proposal(tx, group, thread_id)
            return Booking(group)

        return await self.transactions.run(work, once)

    async def _open_thread(self, proposal: Proposal, once: Once | None) -> str:
        """The thread's key comes from the request's idempotency key, so that a repeat after a crash
        finds the first thread instead of opening a second one."""
        key = self._randomness() if once is None else f"{once.caller} {once.route} {once.key}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:40]
        subject = proposal.legs[0].title
        return await self._dependencies.open_thread(
            proposal.buyer, proposal.sellers, subject, f"booking-{digest}"
        )

    async def confirm(self, group_id: str, once: Once | None = None) -> Kept | None:
        """Take the sellers' slots and queue the charge. The state of the booking shows the outcome;
        it is `confirming` while that is unknown."""

        async def work(tx: ContractTransaction) -> None:
            facts = await _lock_thread(tx, group_id)
            group = await confirming.begin(tx, await lock_group(tx, group_id), facts)
            await tx.tell_booking_changed(group.thread_id)

        return await self.transactions.run(work, once)

    async def run_payments_now(self, group_id: str) -> None:
        queued = await self._queued(group_id)
        if queued:
            await self._dependencies.run_now(queued)

    @unavailable_on_failure()
    async def _queued(self, group_id: str) -> list[str]:
        rows = await self.transactions.pool.fetch(sql.QUEUED_TO_CONFIRM, group_id)
        return [row["payment_id"] for row in rows]

    async def cancel(self, group_id: str, by: Side | None, once: Once | None = None) -> Kept | None:
        """If the buyer cancels (`by`), the refund follows the booking's policy. If the seller
        cancels, or the backend names nobody, everything is refunded."""

        async def work(tx: ContractTransaction) -> None:
            await _lock_thread(tx, group_id)
            group = await lock_group(tx, group_id)
            open_legs = [leg for leg in group.legs if leg.state not in ENDED]
            if not open_legs:
                raise ActionInvalidState("None of its legs can be cancelled any more.")
            _check_payouts(open_legs)
            for leg in open_legs:
                refund_cents = await _refund_of(tx, group, leg, by)
                group = await cancel_leg(
                    tx,
                    group,
                    group.leg(leg.leg_id),
                    refund_cents=refund_cents,
                    actor=None,
                    role=by or "backend",
                )
            if group.thread_id is not None:
                await tx.close_cards(group.thread_id, [leg.leg_id for leg in open_legs])
            params = {"booking_id": group.group_id, "by": by}
            await _show(tx, group, Notice("booking.cancelled", params))

        return await self.transactions.run(work, once)

    async def end_dispute(self, group_id: str, once: Once | None = None) -> Kept | None:
        """Complete the disputed legs, as the seller wants it: what was held is paid to the seller,
        and what was paid already stays paid. (`cancel` ends a dispute as the buyer wants it.)"""

        async def work(tx: ContractTransaction) -> None:
            await _lock_thread(tx, group_id)
            group = await lock_group(tx, group_id)
            disputed = [leg.leg_id for leg in group.legs if leg.state is LegState.DISPUTED]
            if not disputed:
                raise ActionInvalidState(
                    "None of its legs is disputed.",
                    hint="A leg that is not disputed is completed by a card of the type complete.",
                )
            for leg_id in disputed:
                leg = await free_payout(tx, group.leg(leg_id))
                group = await complete_leg(
                    tx, group, leg, actor=None, role="backend", act="end_dispute"
                )
            if group.thread_id is not None:
                await tx.close_cards(group.thread_id, disputed)
            await _show(tx, group, Notice("booking.dispute_ended", {"booking_id": group.group_id}))

        return await self.transactions.run(work, once)

    async def access_booking(self, viewer: str | None, group_id: str) -> Booking:
        async with self.transactions.snapshot() as snapshot:
            return await reading.access_booking(snapshot, viewer, group_id)

    async def bookings_of(
        self, *, thread_id: str | None, user_id: str | None, before: str | None, limit: int
    ) -> list[Booking]:
        """For the backend, the newest first: of a thread, of a person, or of both."""
        if thread_id is None and user_id is None:
            raise InvalidRequest("name user_id, thread_id or both")
        async with self.transactions.snapshot() as snapshot:
            return await reading.bookings_of(
                snapshot, thread_id=thread_id, user_id=user_id, before=before, limit=limit
            )

    async def show_thread(self, group: Group) -> ThreadView | None:
        """The thread after everything that was committed about it before this call, by any process.
        Two callers at the same time therefore see the same."""
        if group.thread_id is None:
            return None
        await self.transactions.catch_up(group.thread_id)
        return await self._dependencies.show_thread(group.thread_id)

    async def run_timer(self, tx: ContractTransaction, leg_id: str, name: str) -> None:
        """Put a confirmed leg in progress at its start. If it was moved, set the timer again for
        the new start."""
        tx.end_timer(leg_id, name)
        group_id = await tx.conn.fetchval(sql.GROUP_OF_LEG, leg_id)
        if group_id is None:
            return
        group = await lock_for_money(tx, group_id)
        leg = group.leg(leg_id)
        if name != BEGIN or leg.state is not LegState.CONFIRMED:
            return
        if leg.start_ms > tx.now_ms:
            tx.set_timer(leg_id, BEGIN, leg.start_ms)
            return
        await change_leg_state(tx, leg, LegState.IN_PROGRESS, actor=None, role="timer", act=BEGIN)
        await tx.tell_booking_changed(group.thread_id)


async def _check_thread(tx: ContractTransaction, facts: ThreadFacts, proposal: Proposal) -> None:
    """The caller holds the thread's lock, so of two bookings at the same time the second one sees
    the first."""
    if facts.kind == PROJECT and not await tx.conn.fetchval(sql.IS_OVER, *facts.booking):
        raise ActionConflict(NOT_OVER)
    if facts.kind not in (*confirming.BECOMES_PROJECT, PROJECT):
        raise ActionInvalidState(f"A thread of kind {facts.kind} takes no new booking.")
    missing = {proposal.buyer, *proposal.sellers} - facts.people.keys()
    if missing:
        raise ActionInvalidState(f"{min(missing)} is not in the thread.")


async def _insert(tx: ContractTransaction, proposal: Proposal, thread_id: str) -> Group:
    group = _new_group(tx, proposal, thread_id)
    await tx.conn.execute(sql.FOLLOW, thread_id, group.group_id)
    try:
        await tx.conn.execute(
            sql.INSERT_GROUP,
            group.group_id,
            group.buyer,
            group.currency,
            group.thread_id,
            group.state,
            sql.policy_json(group.policy),
            group.version,
            group.failure_code,
            tx.now_ms,
            tx.now_ms,
        )
    except asyncpg.UniqueViolationError:
        raise ActionConflict(NOT_OVER) from None
    columns = ("leg_id", "kind", "seller", "title", "start_ms", "end_ms", "timezone",
               "price_cents", "deposit_cents")  # fmt: skip
    values = ([getattr(leg, name) for leg in group.legs] for name in columns)
    await tx.conn.execute(sql.INSERT_LEGS, group.group_id, tx.now_ms, *values)
    record_group(tx, group, None, actor=None, role="backend", act="propose")
    for leg in group.legs:
        record_leg(tx, leg, None, actor=None, role="backend", act="propose")
    money = Money(group.total_cents, group.currency)
    tx.emit(NewEvent("lbg.proposed", thread_id=thread_id, group_id=group.group_id, money=money))
    return group


def _new_group(tx: ContractTransaction, proposal: Proposal, thread_id: str) -> Group:
    group_id = tx.new_id("lbg")
    legs = tuple(
        Leg(
            leg_id=tx.new_id("leg"),
            group_id=group_id,
            place=place,
            kind=new.kind,
            seller=new.seller,
            title=new.title,
            state=LegState.PROPOSED,
            start_ms=new.start_ms,
            end_ms=new.end_ms,
            timezone=new.timezone,
            price_cents=new.price_cents,
            deposit_cents=new.deposit_cents,
            holds_slot=False,
            version=1,
            sequence=0,
            deliverables_accepted_at_ms=None,
            payout="none",
            payout_held_reason=None,
            created_at_ms=tx.now_ms,
            updated_at_ms=tx.now_ms,
        )
        for place, new in enumerate(proposal.legs)
    )
    return Group(
        group_id=group_id,
        buyer=proposal.buyer,
        currency=proposal.currency,
        thread_id=thread_id,
        state=GroupState.PROPOSED,
        policy=proposal.policy,
        version=1,
        failure_code=None,
        created_at_ms=tx.now_ms,
        updated_at_ms=tx.now_ms,
        legs=legs,
    )


async def _show_next_booking(tx: ContractTransaction, group: Group, thread_id: str) -> None:
    """A project shows its next booking as soon as it is proposed. (An inquiry becomes a project
    only when its booking is confirmed.)"""
    standing = await standing_of(tx, thread_id)
    promotes = replace(confirming.promotion_of(group), follows=True)
    await tx.update_thread(ThreadUpdate(thread_id, promotes=promotes, standing=standing))


async def _show_proposal(tx: ContractTransaction, group: Group, thread_id: str) -> None:
    """An inquiry has no panel of a booking yet, so people read there what is proposed to them. A
    thread that was opened for the booking begins with its title."""
    params: dict[str, str | int | None] = {
        "booking_id": group.group_id,
        "amount_cents": group.total_cents,
        "currency": group.currency,
    }
    if len(group.legs) == 1:
        [leg] = group.legs
        times = {"start": rfc3339(leg.start_ms), "end": rfc3339(leg.end_ms)}
        params |= {"title": leg.title, **times, "timezone": leg.timezone}
    await tx.update_thread(ThreadUpdate(thread_id, notices=(Notice("booking.proposed", params),)))


async def _lock_thread(tx: ContractTransaction, group_id: str) -> ThreadFacts | None:
    """Every transaction locks threads before groups."""
    thread_id = await thread_of(tx, group_id)
    return None if thread_id is None else await tx.access(thread_id, None)


def _check_payouts(legs: Sequence[Leg]) -> None:
    """A dispute can begin after the payout. Then no money is left to refund."""
    for leg in legs:
        if leg.state is LegState.DISPUTED and leg.payout in ("queued", "paid"):
            raise ActionInvalidState(
                f"The seller of {leg.leg_id} was paid already: nothing of it can be given back.",
                hint="Settle it with the seller outside, then end the dispute with POST "
                "/v1/bookings/{id}/complete.",
            )


async def _refund_of(tx: ContractTransaction, group: Group, leg: Leg, by: Side | None) -> int:
    balance = await balance_of(tx, leg.leg_id)
    quoted = quote(
        group.policy,
        paid_cents=balance.paid_cents,
        starts_ms=leg.start_ms,
        now_ms=tx.now_ms,
        by=by or "seller",
    )
    return min(quoted.refund_cents, balance.refundable_cents)


async def _show(tx: ContractTransaction, group: Group, notice: Notice) -> None:
    """Tell the thread, and bring its standing up to date."""
    if group.thread_id is None:
        return
    standing = await standing_of(tx, group.thread_id)
    await tx.update_thread(ThreadUpdate(group.thread_id, notices=(notice,), standing=standing))
