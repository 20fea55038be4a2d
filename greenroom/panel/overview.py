"""What the panel opens with: its tabs, the booking, and what is still to come."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from asyncpg import Pool

from greenroom.bookings.model import ENDED, Leg
from greenroom.bookings.reading import Booking, access_booking
from greenroom.bookings.wire import booking_view
from greenroom.cards.catalogue import Catalogue
from greenroom.cards.model import Card
from greenroom.conversations.model import Thread
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.docs import WAITING
from greenroom.panel.wire import PanelView, TabName, TabView, TimerKind, UpcomingView

TABS: tuple[TabName, ...] = (
    "brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions",
)  # fmt: skip
NEEDS_BOOKING: frozenset[TabName] = frozenset({"docs", "expenses"})
REVIEW = "review"
"""A card's timer of this name ends the time that somebody has to look at the work."""


async def overview_of(
    pool: Pool, thread: Thread, viewer: str, cards: Sequence[Card], types: Catalogue, now_ms: int
) -> PanelView:
    """For one who is in the thread, whether or not they have a part in the booking: the tabs show
    its legs and its money to everybody there, and so does this."""
    booking = await _booking_of(pool, thread)
    legs = () if booking is None else booking.group.legs
    counts: dict[TabName, int] = {"actions": len(cards)}
    if booking is not None:
        ids = [leg.leg_id for leg in legs]
        counts["docs"] = await pool.fetchval(
            sql.TO_SIGN, booking.group.group_id, viewer, list(WAITING), ids
        )
    coming = [*_card_times(cards, types), *_leg_times(legs)]
    return PanelView(
        tabs=[_tab(tab, counts, has_booking=booking is not None) for tab in TABS],
        booking=None if booking is None else booking_view(booking, now_ms),
        leg_id=thread.leg_id,
        timers=[
            UpcomingView(kind, card_id, leg_id, rfc3339(at_ms))
            for at_ms, kind, card_id, leg_id in sorted(coming, key=lambda each: each[0])
            if at_ms > now_ms
        ],
    )


async def _booking_of(pool: Pool, thread: Thread) -> Booking | None:
    """A project names a group, or one of its legs and has that one alone. The marketplace may have
    named what we do not have: then there is nothing to show."""
    group_id = await pool.fetchval(sql.BOOKING, thread.group_id, thread.leg_id)
    if group_id is None:
        return None
    booking = await access_booking(pool, None, group_id)
    if thread.group_id is not None:
        return booking
    own = tuple(leg for leg in booking.group.legs if leg.leg_id == thread.leg_id)
    return replace(booking, group=replace(booking.group, legs=own))


def _tab(tab: TabName, counts: dict[TabName, int], *, has_booking: bool) -> TabView:
    is_available = tab == "actions" or (tab in NEEDS_BOOKING and has_booking)
    return TabView(tab, is_available, counts.get(tab))


Coming = tuple[int, TimerKind, str | None, str | None]
"""When, what, and the card and the leg that it is about."""


def _card_times(cards: Iterable[Card], types: Catalogue) -> Iterable[Coming]:
    for card in cards:
        if card.expires_at_ms is not None:
            yield card.expires_at_ms, _kind_of(card, types), card.id, card.leg_id


def _kind_of(card: Card, types: Catalogue) -> TimerKind:
    card_type = types.types.get(card.type)
    timers = () if card_type is None else card_type.timers
    is_review = any(timer.name == REVIEW and card.state in timer.states for timer in timers)
    return "review_ends" if is_review else "card_expires"


def _leg_times(legs: Iterable[Leg]) -> Iterable[Coming]:
    for leg in legs:
        if leg.state not in ENDED:
            yield leg.start_ms, "leg_starts", None, leg.leg_id
            yield leg.end_ms, "leg_ends", None, leg.leg_id
