"""How long to wait before trying again."""

import itertools

from greenroom_client.backoff import Backoff, RetryBudget
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing

LIMITS = ClientLimits()


def test_the_wait_is_anything_up_to_a_bound_that_doubles_to_half_a_minute() -> None:
    longest = Backoff(Timing(random=lambda: 1.0), LIMITS)
    assert [longest.next_s() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    shortest = Backoff(Timing(random=lambda: 0.0), LIMITS)
    assert [shortest.next_s() for _ in range(9)] == [0] * 9


def test_a_success_starts_anew() -> None:
    backoff = Backoff(Timing(random=lambda: 1.0), LIMITS)
    for _ in range(5):
        backoff.next_s()
    backoff.reset()
    assert backoff.next_s() == 0.5


def test_the_server_is_given_the_time_it_asks_for() -> None:
    backoff = Backoff(Timing(random=lambda: 1.0), LIMITS)
    assert backoff.next_s(retry_after_s=7) == 7
    assert [backoff.next_s(retry_after_s=3) for _ in range(3)] == [3, 3, 4]


def test_a_client_that_waits_for_weeks_still_counts() -> None:
    backoff = Backoff(Timing(random=lambda: 1.0), LIMITS)
    backoff.failures = 10**6
    assert backoff.next_s() == 30


def test_early_retries_are_a_fifth_of_what_succeeded_in_the_last_minute() -> None:
    seconds = itertools.count(0, 3)
    now = [0.0]
    budget = RetryBudget(Timing(now_s=lambda: now[0]), LIMITS)
    assert not budget.spend()
    for _ in range(20):
        now[0] = float(next(seconds))
        budget.note_success()
    assert [budget.spend() for _ in range(6)] == [True] * 4 + [False] * 2
    now[0] += 61
    assert not budget.spend()


def test_streams_have_some_retries_whatever_succeeded() -> None:
    budget = RetryBudget(Timing(now_s=lambda: 0.0), LIMITS)
    assert [budget.spend(at_least=2) for _ in range(3)] == [True, True, False]
