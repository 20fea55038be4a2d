"""Writing: conditions and what they met, batches, transactions."""

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.client import ATTEMPTS
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed, DynamoDbError
from greenroom.platform.dynamodb.table import (
    UNLESS_THERE,
    Check,
    Delete,
    Put,
    Table,
    Update,
)

from .faults import FaultyTable, half_done, nothing_done


async def test_a_put_whose_condition_fails_shows_what_was_there(table: Table, pk: str) -> None:
    first = {"pk": pk, "sk": "a", "n": 1}
    await table.write(Put(first, UNLESS_THERE))
    with pytest.raises(ConditionFailed) as refused:
        await table.write(Put({**first, "n": 2}, UNLESS_THERE))
    assert refused.value.item == first
    assert await table.get((pk, "a")) == first


async def test_a_condition_about_nothing_shows_nothing(table: Table, pk: str) -> None:
    for op in (
        Update((pk, "a"), "SET n = :n", "attribute_exists(pk)", {":n": 1}),
        Delete((pk, "a"), "n = :n", {":n": 1}),
        Put({"pk": pk, "sk": "a"}, "n > :n", {":n": 1}),
    ):
        with pytest.raises(ConditionFailed) as refused:
            await table.write(op)
        assert refused.value.item is None
    assert await table.get((pk, "a")) is None


async def test_an_update_sets_removes_and_adds(table: Table, pk: str) -> None:
    await table.write(Put({"pk": pk, "sk": "a", "gone": 1, "view": "old"}))
    await table.write(
        Update(
            (pk, "a"),
            "SET #v = :v REMOVE gone ADD n :one",
            "#v = :old",
            {":v": {"x": b"1"}, ":one": 1, ":old": "old"},
            {"#v": "view"},
        )
    )
    assert await table.get((pk, "a")) == {"pk": pk, "sk": "a", "view": {"x": b"1"}, "n": 1}


async def test_a_delete_removes(table: Table, pk: str) -> None:
    await table.write(Put({"pk": pk, "sk": "a", "n": 1}))
    await table.write(Delete((pk, "a"), "n = :n", {":n": 1}))
    await table.write(Delete((pk, "a")))
    assert await table.get((pk, "a")) is None


async def test_many_writes_go_whatever_their_number(table: Table, pk: str) -> None:
    await table.write_many([Put({"pk": pk, "sk": f"{n:03}"}) for n in range(60)])
    assert len(await table.query(pk)) == 60
    gone = [Delete((pk, f"{n:03}")) for n in range(0, 60, 2)]
    await table.write_many([*gone, Put({"pk": pk, "sk": "new"})])
    assert [item["sk"] for item in await table.query(pk)] == [
        *(f"{n:03}" for n in range(1, 60, 2)),
        "new",
    ]
    await table.write_many([])


async def test_many_writes_take_no_conditions(table: Table, pk: str) -> None:
    with pytest.raises(ValueError, match="no conditions"):
        await table.write_many([Put({"pk": pk, "sk": "a"}, UNLESS_THERE)])
    assert await table.query(pk) == []


async def test_writes_that_were_left_out_are_repeated(faulty: FaultyTable, pk: str) -> None:
    faulty.meets(half_done, half_done)
    await faulty.table.write_many([Put({"pk": pk, "sk": f"{n:02}"}) for n in range(20)])
    assert len(await faulty.table.query(pk)) == 20
    assert faulty.pauses_s == [0.025, 0.05]


async def test_writes_that_are_always_left_out_end_in_unavailable(
    faulty: FaultyTable, pk: str
) -> None:
    faulty.meets(half_done, *[nothing_done] * ATTEMPTS)
    with pytest.raises(Unavailable):
        await faulty.table.write_many([Put({"pk": pk, "sk": f"{n:02}"}) for n in range(20)])
    assert len(faulty.sent) == ATTEMPTS
    faulty.plan.clear()
    assert len(await faulty.table.query(pk)) == 10


async def test_a_transaction_happens_as_a_whole(table: Table, pk: str) -> None:
    await table.write_many([Put({"pk": pk, "sk": sk, "n": 1}) for sk in "abc"])
    await table.transact(
        [
            Check((pk, "a"), "n = :one", {":one": 1}),
            Update((pk, "b"), "ADD n :one", values={":one": 1}),
            Delete((pk, "c"), "#n = :one", {":one": 1}, {"#n": "n"}),
            Put({"pk": pk, "sk": "d"}, UNLESS_THERE),
        ]
    )
    found = {item["sk"]: item.get("n") for item in await table.query(pk)}
    assert found == {"a": 1, "b": 2, "d": None}


async def test_a_cancelled_transaction_says_which_and_shows_what_was_there(
    table: Table, pk: str
) -> None:
    there = {"pk": pk, "sk": "a", "n": 1}
    await table.write(Put(there))
    with pytest.raises(Cancelled) as refused:
        await table.transact(
            [
                Put({"pk": pk, "sk": "b"}),
                Put({"pk": pk, "sk": "a"}, UNLESS_THERE),
                Check((pk, "c"), "attribute_exists(pk)"),
            ]
        )
    cancelled = refused.value
    assert cancelled.failed == [1, 2]
    assert [reason.code for reason in cancelled.reasons] == [
        "None",
        "ConditionalCheckFailed",
        "ConditionalCheckFailed",
    ]
    assert [reason.item for reason in cancelled.reasons] == [None, there, None]
    assert await table.get((pk, "b")) is None


async def test_a_transaction_repeated_with_its_token_happens_once(table: Table, pk: str) -> None:
    ops = [Update((pk, "a"), "ADD n :one", values={":one": 1})]
    for _ in range(3):
        await table.transact(ops, token=f"token-{pk}")
    await table.transact(ops)
    assert await table.get((pk, "a")) == {"pk": pk, "sk": "a", "n": 2}


async def test_a_token_belongs_to_one_transaction(table: Table, pk: str) -> None:
    await table.transact([Put({"pk": pk, "sk": "a"})], token=f"token-{pk}")
    with pytest.raises(DynamoDbError) as refused:
        await table.transact([Put({"pk": pk, "sk": "b"})], token=f"token-{pk}")
    assert refused.value.code == "IdempotentParameterMismatchException"


async def test_a_transaction_has_1_to_100_operations(table: Table, pk: str) -> None:
    hundred = [Put({"pk": pk, "sk": f"{n:03}"}) for n in range(100)]
    await table.transact(hundred)
    assert len(await table.query(pk)) == 100
    for ops in ([], [*hundred, Put({"pk": pk, "sk": "more"})]):
        with pytest.raises(ValueError, match="1 to 100 operations"):
            await table.transact(ops)
