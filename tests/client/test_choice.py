"""Which transport is used."""

import pytest

from greenroom_client.choice import KINDS, Choice
from greenroom_client.limits import ClientLimits

LIMITS = ClientLimits()


def test_the_best_is_tried_first_and_left_after_two_failures() -> None:
    choice = Choice(KINDS, LIMITS)
    seen = []
    for _ in range(8):
        seen.append(choice.kind)
        choice.note_failure(choice.kind)
    assert seen == ["ws", "ws", "sse", "sse", "long-poll", "long-poll", "poll", "poll"]
    assert choice.kind == "poll"


def test_what_works_now_and_then_is_kept() -> None:
    choice = Choice(KINDS, LIMITS)
    for _ in range(5):
        choice.note_failure("ws")
        choice.note_proof("ws")
    assert choice.kind == "ws"


def test_a_failure_of_another_one_changes_nothing() -> None:
    choice = Choice(KINDS, LIMITS)
    choice.note_failure("sse")
    choice.note_failure("sse")
    assert choice.kind == "ws"


def test_the_better_ones_are_tried_again_less_and_less_often() -> None:
    choice = Choice(KINDS, LIMITS)
    for kind in ("ws", "ws", "sse", "sse"):
        choice.note_failure(kind)
    assert choice.better() == ["ws", "sse"]
    waits = []
    for _ in range(6):
        waits.append(choice.climb_wait_s)
        choice.note_vain_climb()
    assert waits == [60, 120, 240, 480, 600, 600]
    choice.climb("ws")
    assert (choice.kind, choice.better()) == ("ws", [])
    choice.note_proof("ws")
    assert choice.climb_wait_s == 60


def test_a_forced_one_stays_whatever_happens() -> None:
    choice = Choice(("sse", "poll"), LIMITS)
    choice.force("ws")
    for _ in range(5):
        choice.note_failure("ws")
    assert (choice.kind, choice.better()) == ("ws", [])
    choice.force(None)
    assert choice.kind == "sse"


@pytest.mark.parametrize("kinds", [(), ("ws", "ws"), ("carrier-pigeon",)])
def test_transports_are_some_of_the_four(kinds: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="transports"):
        Choice(kinds, LIMITS)  # type: ignore[arg-type]


def test_only_what_there_is_can_be_forced() -> None:
    with pytest.raises(ValueError, match="transport"):
        Choice(KINDS, LIMITS).force("fax")  # type: ignore[arg-type]
