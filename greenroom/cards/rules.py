"""Rules of time and money that must hold to create a card or to take an action. Pure: a rule needs
only the card and its `Circumstances`, so that clients are not offered what the server would refuse.
"""

from greenroom.bookings.model import LEG_ENDS, LegState
from greenroom.cards.model import CardType, Circumstances, Facts, Refusal
from greenroom.cards.registry import rule

DISPUTE_MS = 14 * 86_400_000

_WHY_OVER = {
    LegState.CANCELLED: "The booking was cancelled.",
    LegState.COMPLETED: "The work was accepted and is completed.",
    LegState.DISPUTED: "The booking is disputed.",
}


def refusal_of_end(card_type: CardType, circumstances: Circumstances) -> Refusal | None:
    """Refuses if the leg is in a state in which cards of this type are not created or kept open."""
    if circumstances.state is LegState.PROPOSED and card_type.needs_leg:
        return Refusal("The booking is not confirmed yet.", "Wait until it is confirmed.")
    if circumstances.state not in LEG_ENDS or circumstances.state in card_type.outlives:
        return None
    return Refusal(
        _WHY_OVER[circumstances.state], "Start a new booking for what is still to be done."
    )


@rule("leg_has_begun")
def leg_has_begun(_: Facts, circumstances: Circumstances) -> Refusal | None:
    if circumstances.start_ms is None or circumstances.start_ms <= circumstances.now_ms:
        return None
    return Refusal("The booked time has not begun.", "Wait until its start.")


@rule("leg_has_not_begun")
def leg_has_not_begun(_: Facts, circumstances: Circumstances) -> Refusal | None:
    """A proposed leg has not begun, whatever its start time."""
    if circumstances.state is LegState.PROPOSED:
        return None
    if circumstances.start_ms is None or circumstances.now_ms < circumstances.start_ms:
        return None
    return Refusal(
        "The booked time has begun: it cannot be moved any more.",
        "Agree on extras or overtime, or ask to cancel.",
    )


@rule("leg_is_not_confirmed")
def leg_is_not_confirmed(_: Facts, circumstances: Circumstances) -> Refusal | None:
    """A confirmed leg is moved only by a `reschedule` card."""
    if circumstances.state not in (LegState.CONFIRMED, LegState.IN_PROGRESS):
        return None
    return Refusal(
        "The booking is confirmed: accepting a proposal does not move it.",
        "Move the booking with a card of the type `reschedule`.",
    )


@rule("time_has_begun_or_milestone")
def time_has_begun_or_milestone(card: Facts, circumstances: Circumstances) -> Refusal | None:
    """Work paid by time cannot be handed in before its time begins; a milestone can."""
    if card.payload.get("kind") != "time_based" or leg_has_begun.check(card, circumstances) is None:
        return None
    return Refusal(
        "Work by time is not done before the booked time has begun.",
        "Wait until the booked time has begun, or hand in a milestone.",
    )


@rule("within_dispute_time")
def within_dispute_time(card: Facts, circumstances: Circumstances) -> Refusal | None:
    """Allows a dispute during the review and for two weeks after it."""
    if card.state == "pending" or circumstances.changed_ms is None:
        return None
    if circumstances.now_ms <= circumstances.changed_ms + DISPUTE_MS:
        return None
    return Refusal(
        "The work was accepted more than two weeks ago.", "Write to the marketplace's team."
    )


@rule("something_is_refundable", looks_at_money=True)
def something_is_refundable(card: Facts, circumstances: Circumstances) -> Refusal | None:
    asked_cents = card.totals.get("amount_cents", 1)
    if circumstances.refundable_cents is None or circumstances.refundable_cents >= asked_cents:
        return None
    return Refusal(
        "Nothing of this leg can be refunded: nothing was paid, or all of it has left.",
        "Look at the expenses for what was paid and where it is.",
    )


@rule("overtime_is_settled", looks_at_cards=True)
def overtime_is_settled(_: Facts, circumstances: Circumstances) -> Refusal | None:
    """Refuses while overtime is open, so that it is not lost when the work is handed in."""
    if "overtime" not in circumstances.open_types:
        return None
    return Refusal(
        "Overtime of this booking is not settled.", "Stop, confirm or withdraw it first."
    )


@rule("work_is_not_handed_in", looks_at_cards=True)
def work_is_not_handed_in(_: Facts, circumstances: Circumstances) -> Refusal | None:
    if "complete" not in circumstances.open_types:
        return None
    return Refusal(
        "The work was handed in and waits for acceptance.",
        "Withdraw that first if the work goes on.",
    )
