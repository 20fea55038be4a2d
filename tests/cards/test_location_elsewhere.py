"""After sharing ends, a location is stored nowhere, with conversations on DynamoDB too."""

from __future__ import annotations

import zlib
from typing import Any

import asyncpg
import pytest

from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.kernel.clock import rfc3339
from tests.support.api import Api

NUMBERS = ("48.208493", "16.373118")
TABLES = "select table_name from information_schema.tables where table_schema = 'public'"


@pytest.fixture(scope="module")
def conversations() -> str:
    return "dynamodb"


async def places_that_know(api: Api, pool: asyncpg.Pool) -> list[str]:
    found = []
    for (table,) in await pool.fetch(TABLES):
        rows = await pool.fetch(f'select t::text as whole from "{table}" t')  # noqa: S608
        found += [table for row in rows if _knows(row["whole"])]
    store = api.rooms.store
    assert isinstance(store, DynamoConversations)
    threads, _ = store.parts
    await threads.projector.drain()
    start: Any = None
    while True:
        page, start = await threads.table.scan(start=start, limit=1000)
        found += [f"{item['pk']} {item['sk']}" for item in page if _knows(_text(item))]
        if start is None:
            return found


def _text(item: dict[str, Any]) -> str:
    packed = zlib.decompress(item["row"], -15) if "row" in item else b""
    return f"{item!r}{packed!r}"


def _knows(text: str) -> bool:
    return any(number in text for number in NUMBERS)


async def test_an_ended_location_is_erased_everywhere(api: Api, pool: asyncpg.Pool) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    lat, lon = (float(number) for number in NUMBERS)
    payload = {"lat": lat, "lon": lon, "until": rfc3339(api.clock() + 3_600_000)}
    body = {"type": "location", "payload": payload}
    made = await ann.post(f"/v1/threads/{thread_id}/cards", body, key="here")
    assert made.status_code == 201, made.text
    *_, message = await bob.messages(thread_id)
    assert message["card"]["payload"]["lat"] == lat
    assert await places_that_know(api, pool)

    path = f"/v1/cards/{made.json()['card']['id']}/end"
    ended = await ann.post(path, {"version": 1}, key="gone")
    assert ended.json()["card"]["state"] == "ended"
    *_, message = await bob.messages(thread_id)
    assert (message["card"]["state"], message["card"]["payload"]) == ("ended", {})
    assert await places_that_know(api, pool) == []
