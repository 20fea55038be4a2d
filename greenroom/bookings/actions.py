"""Bookings: proposed, confirmed, cancelled, begun. What the backend and the clock do to them."""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

import asyncpg

from greenroom.bookings import confirming, reading
from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.calendars import Calendars
from greenroom.bookings.deeds import Deed, Deeds, Told
from greenroom.bookings.documents import Documents
from greenroom.bookings.ending import cancel_leg
from greenroom.bookings.legs import (
    BEGIN,
    change_leg_state,
    lock_group,
    lock_leg,
    record_group,
    record_leg,
    thread_of,
)
from greenroom.bookings.manifests import Manifests
from greenroom.bookings.model import (
    ENDED,
    Group,
    GroupState,
    Leg,
    LegState,
    Policy,
    Side,
    quote,
)
from greenroom.bookings.money import balance_of
from greenroom.bookings.payments_settling import Settling
from greenroom.bookings.proposals import Proposal
from greenroom.bookings.reading import Booking
from greenroom.bookings.standing import standing_of
from greenroom.conversations.postings import Notice, Posting, ThreadFacts
from greenroom.conversations.wire import ThreadView
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    NotFound,
    UserNotFound,
)
from greenroom.kernel.ids import Randomness, system_randomness
from greenroom.kernel.money import Money
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import unavailable_on_failure

Exists = Callable[[Sequence[str]], Awaitable[Collection[str]]]
"""Those of some people whom we know."""
OpenThread = Callable[[str, Sequence[str], str, str], Awaitable[str]]
"""A thread of a buyer with sellers about a subject; the same key again is the same thread."""
ShowThread = Callable[[str, str], Awaitable[ThreadView | None]]
"""Of a buyer, one of their threads, as the backend sees it."""
RunNow = Callable[[Sequence[str]], Awaitable[None]]
"""Carry out payments and wait a while for them; the worker has them anyway."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What bookings need of the rest of the product."""

    exists: Exists
    open_thread: OpenThread
    show_thread: ShowThread
    run_now: RunNow


class Bookings:
    def __init__(
        self,
        deeds: Deeds,
        settling: Settling,
        around: Surroundings,
        *,
        policy: Policy,
        public_url: str = "",
        randomness: Randomness = system_randomness,
    ) -> None:
        self.deeds = deeds
        self.policy = policy
        self.documents = Documents(deeds)
        self.manifests = Manifests(deeds)
        self.calendars = Calendars(deeds, public_url)
        self._around = around
        self._randomness = randomness
        settling.register(confirming.PURPOSE, confirming.on_payment)

    @property
    def clock(self) -> Clock:
        return self.deeds.clock

    async def create(self, proposal: Proposal, once: Once | None = None) -> Booking | Kept:
        people = [proposal.buyer, *proposal.sellers]
        missing = set(people) - set(await self._around.exists(people))
        if missing:
            raise UserNotFound(f"There is no user {min(missing)}.")
        thread_id = proposal.thread_id
        if thread_id is None:
            thread_id = await self._open_thread(proposal, once)

        async def work(deed: Deed) -> Booking:
            facts = await deed.access(thread_id, None)
            _check_thread(facts, proposal)
            group = await _insert(deed, proposal, thread_id)
            return Booking(group)

        return await self.deeds.do(work, once)

    async def _open_thread(self, proposal: Proposal, once: Once | None) -> str:
        """Under a key of the request's own, so that a repeat after a crash finds the first."""
        key = self._randomness() if once is None else f"{once.caller} {once.route} {once.key}"
        digest = hashlib.sha256(key.encode()).hexdigest()[:40]
        subject = proposal.legs[0].title
        return await self._around.open_thread(
            proposal.buyer, proposal.sellers, subject, f"booking-{digest}"
        )

    async def confirm(self, group_id: str, once: Once | None = None) -> Kept | None:
        """Take the slots, ask for the money, and wait a while for it. How it ended is in the
        booking: `confirming` where it is not known yet."""

        async def work(deed: Deed) -> None:
            facts = await _lock_thread(deed, group_id)
            await confirming.begin(deed, await lock_group(deed, group_id), facts)

        return await self.deeds.do(work, once)

    async def run_payments_now(self, group_id: str) -> None:
        queued = await self._queued(group_id)
        if queued:
            await self._around.run_now(queued)

    @unavailable_on_failure()
    async def _queued(self, group_id: str) -> list[str]:
        rows = await self.deeds.pool.fetch(sql.QUEUED_TO_CONFIRM, group_id)
        return [row["payment_id"] for row in rows]

    async def cancel(self, group_id: str, by: Side | None, once: Once | None = None) -> Kept | None:
        """For the buyer by the policy that was quoted; for the seller, and where the backend names
        neither, everything is given back."""

        async def work(deed: Deed) -> None:
            await _lock_thread(deed, group_id)
            group = await lock_group(deed, group_id)
            open_legs = [leg for leg in group.legs if leg.state not in ENDED]
            if not open_legs:
                raise ActionInvalidState("None of its legs can be cancelled any more.")
            for leg in open_legs:
                refund_cents = await _refund_of(deed, group, leg, by)
                group = await cancel_leg(
                    deed,
                    group,
                    group.leg(leg.leg_id),
                    refund_cents=refund_cents,
                    actor=None,
                    role=by or "backend",
                )
            await _post_cancelled(deed, group, by)

        return await self.deeds.do(work, once)

    async def access_booking(self, viewer: str | None, group_id: str) -> Booking:
        return await reading.access_booking(self.deeds.pool, viewer, group_id)

    async def show_thread(self, group: Group) -> ThreadView | None:
        if group.thread_id is None:
            return None
        return await self._around.show_thread(group.buyer, group.thread_id)

    async def run_timer(self, deed: Deed, leg_id: str, name: str) -> None:
        """A leg begins at its start; one that has moved, at its new one."""
        deed.end_timer(leg_id, name)
        try:
            _, leg = await lock_leg(deed, leg_id)
        except NotFound:
            return
        if name != BEGIN or leg.state is not LegState.CONFIRMED:
            return
        if leg.start_ms > deed.now_ms:
            deed.set_timer(leg_id, BEGIN, leg.start_ms)
            return
        await change_leg_state(deed, leg, LegState.IN_PROGRESS, actor=None, role="timer", act=BEGIN)


