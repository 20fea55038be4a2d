"""Reading a table: by key, by range, by index, in pages."""

from typing import Any

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.client import ATTEMPTS
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Key, Put, Table
from greenroom.platform.dynamodb.values import Item

from .faults import FaultyTable, half_done, nothing_done

# Four of these are more than the megabyte that one request reads.
LARGE = "x" * 350_000


@pytest.fixture
async def letters(table: Table, pk: str) -> str:
    """A partition of a to f, which GSI1 has in the opposite order."""
    await table.write_many(
        [
            Put({"pk": pk, "sk": letter, "gsi1pk": pk, "gsi1sk": f"{9 - place}", "n": place})
            for place, letter in enumerate("abcdef")
        ]
    )
    return pk


def sort_keys(items: list[Item]) -> str:
    return "".join(item["sk"] for item in items)


async def test_an_item_is_found_by_its_key(table: Table, letters: str) -> None:
    found = await table.get((letters, "c"))
    assert found is not None
    assert found["n"] == 2
    assert await table.get((letters, "x")) is None


async def test_many_items_are_found_whatever_their_number(
    table: Table, meter: Meter, pk: str
) -> None:
    await table.write_many([Put({"pk": pk, "sk": f"{n:03}", "n": n}) for n in range(230)])
    keys: list[Key] = [(pk, f"{n:03}") for n in range(250)]
    meter.begin_again()
    found = await table.get_many([*keys, *keys])
    assert list(meter.snapshot()) == ["other"]
    assert meter.snapshot()["other"][2] == 3
    assert {key: item["n"] for key, item in found.items()} == {
        key: n for n, key in enumerate(keys[:230])
    }
    assert await table.get_many([]) == {}


async def test_keys_that_were_left_out_are_asked_for_again(faulty: FaultyTable, pk: str) -> None:
    await faulty.table.write_many([Put({"pk": pk, "sk": f"{n}"}) for n in range(8)])
    faulty.meets(half_done, half_done)
    found = await faulty.table.get_many([(pk, f"{n}") for n in range(8)])
    assert len(found) == 8
    assert faulty.pauses_s == [0.025, 0.05]


async def test_keys_that_are_always_left_out_end_in_unavailable(
    faulty: FaultyTable, pk: str
) -> None:
    faulty.meets(*[nothing_done] * ATTEMPTS)
    with pytest.raises(Unavailable) as refused:
        await faulty.table.get_many([(pk, "a"), (pk, "b")])
    assert refused.value.retry_after_s
    assert len(faulty.sent) == ATTEMPTS


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({}, "abcdef"),
        ({"after": "c"}, "def"),
        ({"at_least": "c"}, "cdef"),
        ({"before": "c"}, "ab"),
        ({"prefix": "c"}, "c"),
        ({"between": ("b", "d")}, "bcd"),
        ({"after": "f"}, ""),
        ({"after": None, "limit": None}, "abcdef"),
        ({"limit": 2}, "ab"),
        ({"limit": 0}, ""),
        ({"reverse": True}, "fedcba"),
        ({"reverse": True, "before": "d", "limit": 2}, "cb"),
        ({"index": "GSI1"}, "fedcba"),
        ({"index": "GSI1", "at_least": "7"}, "cba"),
        ({"index": "GSI2"}, ""),
        ({"consistent": False, "after": "d"}, "ef"),
    ],
    ids=str,
)
async def test_a_query_reads_a_part_of_a_partition(
    table: Table, letters: str, part: dict[str, Any], expected: str
) -> None:
    assert sort_keys(await table.query(letters, **part)) == expected


async def test_a_query_takes_one_bound(table: Table, pk: str) -> None:
    with pytest.raises(ValueError, match="one bound, not after and prefix"):
        await table.query(pk, after="a", prefix="b")
    with pytest.raises(ValueError, match="one bound, not before and between"):
        await table.query_page(pk, before="a", between=("a", "b"))


async def test_a_query_follows_the_pages_to_its_limit(table: Table, meter: Meter, pk: str) -> None:
    for letter in "abcdefg":
        await table.write(Put({"pk": pk, "sk": letter, "text": LARGE}))
    meter.begin_again()
    assert sort_keys(await table.query(pk)) == "abcdefg"
    assert meter.snapshot()["other"][2] > 1
    assert sort_keys(await table.query(pk, limit=5)) == "abcde"
    assert sort_keys(await table.query(pk, limit=5, reverse=True)) == "gfedc"


@pytest.mark.parametrize("part", [{}, {"reverse": True}, {"index": "GSI1"}], ids=str)
async def test_pages_put_together_are_the_query(
    table: Table, letters: str, part: dict[str, Any]
) -> None:
    found: list[Item] = []
    start: Item | None = None
    while True:
        page, start = await table.query_page(letters, limit=4, start=start, **part)
        assert len(page) <= 4
        found += page
        if start is None:
            break
    assert found == await table.query(letters, **part)


async def test_an_index_of_keys_has_keys_only(table: Table, pk: str) -> None:
    keys = {"pk": pk, "sk": "a", "gsi2pk": pk, "gsi2sk": "1"}
    await table.write(Put({**keys, "text": "hello"}))
    assert await table.query(pk, index="GSI2") == [keys]


async def test_a_scan_passes_everything_once(table: Table, letters: str) -> None:
    seen: list[Key] = []
    start: Item | None = None
    while True:
        page, start = await table.scan(start=start, limit=7)
        assert len(page) <= 7
        seen += [(item["pk"], item["sk"]) for item in page]
        if start is None:
            break
    assert len(seen) == len(set(seen))
    assert {(letters, letter) for letter in "abcdef"} <= set(seen)


async def test_a_ping_tells_a_table_from_none(table: Table, faulty: FaultyTable) -> None:
    await table.ping()
    with pytest.raises(DynamoDbError, match="greenroom dynamodb create-table"):
        await Table(faulty.client, "no-such-table", Meter()).ping()
