"""A clock that jumps while people listen changes nothing of the order."""

from __future__ import annotations

import pytest

from tests.support.api import Api
from tests.support.clock import FakeClock

from .server import STREAMS, Server, token_of

DAY_S = 24 * 60 * 60


@pytest.mark.parametrize("transport", STREAMS)
async def test_events_come_in_order_without_a_gap(
    api: Api, server: Server, other: Server, clock: FakeClock, transport: str
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    since, token = await bob.cursor(), token_of(bob, ttl_s=DAY_S)
    async with (
        server.stream(transport, bob, token=token, since=since) as here,
        other.stream(transport, bob, token=token, since=since) as there,
    ):
        sent = []
        for hours in (0, -1, 2, -1, -1, 1):
            clock.advance(hours=hours)
            await server.beat(10)
            await other.beat(10)
            sent.append(await ann.send(thread_id))
        kept = await bob.sync(since)
        for stream in (here, there):
            events = await stream.hear_until(sent[-1])
            assert [each["message"]["id"] for each in events] == [each["id"] for each in sent]
            assert [each["message"]["seq"] for each in events] == list(range(2, len(sent) + 2))
            times = [each["message"]["created_at"] for each in events]
            assert times == sorted(set(times))
            assert [each["cursor"] for each in events] == [each["cursor"] for each in kept]
            numbers = [int(each["cursor"].partition("-")[2], 16) for each in events]
            assert numbers == list(range(numbers[0], numbers[0] + len(sent)))
