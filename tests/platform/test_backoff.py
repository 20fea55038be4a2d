"""The pauses between attempts are a pure function of the attempt and of chance."""

from greenroom.platform.backoff import Backoff


def test_the_pause_doubles_up_to_the_cap() -> None:
    backoff = Backoff(base_ms=1000, cap_ms=10_000, attempts=9)
    assert [backoff.delay_ms(attempt, 1.0) for attempt in range(6)] == [
        1000,
        2000,
        4000,
        8000,
        10_000,
        10_000,
    ]


def test_chance_takes_at_most_half_of_the_pause() -> None:
    backoff = Backoff(base_ms=1000, cap_ms=10_000)
    assert backoff.delay_ms(2, 0.0) == 2000
    assert backoff.delay_ms(2, 0.5) == 3000


def test_with_a_floor_chance_takes_all_above_it() -> None:
    backoff = Backoff(base_ms=1000, cap_ms=10_000, floor_ms=100)
    assert [backoff.delay_ms(2, chance) for chance in (0.0, 0.5, 1.0)] == [100, 2050, 4000]


async def test_a_pause_is_slept() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await Backoff(base_ms=1000).pause(1, sleep=sleep, chance=lambda: 0.5)
    assert slept == [1.5]


def test_a_thousandth_attempt_still_has_a_pause() -> None:
    assert Backoff(base_ms=1, cap_ms=60_000).delay_ms(1000, 1.0) == 60_000


def test_the_last_attempt_is_the_one_that_makes_the_number_full() -> None:
    backoff = Backoff(attempts=3)
    assert [backoff.is_over(attempt) for attempt in range(4)] == [False, False, True, True]


def test_without_a_base_there_is_no_pause() -> None:
    assert Backoff(base_ms=0, cap_ms=0).delay_ms(5, 1.0) == 0