def _check_thread(facts: ThreadFacts, proposal: Proposal) -> None:
    if facts.kind not in confirming.BECOMES_PROJECT:
        raise ActionInvalidState(f"A thread of kind {facts.kind} takes no new booking.")
    missing = {proposal.buyer, *proposal.sellers} - facts.people.keys()
    if missing:
        raise ActionInvalidState(f"{min(missing)} is not in the thread.")


async def _insert(deed: Deed, proposal: Proposal, thread_id: str) -> Group:
    group = _new_group(deed, proposal, thread_id)
    try:
        await deed.conn.execute(
            sql.INSERT_GROUP,
            group.group_id,
            group.buyer,
            group.currency,
            group.thread_id,
            group.state,
            sql.policy_json(group.policy),
            group.version,
            group.failure_code,
            deed.now_ms,
            deed.now_ms,
        )
    except asyncpg.UniqueViolationError:
        raise ActionConflict("The thread has another booking that is not cancelled.") from None
    columns = ("leg_id", "kind", "seller", "title", "start_ms", "end_ms", "timezone",
               "price_cents", "deposit_cents")  # fmt: skip
    values = ([getattr(leg, name) for leg in group.legs] for name in columns)
    await deed.conn.execute(sql.INSERT_LEGS, group.group_id, deed.now_ms, *values)
    record_group(deed, group, None, actor=None, role="backend", act="propose")
    for leg in group.legs:
        record_leg(deed, leg, None, actor=None, role="backend", act="propose")
    money = Money(group.total_cents, group.currency)
    deed.tell(Told("lbg.proposed", thread_id=thread_id, group_id=group.group_id, money=money))
    return group


def _new_group(deed: Deed, proposal: Proposal, thread_id: str) -> Group:
    group_id = deed.new_id("lbg")
    legs = tuple(
        Leg(
            leg_id=deed.new_id("leg"),
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
            created_at_ms=deed.now_ms,
            updated_at_ms=deed.now_ms,
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
        created_at_ms=deed.now_ms,
        updated_at_ms=deed.now_ms,
        legs=legs,
    )


async def _lock_thread(deed: Deed, group_id: str) -> ThreadFacts | None:
    """Threads before groups: everybody locks in this order."""
    thread_id = await thread_of(deed, group_id)
    return None if thread_id is None else await deed.access(thread_id, None)


async def _refund_of(deed: Deed, group: Group, leg: Leg, by: Side | None) -> int:
    balance = await balance_of(deed, leg.leg_id)
    quoted = quote(
        group.policy,
        paid_cents=balance.paid_cents,
        starts_ms=leg.start_ms,
        now_ms=deed.now_ms,
        by=by or "seller",
    )
    return min(quoted.refund_cents, balance.refundable_cents)


async def _post_cancelled(deed: Deed, group: Group, by: Side | None) -> None:
    if group.thread_id is None:
        return
    notice = Notice("booking.cancelled", {"booking_id": group.group_id, "by": by})
    standing = await standing_of(deed, group, group.thread_id)
    await deed.post(Posting(group.thread_id, notices=(notice,), standing=standing))
