"""The catalogue of events, and the page that is made of it."""

import json
import re

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from greenroom.webhooks.catalogue import EVENT_TYPES
from greenroom.webhooks.catalogue.loading import EventType, load_events
from tests.webhooks.schemas import validator
from tools.events import PAGE, page

EVENTS = list(load_events().values())


def test_every_type_has_a_file() -> None:
    assert frozenset(load_events()) == EVENT_TYPES
    assert len(EVENT_TYPES) > 40


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.name)
def test_the_example_is_valid_and_the_schema_stands_alone(event: EventType) -> None:
    Draft202012Validator.check_schema(event.schema)
    assert event.schema["properties"]["type"] == {"const": event.name}
    faults = [fault.message for fault in validator(event.name).iter_errors(event.example)]
    assert faults == []


@pytest.mark.parametrize("event", EVENTS, ids=lambda each: each.name)
def test_an_event_without_what_it_is_about_is_not_valid(event: EventType) -> None:
    for name in event.data["required"]:
        data = {key: value for key, value in event.example["data"].items() if key != name}
        assert not validator(event.name).is_valid({**event.example, "data": data})


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run `make events`."


def test_the_page_has_every_event_with_its_example() -> None:
    blocks = re.findall(r"```json\n(.*?)```", page(), re.DOTALL)
    shown = {example["type"]: example for example in map(json.loads, blocks)}
    assert shown == {each.name: each.example for each in EVENTS}
