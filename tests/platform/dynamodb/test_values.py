"""Values survive a round trip, and those that cannot are refused before they are sent."""

from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.platform.dynamodb.table import Put, Table
from greenroom.platform.dynamodb.values import from_wire, to_wire

DIGITS_38 = 10**38 - 1

scalars = st.one_of(
    st.text(),
    st.integers(-DIGITS_38, DIGITS_38),
    st.booleans(),
    st.binary(),
)
values = st.recursive(
    scalars | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1), values, max_size=8))
def test_an_item_comes_back_without_what_is_none(item: dict[str, Any]) -> None:
    assert from_wire(to_wire(item)) == {k: v for k, v in item.items() if v is not None}


def test_the_forms_are_those_of_dynamodb() -> None:
    item = {"s": "", "n": -12, "t": True, "b": b"\x00\xff", "l": [1, None], "m": {"x": "y"}}
    assert to_wire(item) == {
        "s": {"S": ""},
        "n": {"N": "-12"},
        "t": {"BOOL": True},
        "b": {"B": "AP8="},
        "l": {"L": [{"N": "1"}, {"NULL": True}]},
        "m": {"M": {"x": {"S": "y"}}},
    }


async def test_the_engine_gives_back_what_it_was_given(table: Table, pk: str) -> None:
    item = {
        "pk": pk,
        "sk": "1",
        "text": "naïve\x00 😀",
        "empty": "",
        "number": -DIGITS_38,
        "yes": True,
        "no": False,
        "data": bytes(range(256)),
        "nothing": b"",
        "list": [1, "a", None, [], {}],
        "map": {"a.b": {"c": [b"x"]}},
    }
    await table.write(Put(item))
    assert await table.get((pk, "1")) == item


def test_enumerations_are_their_values() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Size(IntEnum):
        BIG = 3

    assert from_wire(to_wire({"a": Colour.RED, "b": Size.BIG})) == {"a": "red", "b": 3}


@pytest.mark.parametrize("value", [1.5, float("nan"), {1}, (1,), object()])
def test_what_would_come_back_as_something_else_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="DynamoDB keeps no"):
        to_wire({"inside": [{"a": value}]})
