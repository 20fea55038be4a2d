"""Units are those of AWS's price list, and are counted under the operation that spends them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import REGISTRY

from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.metering import Meter, operation
from greenroom.platform.dynamodb.table import UNLESS_THERE, Check, Delete, Put, Table, Update

KILOBYTE = "x" * 1000


@pytest.fixture
def spent(meter: Meter) -> Meter:
    meter.begin_again()
    return meter


@contextmanager
def doing(name: str) -> Iterator[None]:
    before = operation.set(name)
    try:
        yield
    finally:
        operation.reset(before)


def written(meter: Meter) -> float:
    return meter.snapshot()["other"][1]


async def test_a_write_costs_a_unit_per_kilobyte(table: Table, spent: Meter, pk: str) -> None:
    await table.write(Put({"pk": pk, "sk": "a", "text": "x" * 900}))
    assert spent.snapshot() == {"other": (0, 1, 1)}
    await table.write(Put({"pk": pk, "sk": "b", "text": "x" * 1100}))
    assert spent.snapshot() == {"other": (0, 3, 2)}


async def test_a_read_costs_a_unit_per_4_kilobytes_and_half_if_it_may_be_old(
    table: Table, spent: Meter, pk: str
) -> None:
    await table.write(Put({"pk": pk, "sk": "a", "text": 5 * KILOBYTE}))
    spent.begin_again()
    await table.get((pk, "a"))
    assert spent.snapshot() == {"other": (2, 0, 1)}
    await table.get((pk, "a"), consistent=False)
    await table.query(pk, consistent=False)
    assert spent.snapshot() == {"other": (4, 0, 3)}
    await table.get((pk, "absent"))
    assert spent.snapshot() == {"other": (5, 0, 4)}


async def test_moving_an_item_in_an_index_costs_three(table: Table, spent: Meter, pk: str) -> None:
    await table.write(Put({"pk": pk, "sk": "a", "gsi1pk": pk, "gsi1sk": "1"}))
    assert written(spent) == 2
    spent.begin_again()
    # The item, its place in the index that goes, and the one that comes.
    await table.write(Update((pk, "a"), "SET gsi1sk = :to", values={":to": "2"}))
    assert written(spent) == 3


async def test_a_transaction_costs_twice(table: Table, spent: Meter, pk: str) -> None:
    await table.transact([Put({"pk": pk, "sk": "a"}), Put({"pk": pk, "sk": "b"})])
    assert written(spent) == 4
    spent.begin_again()
    await table.transact([Delete((pk, "a")), Check((pk, "b"), "attribute_exists(pk)")])
    assert written(spent) == 4


async def test_a_repeat_with_its_token_only_reads(table: Table, spent: Meter, pk: str) -> None:
    for _ in range(2):
        await table.transact([Put({"pk": pk, "sk": "a"})], token=f"token-{pk}")
    reads, writes, requests = spent.snapshot()["other"]
    assert (writes, requests) == (2, 2)
    assert reads > 0


async def test_a_failed_condition_is_a_request_of_unknown_cost(
    table: Table, spent: Meter, pk: str
) -> None:
    put = Put({"pk": pk, "sk": "a"}, UNLESS_THERE)
    await table.write(put)
    with pytest.raises(ConditionFailed):
        await table.write(put)
    with pytest.raises(Cancelled):
        await table.transact([put])
    assert spent.snapshot() == {"other": (0, 1, 3)}


async def test_each_operation_has_its_own_count(table: Table, spent: Meter, pk: str) -> None:
    with doing("append"):
        await table.write(Put({"pk": pk, "sk": "a"}))
        await table.write_many([Put({"pk": pk, "sk": "b"}), Put({"pk": pk, "sk": "c"})])
    with doing("inbox"):
        await table.get_many([(pk, "a"), (pk, "b")])
    assert spent.snapshot() == {"append": (0, 3, 2), "inbox": (2, 0, 1)}


async def test_prometheus_has_the_same_numbers(table: Table, pk: str) -> None:
    with doing(f"operation-{pk}"):
        await table.write(Put({"pk": pk, "sk": "a"}))
        await table.get((pk, "a"))

    def sample(name: str, **labels: str) -> float | None:
        labels["operation"] = f"operation-{pk}"
        return REGISTRY.get_sample_value(f"greenroom_dynamodb_{name}_total", labels)

    assert sample("units", kind="read") == 1
    assert sample("units", kind="write") == 1
    assert sample("requests", action="PutItem") == 1
    assert sample("requests", action="GetItem") == 1
