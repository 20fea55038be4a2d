"""Computes when the timers of a card fire. Pure."""

from greenroom.cards.model import Card, CardType, Timer, value_at
from greenroom.kernel.clock import parse_rfc3339


def due_ms(timer: Timer, card: Card, now_ms: int) -> int:
    """When a timer that starts now fires: the earliest of its times."""
    times = []
    if timer.after_s is not None:
        begins_ms = now_ms
        if timer.counts_from_leg_end and card.leg_end_ms is not None:
            begins_ms = max(now_ms, card.leg_end_ms)
        times.append(begins_ms + timer.after_s * 1000)
    if timer.until_leg_begins and card.leg_start_ms is not None:
        times.append(card.leg_start_ms)
    at = None if timer.at is None else value_at(card, timer.at)
    if at is not None:
        times.append(parse_rfc3339(at))
    return min(times, default=now_ms)


def timers_between(
    card_type: CardType, before: Card | None, after: Card, now_ms: int
) -> tuple[dict[str, int | None], int | None]:
    """The timers that start (with their time) or end (None) when a card goes from `before` to
    `after`, and when the next timer fires. A timer that runs in both states goes on."""
    changes: dict[str, int | None] = {}
    running = []
    for timer in card_type.timers:
        was_running = before is not None and before.state in timer.states
        is_running = after.state in timer.states
        if is_running and was_running and before is not None:
            running.append(before.expires_at_ms)
        elif is_running:
            changes[timer.name] = due_ms(timer, after, now_ms)
            running.append(changes[timer.name])
        elif was_running:
            changes[timer.name] = None
    return changes, min((at for at in running if at is not None), default=None)


def timers_after_move(card_type: CardType, card: Card) -> tuple[dict[str, int], int | None]:
    """The new times of a card's timers after its leg was moved, as if it had always had that time;
    and when the next timer fires."""
    running = [timer for timer in card_type.timers if card.state in timer.states]
    changes = {
        timer.name: due_ms(timer, card, card.updated_at_ms)
        for timer in running
        if timer.follows_leg
    }
    if not changes:
        return {}, card.expires_at_ms
    due = list(changes.values())
    if len(changes) < len(running) and card.expires_at_ms is not None:
        due.append(card.expires_at_ms)
    return changes, min(due)
