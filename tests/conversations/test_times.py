"""Times that nobody can mean or no calendar can show are refused wherever one is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.cards.catalogue.loading import load_catalogue
from greenroom.cards.model import Schema
from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.kernel.errors import CardInvalid, InvalidRequest
from tests.support.api import Api

OUTSIDE = (
    "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59.999999-00:01",
    "0001-01-01T00:00:00+23:59",
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00+00:01",
)
NO_TIMES = (*OUTSIDE, "2027-02-30T10:00:00Z", "2027-01-01T25:00:00Z", "10000-01-01T00:00:00Z")
NO_DATES = ("0001-01-01", "1969-12-31", "2027-02-30", "2027-13-01", "10000-01-01")


@given(st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1))
def test_any_number_is_shown_as_a_time(at_ms: int) -> None:
    shown = rfc3339(at_ms)
    assert len(shown) == len("2027-01-01T00:00:00.000Z")
    if 0 <= at_ms <= parse_rfc3339("9999-12-31T23:59:59.999Z"):
        assert parse_rfc3339(shown) == at_ms


@pytest.mark.parametrize("text", OUTSIDE)
def test_a_time_outside_of_the_calendar_is_refused_with_words(text: str) -> None:
    with pytest.raises(InvalidRequest, match="muted_until lies between"):
        parse_rfc3339(text, "muted_until")


@pytest.mark.parametrize("until", OUTSIDE)
async def test_a_thread_cannot_be_muted_until_then(api: Api, until: str) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    answer = await bob.patch(f"/v1/threads/{thread_id}/me", {"muted_until": until})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert "muted_until" in answer.json()["detail"]
    assert (await bob.row(thread_id))["muted_until"] is None, "nothing is stored"


async def test_for_good_is_the_last_day_of_the_calendar(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    path = f"/v1/threads/{await ann.thread_with(bob)}/me"
    last = "9999-12-31T23:59:59.999Z"
    answer = await bob.patch(path, {"muted_until": last})
    assert answer.json()["inbox"]["muted_until"] == last


@pytest.mark.parametrize("field", ["start", "end"])
@pytest.mark.parametrize("time", OUTSIDE)
async def test_a_booking_is_not_made_for_then(api: Api, field: str, time: str) -> None:
    ann, bob = await api.people("ann", "bob")
    leg = {"seller": bob.id, "title": "Shoot", "timezone": "Europe/Vienna", "price_cents": 100}
    times = {"start": "2027-05-01T10:00:00Z", "end": "2027-05-01T12:00:00Z", field: time}
    new = {"buyer": ann.id, "currency": "EUR", "legs": [{**leg, **times}]}
    refusal = await api.backend.refusal("POST", "/v1/bookings", new)
    assert refusal == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("time", NO_TIMES)
async def test_a_card_is_not_made_for_then(api: Api, time: str) -> None:
    ann, bob = await api.people("ann", "bob")
    times = {"start": "2027-05-01T10:00:00Z", "end": time, "timezone": "UTC"}
    path = f"/v1/threads/{await ann.thread_with(bob)}/cards"
    refusal = await ann.refusal("POST", path, {"type": "propose_time", "payload": times})
    assert refusal == (422, "CARD_INVALID")


def schemas() -> Iterator[tuple[str, Schema]]:
    for card_type in load_catalogue(None).types.values():
        yield f"{card_type.name} payload", card_type.payload
        for transition in card_type.transitions:
            if transition.input is not None:
                yield f"{card_type.name} {transition.action}", transition.input


def with_times(schema: Any, time: str, date: str) -> Any:
    """A value for this schema with these in every place for a time or a date, and little else."""
    match schema["type"]:
        case "object":
            return {
                name: with_times(inner, time, date)
                for name, inner in schema["properties"].items()
                if name in schema.get("required", ()) or has_time(inner)
            }
        case "array":
            return [with_times(schema["items"], time, date)] * max(1, schema.get("minItems", 0))
        case "string" if schema.get("format") == "date-time":
            return time
        case "string" if schema.get("format") == "date":
            return date
        case "string":
            return schema.get("enum", ["x" * schema.get("minLength", 1)])[0]
        case "boolean":
            return True
        case _:
            return schema.get("enum", [schema.get("minimum", 0)])[0]


def has_time(schema: Any) -> bool:
    if schema["type"] == "object":
        return any(has_time(inner) for inner in schema["properties"].values())
    if schema["type"] == "array":
        return has_time(schema["items"])
    return schema.get("format") in ("date-time", "date")


TIMED = {name: schema for name, schema in schemas() if has_time(schema.document)}


def test_the_catalogue_has_cards_with_times() -> None:
    assert {"propose_time payload", "reschedule payload", "location payload"} <= TIMED.keys()


@pytest.mark.parametrize("name", TIMED)
def test_no_payload_or_input_of_a_card_takes_such_a_time(name: str) -> None:
    schema = TIMED[name]
    schema.check(with_times(schema.document, "2027-05-01T10:00:00+02:00", "2027-05-01"))
    for time in NO_TIMES:
        for date in NO_DATES:
            with pytest.raises(CardInvalid):
                schema.check(with_times(schema.document, time, date))
