"""A shared location is readable while it is shared, and is stored nowhere afterwards."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from greenroom.bootstrap import Rooms
from greenroom.cards.rest import CardsRest
from greenroom.conversations.attachments import NoAttachments
from greenroom.kernel.errors import ActionStaleVersion, CardInvalid
from greenroom.platform.http.endpoint import Answer, Call, Caller
from tests.support.clock import FakeClock

from .stage import Stage

LAT, LON = 48.208493, 16.373118
NUMBERS = ("48.208493", "16.373118")

TABLES = """
select table_name from information_schema.tables
where table_schema = 'public' and table_type = 'BASE TABLE'
"""


async def places_that_know(stage: Stage) -> set[str]:
    """Every table in which one of the numbers stands, also inside bytes."""
    found = set()
    for (table,) in await stage.pool.fetch(TABLES):
        query = f'select t.*, t::text as whole from "{table}" t'  # noqa: S608
        rows = await stage.pool.fetch(query)
        for row in rows:
            text = row["whole"] + "".join(
                bytes(value).decode("latin-1")
                for value in row.values()
                if isinstance(value, bytes | bytearray | memoryview)
            )
            if any(number in text for number in NUMBERS):
                found.add(table)
    return found


def call(person: str, params: dict[str, str], body: Any, key: str) -> Call:
    caller = Caller("person", person)
    return Call(caller, params, body, None, key, key.encode(), "corr", route="POST /x")


def rest_of(stage: Stage, rooms: Rooms, clock: FakeClock) -> CardsRest:
    return CardsRest(stage.cards, NoAttachments(), clock=clock, limits=rooms.settings.limits)


def shown(answer: Answer) -> dict[str, Any]:
    body = answer.body
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    found: dict[str, Any] = msgspec.json.decode(raw)
    return found


@pytest.mark.parametrize("ending", ["end", "timer"])
async def test_an_ended_location_is_erased_everywhere(
    stage: Stage, rooms: Rooms, clock: FakeClock, ending: str
) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    rest = rest_of(stage, rooms, clock)
    payload = {"lat": LAT, "lon": LON, "until": stage.at(2)}
    new = msgspec.convert({"type": "location", "payload": payload}, rest.endpoints()[2].body)
    made = call(buyer, {"thread_id": thread_id}, new, f"make-{ending}")
    first = shown(await rest.create_card(made))
    assert first["card"]["payload"]["lat"] == LAT
    assert first["message"]["card"]["payload"]["lat"] == LAT
    assert await places_that_know(stage) == {"card", "message"}
    again = shown(await rest.create_card(made))
    assert (again["card"]["id"], again["card"]["payload"]) == (first["card"]["id"], {})
    assert again["message"]["card"]["payload"] == {}

    card_id = first["card"]["id"]
    card, _ = await stage.cards.access(seller, card_id)
    assert (card.payload["lat"], card.is_open) == (LAT, False)
    if ending == "end":
        params = {"card_id": card_id, "action": "end"}
        done = shown(await rest.act_on_card(call(buyer, params, {"version": 1}, "end")))
        assert done["card"]["payload"] == {}
    else:
        await stage.run_timer(card, "end")
    ended, history = await stage.cards.access(seller, card_id)
    assert (ended.state, ended.payload) == ("ended", {})
    assert [row.act for row in history] == ["create", "end"]
    assert await places_that_know(stage) == set()


async def test_a_refusal_that_is_kept_does_not_tell_where(stage: Stage, catalogue: object) -> None:
    buyer, _, thread_id = await stage.inquiry()
    payload = {"lat": LAT, "lon": LON, "until": stage.at(2)}
    card = await stage.make(buyer, thread_id, "location", payload)
    await stage.pool.execute("update card set version = 2 where card_id = $1", card.id)
    with pytest.raises(ActionStaleVersion) as refused:
        await stage.act(buyer, card, "end")
    assert refused.value.extra["card"]["payload"] == {}


@pytest.mark.parametrize(
    "wrong", [{"lat": 91}, {"lon": -181}, {"lat": "48"}, {"until": 25}, {"until": -1}, {"note": ""}]
)
async def test_a_location_is_somewhere_on_earth_and_for_a_day_at_most(
    stage: Stage, wrong: dict[str, Any]
) -> None:
    buyer, _, thread_id = await stage.inquiry()
    payload = {"lat": LAT, "lon": LON, "until": 2, **wrong}
    payload["until"] = stage.at(payload["until"])
    with pytest.raises(CardInvalid):
        await stage.make(buyer, thread_id, "location", payload)
