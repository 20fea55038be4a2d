"""If the database has no room: 503, nothing is stored, and it recovers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import httpx
import pytest

from tests.support.api import Api

FULL = """
create function no_room() returns trigger language plpgsql as $$
begin raise exception 'could not extend file "base/16384/16385"' using errcode = '53100'; end $$;
"""
TABLES = ("message", "thread", "feed", "outbox", "app_user", "user_block")

pytestmark = pytest.mark.parametrize("conversations", ["postgres"], indirect=True, scope="module")


@pytest.fixture(params=TABLES)
async def full_table(request: pytest.FixtureRequest, pool: asyncpg.Pool) -> AsyncIterator[str]:
    """From here on this table takes nothing more, until the test empties the disk."""
    table: str = request.param
    await pool.execute("drop function if exists no_room cascade")
    await pool.execute(FULL)
    yield table
    await pool.execute("drop function if exists no_room cascade")


async def fill(pool: asyncpg.Pool, table: str) -> None:
    when = "before insert or update or delete"
    await pool.execute(
        f"create trigger no_room {when} on {table} for each row execute function no_room()"
    )


async def count(pool: asyncpg.Pool) -> dict[str, int]:
    return {
        table: await pool.fetchval(f"select count(*) from {table}")  # noqa: S608 - our own names
        for table in (*TABLES, "inbox_index", "idempotency_key", "thread_participant")
    }


def check_unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json()["code"] == "UNAVAILABLE"
    assert "base/" not in answer.text


async def test_no_room_for_a_table(api: Api, pool: asyncpg.Pool, full_table: str) -> None:
    ann, bob, dora, emil = await api.people("ann", "bob", "dora", "emil")
    thread_id = await ann.thread_with(bob)
    path = f"/v1/threads/{thread_id}"
    calls = [
        ("POST", f"{path}/messages", ann.draft(), "k1"),
        ("POST", "/v1/threads", {"kind": "inquiry", "to": dora.id, "first_message": ann.draft()},
         "k2"),
        ("POST", f"{path}/participants", {"user_id": dora.id, "role": "host"}, "k3"),
        ("POST", "/v1/blocks", {"user_id": emil.id}, "k4"),
    ]  # fmt: skip
    before = await count(pool)
    await fill(pool, full_table)
    refused = []
    for call in calls:
        answer = await ann.call(*call[:3], key=call[3])
        if answer.status_code >= 500:
            check_unavailable(answer)
            refused.append(call)
        else:
            assert answer.status_code < 300, answer.text
            before = await count(pool)
        assert await count(pool) == before, "nothing of a refused change stays"
    stranger = api.person(f"stranger.{full_table}")
    if full_table == "app_user":
        check_unavailable(await stranger.get("/v1/me"))
    else:
        assert refused
    await pool.execute("drop function no_room cascade")
    for method, where, body, key in refused:
        answer = await ann.call(method, where, body, key=key)
        assert answer.status_code < 300, f"kept a failure: {answer.text}"
    assert (await stranger.get("/v1/me")).status_code == 200
    assert (await ann.get("/v1/inbox")).status_code == 200
