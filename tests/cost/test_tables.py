"""The tables of prices and units: what they hold, and that nothing wrong in them goes unnoticed."""

import json
from pathlib import Path
from typing import Any

import pytest

import greenroom.cost
from greenroom.cost.tables import (
    Price,
    PriceTier,
    TableError,
    prices,
    read_prices,
    read_units,
    units,
)

FOLDER = Path(greenroom.cost.__file__).parent


def table(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return document


def test_prices_have_a_date_a_region_and_say_that_they_are_to_be_checked() -> None:
    found = prices()
    assert found.as_of == table("prices.json")["as_of"]
    assert found.region == "us-east-1"
    assert "check them" in found.note


def test_on_demand_prices_are_those_since_november_2024() -> None:
    found = prices().prices
    assert found.dynamodb_write.cost(1_000_000, free_tier=False) == pytest.approx(0.625)
    assert found.dynamodb_read.cost(1_000_000, free_tier=False) == pytest.approx(0.125)


def test_a_read_that_finds_something_costs_no_less_than_one_that_does_not() -> None:
    operations = units().operations
    assert operations.sync_one_message.read >= operations.sync_nothing_new.read > 0


def test_an_unknown_operation_is_an_error() -> None:
    document = table("units.json")
    document["operations"]["apend"] = document["operations"]["append"]
    with pytest.raises(TableError, match="apend"):
        read_units(json.dumps(document).encode())


@pytest.mark.parametrize("name", table("units.json")["operations"])
def test_an_operation_left_out_is_an_error(name: str) -> None:
    document = table("units.json")
    del document["operations"][name]
    with pytest.raises(TableError, match=name):
        read_units(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("field", "value"), [("read", -1), ("write", "12"), ("write", None), ("bytes_stored", 1.5)]
)
def test_units_that_cannot_be_are_an_error(field: str, value: object) -> None:
    document = table("units.json")
    document["operations"]["append"][field] = value
    with pytest.raises(TableError, match=rf"units\.json.*append\.{field}"):
        read_units(json.dumps(document).encode())


def test_a_misspelt_or_negative_price_is_an_error() -> None:
    misspelt, negative = table("prices.json"), table("prices.json")
    misspelt["prices"]["s3_gets"] = misspelt["prices"].pop("s3_get")
    negative["prices"]["s3_get"]["usd"] = -1
    for document in (misspelt, negative):
        with pytest.raises(TableError, match=r"prices\.json"):
            read_prices(json.dumps(document).encode())


def test_steps_make_only_what_is_beyond_them_cheaper() -> None:
    price = Price("GB", 10, beyond=(PriceTier(100, 5), PriceTier(300, 1)))
    assert price.cost(40, free_tier=False) == 400
    assert price.cost(100, free_tier=False) == 1000
    assert price.cost(150, free_tier=False) == 1250
    assert price.cost(400, free_tier=False) == 1000 + 1000 + 100


def test_free_allowances_count_when_they_are_asked_for() -> None:
    price = Price("requests", 2, per=10, free=100)
    assert price.cost(150, free_tier=False) == 30
    assert price.cost(150, free_tier=True) == 10
    assert price.cost(99, free_tier=True) == 0
