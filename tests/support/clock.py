"""A clock that tests move by hand, and lengths of time."""

JANUARY_2027_MS = 1_800_000_000_000
SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


class FakeClock:
    """Stands still until told to move, in either direction."""

    def __init__(self) -> None:
        self.now_ms = JANUARY_2027_MS

    def __call__(self) -> int:
        return self.now_ms

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        moved = days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS
        self.now_ms += int(moved)
