"""When cards do something by themselves. Pure."""

from greenroom.cards.model import Card, CardType, Timer, value_at
from greenroom.kernel.clock import parse_rfc3339


def due_ms(timer: Timer, card: Card, now_ms: int) -> int:
    """When a timer that starts now fires: the earlier of what it says."""
    times = []
    if timer.after_s is not None:
        times.append(now_ms + timer.after_s * 1000)
    at = None if timer.at is None else value_at(card, timer.at)
    if at is not None:
        times.append(parse_rfc3339(at))
    return min(times, default=now_ms)


def timers_between(
    card_type: CardType, before: Card | None, after: Card, now_ms: int
) -> tuple[dict[str, int | None], int | None]:
    """What becomes of each timer that starts or ends between two states of a card, None for an end;
    and when the card next does something by itself. A timer that was running runs on."""
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
