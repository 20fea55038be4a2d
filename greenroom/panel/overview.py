"""The panel's overview: its tabs, the booking, coming deadlines, and cards that can be created."""

from collections.abc import Iterable, Sequence

from greenroom.bookings.model import ENDED, Leg
from greenroom.bookings.reading import booking_of_thread, earlier_bookings
from greenroom.bookings.rest.wire import booking_view
from greenroom.bookings.transactions import ContractSnapshot
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.model import Card
from greenroom.cards.offering import offers_of
from greenroom.conversations.thread_updates import ThreadFacts
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.docs import WAITING
from greenroom.panel.wire import CardOfferView, PanelView, TabName, TabView, TimerKind, UpcomingView

TABS: tuple[TabName, ...] = (
    "brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions",
)  # fmt: skip
ALWAYS: frozenset[TabName] = frozenset({"files", "actions"})
NEEDS_BOOKING: frozenset[TabName] = frozenset({"docs", "expenses"})
SHOW_FILES = ("proofs", "deliverable")
"""The types of cards that the files tab shows."""
EARLIER_SHOWN = 20
REVIEW = "review"
"""A card's timer of this name ends the review of the work."""


async def overview_of(
    snapshot: ContractSnapshot,
    thread: ThreadFacts,
    viewer: str,
    cards: Sequence[Card],
    types: Catalogue,
) -> PanelView:
    """For every participant of the thread, also one who is not a party of the booking: the tabs
    show its legs and money to all of them too."""
    booking = await booking_of_thread(snapshot, thread.group_id, thread.leg_id)
    earlier = await earlier_bookings(snapshot, thread.id, EARLIER_SHOWN)
    legs = () if booking is None else booking.group.legs
    waiting = [card for card in cards if viewer in card.waits_for]
    counts: dict[TabName, int] = {
        "actions": len(waiting),
        "files": sum(card.type in SHOW_FILES for card in waiting),
    }
    if booking is not None:
        ids = [leg.leg_id for leg in legs]
        counts["docs"] = await snapshot.conn.fetchval(
            sql.TO_SIGN, booking.group.group_id, viewer, list(WAITING), ids
        )
    coming = [*_card_times(cards, types), *_leg_times(legs)]
    return PanelView(
        tabs=[_tab(tab, counts, has_booking=booking is not None) for tab in TABS],
        booking=None if booking is None else booking_view(booking, snapshot.now_ms),
        earlier=[booking_view(each, snapshot.now_ms) for each in earlier],
        leg_id=thread.leg_id,
        timers=[
            UpcomingView(kind, card_id, leg_id, rfc3339(at_ms))
            for at_ms, kind, card_id, leg_id in sorted(coming, key=lambda each: each[0])
            if at_ms > snapshot.now_ms
        ],
        can_make=[
            CardOfferView(each.type, list(each.leg_ids))
            for each in await offers_of(snapshot, types, viewer, thread)
        ],
    )


def _tab(tab: TabName, counts: dict[TabName, int], *, has_booking: bool) -> TabView:
    is_available = tab in ALWAYS or (tab in NEEDS_BOOKING and has_booking)
    return TabView(tab, is_available, counts.get(tab))


Coming = tuple[int, TimerKind, str | None, str | None]
"""Time, kind, card id and leg id of a deadline."""


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
