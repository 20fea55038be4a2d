"""Which presence is valid, and which changes are sent."""

import pytest

from greenroom.kernel.limits import Limits
from greenroom.presence.model import (
    NOTHING,
    Lifetimes,
    PresenceChange,
    PresenceKind,
    Snapshot,
    changes_between,
    is_possible_id,
)

LIVES = Lifetimes.of(Limits())
NOW_MS = 1_800_000_000_000


def snapshot(
    typing: dict[str, int] | None = None, online: dict[str, int] | None = None
) -> Snapshot:
    return Snapshot(frozenset({"mia", "ben"}), typing or {}, online or {})


def test_signs_live_ten_seconds_and_a_minute() -> None:
    assert Lifetimes(typing_ms=10_000, presence_ms=60_000) == LIVES


@pytest.mark.parametrize(
    ("ahead_ms", "counts"),
    [(-1, False), (0, False), (1, True), (10_000, True), (20_000, True), (20_001, False)],
)
def test_a_sign_counts_until_its_end_and_not_if_that_is_far_ahead(
    ahead_ms: int, counts: bool
) -> None:
    seen = snapshot({"mia": NOW_MS + ahead_ms}, {}).at(NOW_MS, LIVES)
    assert ("mia" in seen.typing) is counts


def test_the_first_end_is_of_either_sign() -> None:
    assert snapshot({"mia": 7}, {"mia": 9, "ben": 8}).first_end_ms() == 7
    assert snapshot({}, {"mia": 9, "ben": 8}).first_end_ms() == 8
    assert NOTHING.first_end_ms() is None


def test_only_what_began_or_ended_is_news() -> None:
    before = snapshot({"mia": 1}, {"mia": 5, "ben": 5})
    after = snapshot({"ben": 2}, {"mia": 9})
    assert changes_between(before, after) == [
        PresenceChange(PresenceKind.TYPING, "ben", True),
        PresenceChange(PresenceKind.TYPING, "mia", False),
        PresenceChange(PresenceKind.PRESENCE, "ben", False),
    ]
    assert changes_between(after, after) == []


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "x" * 256])
def test_what_cannot_be_an_id_is_not_looked_for(text: str) -> None:
    assert not is_possible_id(text)
