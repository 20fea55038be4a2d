"""What each operation consumes: as greenroom/cost/units.json says, however much the table holds.

A figure that differs is a change of what the store costs. `python -m bench.units --write` measures
anew; the difference then shows in review.
"""

from collections.abc import AsyncIterator

import pytest

from bench.units.report import as_markdown, units_of
from bench.units.scenario import Bench, Measured, measure_all, measure_two
from greenroom.cost.tables import Units, units
from greenroom.platform.dynamodb.credentials import Access

from .world import IS_FULL

FEW, MANY = 1000, 100_000 if IS_FULL else 20_000


@pytest.fixture(scope="module")
async def bench(dynamodb_access: Access, dynamodb_table: str) -> AsyncIterator[Bench]:
    opened = Bench(dynamodb_access, dynamodb_table)
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
async def measured(bench: Bench) -> dict[str, Measured]:
    found = await measure_all(bench, FEW)
    print(as_markdown(found))
    return found


def expected() -> dict[str, Units]:
    table = units()
    billed = {name: getattr(table.operations, name) for name in table.operations.__struct_fields__}
    return {**billed, **table.further}


async def test_operations_consume_what_the_table_of_units_says(
    measured: dict[str, Measured],
) -> None:
    assert {name: units_of(each) for name, each in measured.items()} == expected()


async def test_the_size_of_a_thread_changes_nothing(
    bench: Bench, measured: dict[str, Measured]
) -> None:
    again = await measure_two(bench, MANY)
    print(as_markdown(again))
    few = {name: units_of(measured[name]) for name in again}
    assert {name: units_of(each) for name, each in again.items()} == few
