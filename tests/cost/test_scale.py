"""docs/scale.md and the script that it quotes: no figure without a command that prints it."""

import math
import re
from dataclasses import replace

import pytest

from bench.scale import layout
from bench.scale.__main__ import SEED, printed
from bench.scale.ceilings import CEILINGS, given_way, reached_at
from bench.scale.conflicts import FEED, THREAD, Load, Shape, simulate
from bench.scale.document import DocumentError, fill
from bench.scale.levels import Level, harmonic, levels
from bench.scale.tables import TABLES
from greenroom.cost.tables import units
from tests.support import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "scale.md"
NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
NOT_PROSE = re.compile(r"<!-- table.*?<!-- end -->|`[^`]*`|10\^\d|1/k", re.DOTALL)


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    return {name: make(SEED) for name, (_, make) in TABLES.items()}


def test_the_documents_tables_are_what_the_script_prints(tables: dict[str, str]) -> None:
    text = DOCUMENT.read_text()
    assert fill(text, tables) == text, "run: python -m bench.scale --update docs/scale.md"


def test_the_documents_other_figures_are_in_its_tables(tables: dict[str, str]) -> None:
    prose = NOT_PROSE.sub("", DOCUMENT.read_text())
    figures = set(NUMBER.findall("\n".join(tables.values())))
    assert set(NUMBER.findall(prose)) <= figures


def test_the_script_prints_its_seed_and_every_table(tables: dict[str, str]) -> None:
    text = printed(tables, SEED)
    assert text.startswith(f"Seed {SEED},")
    assert all(table in text for table in tables.values())


def test_a_document_without_a_place_for_a_table_is_refused(tables: dict[str, str]) -> None:
    with pytest.raises(DocumentError, match="growth"):
        fill("<!-- table: first -->\n<!-- end -->", tables)


@pytest.mark.parametrize("exponent", [0.8, 1.0])
def test_the_sum_over_many_is_close_to_the_exact_one(exponent: float) -> None:
    exact = math.fsum(1 / math.pow(k, exponent) for k in range(1, 100_001))
    assert harmonic(100_000, exponent) == pytest.approx(exact, rel=1e-6)
    assert harmonic(3, exponent) == pytest.approx(1 + 1 / 2**exponent + 1 / 3**exponent)


def test_use_of_every_limit_grows_with_messages() -> None:
    for ceiling in CEILINGS:
        shares = [ceiling.share(level) for level in levels()]
        assert shares == sorted(shares)
        assert shares[0] > 0


def test_each_limit_is_used_up_where_the_table_says() -> None:
    for ceiling in CEILINGS:
        at = reached_at(ceiling)
        if at is not None:
            assert ceiling.share(Level(math.log10(at * 1.0001))) > 1
            assert ceiling.share(Level(math.log10(at * 0.9999))) <= 1
    in_order = [at for at, _ in given_way(0, math.inf)]
    assert in_order == sorted(in_order)
    assert len(in_order) == sum(reached_at(each) is not None for each in CEILINGS)


def test_what_the_layout_writes_between_two_is_what_was_measured() -> None:
    operations = units().operations
    assert layout.send_writes(2) == pytest.approx(operations.append.write, rel=0.2)
    assert layout.mark_writes(2) == pytest.approx(operations.mark_read.write, rel=0.2)
    assert layout.receipt_writes(2) == pytest.approx(operations.acknowledge.write, rel=0.2)


@pytest.mark.parametrize("members", [2, 10, 50])
def test_a_thread_at_its_most_is_just_full(members: int) -> None:
    most = layout.live_sends_per_s(members, batch=1, marks=1)
    heat = layout.live_heat(members, most, batch=1, marks=1)
    assert heat == pytest.approx(layout.PARTITION_WRITES_PER_S)


LOAD = Load(THREAD, processes=4, latency_ms=10, offered_per_s=50, seconds=20)


def test_a_simulation_repeats_itself_with_its_seed() -> None:
    assert simulate(LOAD, 7) == simulate(LOAD, 7)
    assert simulate(LOAD, 7) != simulate(LOAD, 8)


@pytest.mark.parametrize("shape", [THREAD, FEED])
def test_one_process_never_stands_in_its_own_way(shape: Shape) -> None:
    alone = simulate(replace(LOAD, shape=shape, processes=1), SEED)
    assert alone.attempts_per_write == pytest.approx(1, abs=0.01)
    assert alone.refused == 0
    together = simulate(replace(LOAD, shape=shape, processes=16), SEED)
    assert together.attempts_per_write > 1.5
    assert together.p99_ms > alone.p99_ms


def test_an_entry_takes_its_turn_so_a_feed_has_a_pace() -> None:
    flooded = simulate(replace(LOAD, shape=FEED, processes=1, offered_per_s=1000), SEED)
    assert flooded.done_per_s == pytest.approx(100, rel=0.05)
    assert flooded.refused > 0


def test_a_batch_lifts_the_pace_of_a_thread() -> None:
    flooded = replace(LOAD, processes=1, offered_per_s=1000)
    alone = simulate(replace(flooded, shape=replace(THREAD, batch=1)), SEED)
    assert alone.done_per_s == pytest.approx(50, rel=0.05)
    assert simulate(flooded, SEED).done_per_s == pytest.approx(1000, rel=0.05)
