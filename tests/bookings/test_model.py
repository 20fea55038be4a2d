"""Cancellation tiers, times and proposals, without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.bookings.cancellation_policy import (
    Policy,
    Quote,
    Tier,
    check_policy,
    parse_policy,
    quote,
)
from greenroom.bookings.legs import stage_of_states
from greenroom.bookings.model import LEG_MOVES, LegState
from greenroom.bookings.proposals import LegProposal, check_proposal
from greenroom.kernel.clock import milliseconds_of
from greenroom.kernel.errors import InvalidRequest

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NOW_MS = 1_800_000_000_000
POLICY = parse_policy("168:100,48:50,0:0")


@pytest.mark.parametrize(
    ("notice_ms", "expected"),
    [
        (168 * HOUR_MS, Quote(1_001, 100, 168)),
        (168 * HOUR_MS - 1, Quote(501, 50, 48)),
        (48 * HOUR_MS, Quote(501, 50, 48)),
        (48 * HOUR_MS - 1, Quote(0, 0, 0)),
        (0, Quote(0, 0, 0)),
        (-1, Quote(0, 0, 0)),
    ],
)
def test_a_tier_begins_at_exactly_its_notice(notice_ms: int, expected: Quote) -> None:
    starts_ms = NOW_MS + notice_ms
    quoted = quote(POLICY, paid_cents=1_001, starts_ms=starts_ms, now_ms=NOW_MS, by="buyer")
    assert quoted == expected


def test_a_seller_who_cancels_gives_everything_back_whatever_the_notice() -> None:
    assert (
        quote(POLICY, paid_cents=777, starts_ms=0, now_ms=NOW_MS, by="seller").refund_cents == 777
    )


def test_notice_is_counted_in_hours_that_pass_also_where_clocks_change() -> None:
    """On the night of 28 March 2027 Vienna has no hour from two to three."""
    vienna = ZoneInfo("Europe/Vienna")
    starts = datetime(2027, 3, 29, 10, tzinfo=vienna)
    on_the_wall = datetime(2027, 3, 27, 10, tzinfo=vienna)
    assert milliseconds_of(starts) - milliseconds_of(on_the_wall) == 47 * HOUR_MS
    late = quote(
        POLICY,
        paid_cents=100,
        starts_ms=milliseconds_of(starts),
        now_ms=milliseconds_of(on_the_wall),
        by="buyer",
    )
    in_time = quote(
        POLICY,
        paid_cents=100,
        starts_ms=milliseconds_of(starts),
        now_ms=milliseconds_of(on_the_wall) - HOUR_MS,
        by="buyer",
    )
    assert (late.refund_cents, in_time.refund_cents) == (0, 50)


def test_two_legs_in_the_hour_that_happens_twice_are_two_times() -> None:
    """On 31 October 2027 half past two comes twice in Vienna."""
    vienna = ZoneInfo("Europe/Vienna")
    first = datetime(2027, 10, 31, 2, 30, tzinfo=vienna)
    second = first.replace(fold=1)
    assert milliseconds_of(second) - milliseconds_of(first) == HOUR_MS


policies = st.lists(
    st.tuples(st.integers(0, 8_784), st.integers(0, 100)), min_size=1, max_size=10
).map(
    lambda pairs: tuple(
        Tier(hours, percent)
        for hours, percent in zip(
            sorted({hours for hours, _ in pairs}, reverse=True),
            sorted((percent for _, percent in pairs), reverse=True),
            strict=False,
        )
    )
)


@given(policies, st.integers(0, 10**13), st.integers(-DAY_MS, 400 * DAY_MS), st.integers(0, DAY_MS))
def test_less_notice_never_gives_back_more_and_never_more_than_was_paid(
    policy: Policy, paid_cents: int, notice_ms: int, later_ms: int
) -> None:
    assert check_policy(policy) == policy
    starts_ms = NOW_MS + notice_ms
    early = quote(policy, paid_cents=paid_cents, starts_ms=starts_ms, now_ms=NOW_MS, by="buyer")
    late = quote(
        policy, paid_cents=paid_cents, starts_ms=starts_ms, now_ms=NOW_MS + later_ms, by="buyer"
    )
    assert 0 <= late.refund_cents <= early.refund_cents <= paid_cents


@pytest.mark.parametrize(
    "text", ["", "48", "48:", ":50", "48:101", "-1:50", "48:50,48:40", "48:50,168:40", "1:x"]
)
def test_a_policy_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_policy(text)


def test_a_policy_is_read_in_any_order() -> None:
    assert parse_policy("0:0, 168:100,48:50") == POLICY


@pytest.mark.parametrize(
    ("states", "stage"),
    [
        ([], None),
        (["proposed"], "proposed"),
        (["cancelled", "cancelled"], "cancelled"),
        (["confirmed", "proposed"], "confirmed"),
        (["in_progress", "cancelled"], "confirmed"),
        (["completed", "confirmed"], "confirmed"),
        (["completed", "cancelled"], "completed"),
        (["completed", "disputed"], "disputed"),
    ],
)
def test_a_booking_stands_as_its_legs_do(states: list[str], stage: str | None) -> None:
    assert stage_of_states(LegState(state) for state in states) == stage


def test_what_is_cancelled_stays_cancelled() -> None:
    assert LEG_MOVES[LegState.CANCELLED] == frozenset()
    assert set(LEG_MOVES) == set(LegState)


LEG = LegProposal("talent", "bob", "A shoot", NOW_MS, NOW_MS + HOUR_MS, "Europe/Vienna", 100, 0)


def _propose(*legs: LegProposal, buyer: str = "ann", currency: str = "EUR") -> None:
    check_proposal(
        buyer=buyer, currency=currency, legs=legs, policy=POLICY, thread_id=None, now_ms=NOW_MS
    )


@pytest.mark.parametrize(
    "leg",
    [
        replace(LEG, title=" \n "),
        replace(LEG, title="x" * 201),
        replace(LEG, end_ms=LEG.start_ms),
        replace(LEG, end_ms=LEG.start_ms - 1),
        replace(LEG, end_ms=LEG.start_ms + 30 * DAY_MS + 1),
        replace(LEG, start_ms=NOW_MS + 1831 * DAY_MS, end_ms=NOW_MS + 1832 * DAY_MS),
        replace(LEG, start_ms=-1),
        replace(LEG, timezone="Vienna"),
        replace(LEG, timezone="../etc/passwd"),
        replace(LEG, timezone="+01:00"),
        replace(LEG, price_cents=-1),
        replace(LEG, deposit_cents=10**13 + 1),
        replace(LEG, seller="ann"),
    ],
)
def test_a_leg_that_cannot_be_is_refused(leg: LegProposal) -> None:
    with pytest.raises(InvalidRequest):
        _propose(leg)


def test_a_booking_has_1_to_20_legs_and_one_currency() -> None:
    _propose(*[LEG] * 20)
    for legs in ([], [LEG] * 21):
        with pytest.raises(InvalidRequest):
            _propose(*legs)
    with pytest.raises(InvalidRequest):
        _propose(LEG, currency="eur")
    with pytest.raises(InvalidRequest):
        _propose(*[replace(LEG, price_cents=10**13)] * 2)


def test_a_leg_may_span_a_night_in_which_the_clocks_change() -> None:
    start = datetime(2027, 3, 28, 0, tzinfo=ZoneInfo("Europe/Vienna"))
    times = milliseconds_of(start), milliseconds_of(start + timedelta(hours=3))
    _propose(replace(LEG, start_ms=times[0], end_ms=times[1]))
