"""Ten messages a minute by the simple API, out of the same minute as everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.limits import Limits
from tests.support.api import Api, Person

if TYPE_CHECKING:
    import httpx


@pytest.fixture(scope="module")
def limits() -> Limits:
    """As they ship."""
    return Limits(read_connections=2)


async def send(sender: Person, to: Person, key: str | None = None) -> httpx.Response:
    new = {"receiverId": to.id, "content": "Hello", "type": "text"}
    return await sender.post("/messages/send", new, key=key)


async def test_ten_a_minute_then_one_every_six_seconds(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    for _ in range(10):
        assert (await send(ann, bob)).status_code == 201
    refused = await send(ann, bob)
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    assert refused.headers["retry-after"] == "6"
    api.clock.advance(seconds=5.999)
    assert (await send(ann, bob)).headers["retry-after"] == "1"
    api.clock.advance(seconds=0.001)
    assert (await send(ann, bob)).status_code == 201
    assert (await send(ann, bob)).status_code == 429
    api.clock.advance(minutes=1)
    assert [(await send(ann, bob)).status_code for _ in range(11)] == [201] * 10 + [429]


async def test_each_person_and_each_pair_has_its_own(api: Api) -> None:
    ann, bob, carl = await api.people("ann", "bob", "carl")
    for _ in range(10):
        await ann.write_to(bob)
    await bob.write_to(ann)
    await ann.write_to(carl)
    assert (await send(ann, bob)).status_code == 429


async def test_one_minute_for_both_apis(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    for _ in range(9):
        await ann.write_to(bob)
    for _ in range(6):
        await ann.send(thread_id)
    path = f"/v1/threads/{thread_id}/messages"
    assert await ann.refusal("POST", path, ann.draft()) == (429, "RATE_LIMITED")
    api.clock.advance(seconds=1)
    refused = await send(ann, bob)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    await ann.send(thread_id)
    api.clock.advance(seconds=6)
    assert (await send(ann, bob)).status_code == 201


async def test_repeats_and_refusals_cost_nothing(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    assert (await send(ann, bob, key="k")).status_code == 201
    for _ in range(9):
        await ann.write_to(bob)
    assert (await send(ann, bob, key="late")).status_code == 429
    assert (await send(ann, bob, key="k")).status_code == 200
    api.clock.advance(seconds=6)
    assert (await send(ann, bob, key="late")).status_code == 201


async def test_starting_is_limited_as_everywhere(api: Api) -> None:
    ann, *others = await api.people("ann", "bob", "carl", "dora", "emil")
    assert [(await send(ann, each)).status_code for each in others] == [201, 201, 201, 429]
    refused = await send(ann, others[-1])
    assert refused.headers["retry-after"] == str(20 * 60)
    assert (await send(ann, others[0])).status_code == 201
