"""How much one person may send and start, and how long they are told to wait."""

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


async def start(opener: Person, to: Person, key: str | None = None) -> httpx.Response:
    new = {"kind": "inquiry", "to": to.id, "first_message": opener.draft()}
    return await opener.post("/v1/threads", new, key=key)


async def start_many(opener: Person, to: Person, most: int) -> tuple[int, int]:
    """How many starts went through, and the seconds to wait that the next one was told."""
    for count in range(most + 1):
        answer = await start(opener, to)
        if answer.status_code == 429:
            assert answer.json()["code"] == "RATE_LIMITED"
            return count, int(answer.headers["retry-after"])
    raise AssertionError(f"{most} starts and no end")


class TestSending:
    async def test_sixty_a_minute_then_one_a_second(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path = f"/v1/threads/{thread_id}/messages"
        for _ in range(60):
            await ann.send(thread_id)
        refused = await ann.post(path, ann.draft())
        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
        assert refused.headers["retry-after"] == "1"
        api.clock.advance(seconds=0.999)
        assert await ann.refusal("POST", path, ann.draft()) == (429, "RATE_LIMITED")
        api.clock.advance(seconds=0.001)
        await ann.send(thread_id)
        assert await ann.refusal("POST", path, ann.draft()) == (429, "RATE_LIMITED")
        api.clock.advance(minutes=1)
        for _ in range(60):
            await ann.send(thread_id)
        assert await ann.refusal("POST", path, ann.draft()) == (429, "RATE_LIMITED")

    async def test_limit_is_per_person_and_thread(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id, elsewhere = await ann.thread_with(bob), await ann.thread_with(bob)
        for _ in range(60):
            await ann.send(thread_id)
        await bob.send(thread_id)
        await ann.send(elsewhere)

    async def test_repeats_and_refused_sends_cost_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path = f"/v1/threads/{thread_id}/messages"
        draft = ann.draft()
        await ann.post(path, draft)
        for _ in range(59):
            await ann.send(thread_id)
        for _ in range(3):
            assert await ann.refusal("POST", path, ann.draft()) == (429, "RATE_LIMITED")
        assert (await ann.post(path, draft)).status_code == 200
        api.clock.advance(seconds=1)
        await ann.send(thread_id)

    async def test_limited_send_is_not_kept_under_its_key(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for _ in range(60):
            await ann.send(thread_id)
        path, draft = f"/v1/threads/{thread_id}/messages", ann.draft()
        assert (await ann.post(path, draft, key="k")).status_code == 429
        api.clock.advance(seconds=1)
        assert (await ann.post(path, draft, key="k")).status_code == 201

    async def test_clock_set_back_silences_nobody_for_long(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await ann.send(thread_id)
        api.clock.advance(hours=-1, minutes=3)
        answer = await ann.post(f"/v1/threads/{thread_id}/messages", ann.draft())
        api.clock.advance(hours=1, minutes=-3)
        assert answer.status_code == 201


class TestStarting:
    async def test_three_an_hour(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        assert await start_many(ann, bob, 3) == (3, 20 * 60)
        api.clock.advance(minutes=20, seconds=-0.001)
        assert await start_many(ann, bob, 0) == (0, 1)
        api.clock.advance(seconds=0.001)
        assert await start_many(ann, bob, 1) == (1, 20 * 60)
        api.clock.advance(hours=1)
        assert await start_many(ann, bob, 3) == (3, 20 * 60)

    async def test_twenty_a_day(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        started, hours = 0, 0
        while True:
            count, wait_s = await start_many(ann, bob, 3)
            started += count
            if count < 3:
                break
            api.clock.advance(hours=1)
            hours += 1
        # Twenty at once, and one more for each 72 minutes that have passed.
        assert started == 20 + hours * 60 // 72
        assert 0 < wait_s <= 72 * 60
        api.clock.advance(seconds=wait_s - 1)
        assert (await start(ann, bob)).status_code == 429
        api.clock.advance(seconds=1)
        assert (await start(ann, bob)).status_code == 201

    async def test_verified_people_ten_an_hour_and_a_hundred_a_day(self, api: Api) -> None:
        [ann] = await api.people("ann", verified=True)
        [bob] = await api.people("bob")
        assert await start_many(ann, bob, 10) == (10, 6 * 60)
        started, hours = 10, 0
        while True:
            api.clock.advance(hours=1)
            hours += 1
            count, _ = await start_many(ann, bob, 10)
            started += count
            if count < 10:
                break
        assert started == 100 + int(hours * 60 / 14.4)

    async def test_failed_start_costs_nothing(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.block(carl)
        for number in range(5):
            assert (await start(ann, carl)).status_code == 403
            assert (await start(ann, carl, key=f"k{number}")).status_code == 403
        assert await start_many(ann, bob, 3) == (3, 20 * 60)

    async def test_repeat_is_answered_beyond_the_limit(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        new = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
        first = await ann.post("/v1/threads", new, key="k")
        assert (await start_many(ann, bob, 2))[0] == 2
        assert (await ann.post("/v1/threads", new, key="k")).content == first.content
        assert (await ann.post("/v1/threads", new)).status_code == 200

    async def test_limited_start_is_not_kept_under_its_key(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await start_many(ann, bob, 3)
        new = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
        assert (await ann.post("/v1/threads", new, key="k")).status_code == 429
        api.clock.advance(minutes=20)
        assert (await ann.post("/v1/threads", new, key="k")).status_code == 201
