"""The bill, checked against figures that were computed by hand, and for what must always hold."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.cost.assumptions import MINUTES_PER_DAY, Assumptions, ImpossibleError
from greenroom.cost.curve import EXPONENTS, curve
from greenroom.cost.model import bill, count
from greenroom.cost.reasons import reasons
from greenroom.cost.simple_estimate import SIMPLE_LINES, SIMPLE_TOTAL_USD
from greenroom.cost.tables import prices, units
from greenroom.cost.waiting import waiting

from .rig import PRICES, UNITS

# 100 messages a day of 10 conversations between 20 people; 3000 messages a month.
SMALL = Assumptions(
    messages_per_day=100,
    conversations=10,
    files_per_day=10,
    file_mb=2,
    message_bytes=1000,
    active_minutes=1,
    background_minutes=2,
    idle_minutes=3,
    visits_per_day=1,
)


def test_operations_of_a_month() -> None:
    counts = count(SMALL)
    assert counts.append == 3000
    # 20 polls at 3 s, 12 at 10 s, 6 at 30 s: 38 a day for each of 20 people.
    polls = 38 * 20 * 30
    # Each message is news for two, its receipt for one, half a mark for two.
    news = 3000 * 4
    assert counts.sync_one_message == news
    assert counts.sync_nothing_new == pytest.approx(polls - news)
    assert counts.inbox == counts.thread_page == 600
    assert counts.mark_read == 1500
    assert counts.acknowledge == 3000
    assert counts.start_thread == 10
    assert counts.edit == pytest.approx(60)
    assert counts.delete == pytest.approx(30)
    # Every fourth of 20 polls, each of 12, each of 6.
    assert counts.presence == pytest.approx((5 + 12 + 6) * 20 * 30)
    assert counts.typing == counts.recheck == counts.look == 0


def test_operations_of_a_month_on_streams() -> None:
    counts = count(replace(SMALL, streaming_share=1))
    assert counts.sync_nothing_new == 0
    assert counts.sync_one_message == 12_000
    assert counts.typing == 3000
    open_s = 6 * 60 * 20 * 30
    assert counts.recheck == open_s / 10
    assert counts.presence == pytest.approx(open_s / 20)
    assert counts.look == open_s / 6 / 20


def test_lines_of_a_small_bill() -> None:
    month = bill(SMALL, UNITS, PRICES)
    usd = {line.name: line.usd for line in month.lines}
    # 3000 bytes are three KB to delete, and the client id.
    writes = 3000 * (20 + 4) + 1500 * 14 + 3000 * 10 + 10 * 40 + 90 * 12 + 13_800
    reads = 3000 * 2 + 600 * 10 + 10_800 + 12_000 * 4 + 4500 * 4 + 80 + 90 * 4
    # 30 days of messages, edits and deletions; the threads; 7 days of 400 feed entries.
    stored = 3000 * 3000 + 60 * 1000 + 30 * 2000 + 10 * 5000 + 2800 * 265
    assert month.usage.writes == pytest.approx(writes)
    assert month.usage.reads == pytest.approx(reads)
    assert usd["DynamoDB writes"] == pytest.approx(writes * 0.5e-6)
    assert usd["DynamoDB reads"] == pytest.approx(reads * 0.1e-6)
    assert usd["DynamoDB storage"] == pytest.approx(stored / 1e9 * 0.25)
    assert usd["Point-in-time recovery"] == pytest.approx(stored / 1e9 * 0.2)
    assert usd["S3 storage"] == pytest.approx(0.6 * 0.02)
    assert usd["S3 requests"] == pytest.approx(300 * 5e-6 + 300 * 0.5e-6)
    # Polls, sends, marks, pages, starts, edits, deletions; an address for each way of a file.
    calls = 22_800 + 3000 + 1500 + 1200 + 10 + 90 + 600
    assert usd["Lambda"] == pytest.approx(calls * 0.2e-6 + calls * 0.25 * 0.1 * 2e-5)
    transfer = 22_800 * 400 + 12_000 * 600 + 6000 * 2600 + 600 * 20_000 + 600 * 50 * 2600 + 600e6
    assert usd["Data transfer out"] == pytest.approx(transfer / 1e9 * 0.1)
    assert usd["Servers for streams"] == 0
    assert usd["PostgreSQL"] == pytest.approx(720 * 0.01 + 20 * 0.1)


def test_servers_are_sized_for_the_busiest_minute() -> None:
    many = replace(SMALL, streaming_share=1).scaled_to(100_000_000)
    used = bill(many, UNITS, PRICES).usage
    streams = 20_000_000 * 6 / 1440
    requests = (3000 + 1500 + 1200 + 10 + 90 + 3000 + 600) * 1e6 / (30 * 86400)
    assert used.server_vcpus == pytest.approx(4 * (streams / 20_000 + requests / 500))
    assert bill(replace(SMALL, streaming_share=1), UNITS, PRICES).usage.server_vcpus == 0.25


def test_longer_messages_cost_more_than_was_measured() -> None:
    month = bill(SMALL, UNITS, PRICES)
    longer = bill(replace(SMALL, message_bytes=1000 + 1024), UNITS, PRICES)
    # Two KB more, as text and as HTML: four units to write, two to delete; half a unit to read.
    assert longer.usage.writes - month.usage.writes == pytest.approx(3000 * (4 + 2))
    assert longer.usage.reads - month.usage.reads == pytest.approx((12_000 + 600 * 50) * 0.5)
    assert longer.usage.stored_gb - month.usage.stored_gb == pytest.approx(3000 * 2048 / 1e9)


def test_the_free_tier_is_applied_only_when_asked_for() -> None:
    free = bill(replace(SMALL, free_tier=True), UNITS, PRICES)
    assert free.line("DynamoDB storage").usd == 0
    assert free.line("Lambda").usd == 0
    assert free.line("Data transfer out").usd == 0
    assert (
        free.line("DynamoDB writes").usd == bill(SMALL, UNITS, PRICES).line("DynamoDB writes").usd
    )


def test_waiting_costs_what_it_reads_writes_and_runs_on() -> None:
    polling, streaming = waiting(SMALL, UNITS, PRICES)
    assert polling.checks == polling.read_units == pytest.approx(22_800)
    assert polling.reads_usd == pytest.approx(22_800 * 0.1e-6)
    assert polling.presence_usd == pytest.approx(13_800 * 0.5e-6)
    assert polling.host_usd == pytest.approx(22_800 * (0.2e-6 + 0.25 * 0.1 * 2e-5))
    assert polling.open_hours == streaming.open_hours == 60
    assert streaming.checks == pytest.approx(21_600 + 1800)
    assert streaming.read_units == pytest.approx(21_600 * 0.5 + 1800 * 3)
    assert streaming.host_usd == pytest.approx(0.25 * 720 * (0.04 + 2 * 0.005))


def test_the_defaults_are_the_simple_estimates_million_polls() -> None:
    a = Assumptions()
    assert a.polls_per_person * a.people * 30 == pytest.approx(1_000_000, rel=0.01)
    assert (a.messages_per_day, a.conversations, a.files_per_day) == (1000, 100, 100)


def test_each_line_of_the_simple_estimate_stands_beside_one_of_ours_with_a_reason() -> None:
    month = bill(Assumptions(), units(), prices().prices)
    given_reasons = reasons(month, units())
    names = [line.name for line in month.lines]
    assert [line.name for line in SIMPLE_LINES] == names[: len(SIMPLE_LINES)]
    assert set(given_reasons) == set(names)
    for line in SIMPLE_LINES:
        assert f"The simple estimate's ${line.usd:.2f}: {line.origin}" in given_reasons[line.name]


def test_what_is_said_of_the_simple_estimates_arithmetic_is_so() -> None:
    by_name = {line.name: line for line in SIMPLE_LINES}
    assert sum(line.usd for line in SIMPLE_LINES) == pytest.approx(2.97)
    assert SIMPLE_TOTAL_USD == 3
    assert by_name["DynamoDB reads"].usd_per_unit * 1e6 == pytest.approx(10 * 0.25)
    assert by_name["DynamoDB writes"].usd_per_unit * 1e6 == pytest.approx(10 * 1.25, rel=0.02)
    assert by_name["S3 storage"].usd == pytest.approx(3 * 0.023, abs=0.005)
    assert by_name["S3 requests"].usd == pytest.approx(3 * 0.005, abs=0.0051)
    compute = 2 - 1.03 * 0.2
    assert compute / 0.0000166667 == pytest.approx(107_000, rel=0.01)
    assert compute / 0.0000166667 / 1_030_000 / 0.128 == pytest.approx(0.8, abs=0.05)


def test_the_curve_grows_in_proportion_once_it_has_left_the_smallest_machines() -> None:
    points = curve(Assumptions(), units(), prices().prices)
    assert [point.messages_per_day for point in points] == [10.0**n for n in EXPONENTS]
    for smaller, larger in pairwise(points):
        assert larger.writes_per_s == pytest.approx(10 * smaller.writes_per_s)
        assert smaller.usd < larger.usd <= 10 * smaller.usd
        assert larger.usd_per_million < smaller.usd_per_million
    assert points[0].peak_writes_per_s == pytest.approx(4 * points[0].writes_per_s)
    # Polling is cheaper for a few people, streams for many.
    assert points[0].streaming_usd > points[0].usd
    assert points[-1].streaming_usd < points[-1].usd


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages_per_day": -1},
        {"messages_per_day": math.nan},
        {"file_mb": math.inf},
        {"streaming_share": -0.1},
        {"active_minutes": 1000, "idle_minutes": 1000},
    ],
)
def test_impossible_assumptions_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ImpossibleError):
        Assumptions(**wrong)  # type: ignore[arg-type]


NUMBERS = {each.name: each.metadata for each in fields(Assumptions) if each.metadata}
# A better machine makes the bill smaller, and streams make it either.
NOT_GROWING = {"streaming_share", "streams_per_vcpu", "requests_per_vcpu"}
MINUTES = {"active_minutes", "background_minutes", "idle_minutes"}


def number(name: str) -> st.SearchStrategy[float]:
    most = MINUTES_PER_DAY / 3 if name in MINUTES else min(NUMBERS[name]["most"], 1e10)
    return st.floats(NUMBERS[name]["least"], most)


some_assumptions = st.builds(
    Assumptions, **{name: number(name) for name in NUMBERS}, free_tier=st.booleans()
)


@settings(max_examples=100, deadline=None)
@given(some_assumptions)
def test_lines_are_never_negative_and_add_up(a: Assumptions) -> None:
    month = bill(a, units(), prices().prices)
    assert all(line.usd >= 0 and line.amount >= 0 for line in month.lines)
    assert month.total_usd == pytest.approx(sum(line.usd for line in month.lines))


@pytest.mark.parametrize("name", sorted(NUMBERS.keys() - NOT_GROWING))
@settings(max_examples=40, deadline=None)
@given(data=st.data(), a=some_assumptions)
def test_the_bill_grows_with_each_assumption(
    name: str, data: st.DataObject, a: Assumptions
) -> None:
    less, more = sorted((getattr(a, name), data.draw(number(name))))
    low = bill(replace(a, **{name: less}), units(), prices().prices).total_usd
    high = bill(replace(a, **{name: more}), units(), prices().prices).total_usd
    assert high >= low * (1 - 1e-9)
