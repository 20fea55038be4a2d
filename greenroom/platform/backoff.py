"""How long to wait before trying again."""

from dataclasses import dataclass

_MOST_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class Backoff:
    """By these numbers a payment whose provider is away is tried for some four hours before
    somebody has to look at it."""

    base_ms: int = 1000
    cap_ms: int = 15 * 60 * 1000
    attempts: int = 25

    def delay_ms(self, attempt: int, chance: float) -> int:
        """The pause after an attempt, counted from 0: doubled each time up to the cap, and of that
        between half (chance 0) and all (chance 1), so that what failed together does not come back
        together."""
        whole = min(self.cap_ms, self.base_ms << min(attempt, _MOST_DOUBLINGS))
        return whole // 2 + int((whole - whole // 2) * chance)

    def is_over(self, attempt: int) -> bool:
        """Whether the attempt of this number, counted from 0, was the last."""
        return attempt + 1 >= self.attempts
