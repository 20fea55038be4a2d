"""Validates deliveries against the catalogue, more strictly than receivers should."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from greenroom.events.model import LoggedEvent
from greenroom.webhooks.body import body_of
from greenroom.webhooks.catalogue.loading import load_events

Json = dict[str, Any]


@cache
def validator(type_name: str) -> Draft202012Validator:
    """Here fields that the schema does not name are faults: they could tell what nobody meant to
    tell."""
    schema = _closed(load_events()[type_name].schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def _closed(value: Any) -> Any:
    if isinstance(value, list):
        return [_closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    closed = {name: _closed(each) for name, each in value.items()}
    if isinstance(value.get("properties"), dict) and "required" in value:
        closed["additionalProperties"] = False
    return closed


def check(event: LoggedEvent, data: Json) -> None:
    body = body_of(event, data)
    faults = [fault.message for fault in validator(event.type).iter_errors(body)]
    assert not faults, (event.type, faults, body)


def texts_in(value: object) -> set[str]:
    """All text in a JSON value, names of fields aside."""
    if isinstance(value, dict):
        return {text for each in value.values() for text in texts_in(each)}
    if isinstance(value, list):
        return {text for each in value for text in texts_in(each)}
    return {value} if isinstance(value, str) else set()
