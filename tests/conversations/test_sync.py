"""The feed: every change that one may see, once, in order, from any cursor on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.api import Api, Json, Person

if TYPE_CHECKING:
    from .inside import Inside


async def page(person: Person, **params: object) -> Json:
    answer = await person.get("/v1/sync", **params)
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def number(cursor: str) -> int:
    return int(cursor.rpartition("-")[2], 16)


class TestCursor:
    async def test_cursors_grow_and_the_last_is_the_pages(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for _ in range(3):
            await ann.send(thread_id)
        found = await page(bob)
        numbers = [number(each["cursor"]) for each in found["events"]]
        assert numbers == sorted(set(numbers))
        assert found["events"][-1]["cursor"] == found["cursor"]
        assert await page(bob, since=found["cursor"]) == {
            "events": [], "cursor": found["cursor"], "has_more": False,
        }  # fmt: skip

    async def test_start_is_told_as_thread_then_message(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        started = await ann.start(bob)
        for person in (ann, bob):
            changed, new = await person.sync()
            assert (changed["type"], changed["thread"]["id"]) == (
                "thread.changed", started["thread"]["id"],
            )  # fmt: skip
            assert (new["type"], new["message"]["id"]) == ("message.new", started["message"]["id"])
            assert new["inbox"] == await person.row(started["thread"]["id"])

    async def test_client_id_is_in_the_authors_events_only(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        [_, to_ann], [_, to_bob] = await ann.sync(), await bob.sync()
        assert to_ann["message"]["client_id"] == "c1"
        assert "client_id" not in to_bob["message"]

    async def test_small_pages_tell_the_same_as_one(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        message = await ann.send(thread_id)
        await bob.read(thread_id, message["id"])
        whole = await page(bob)
        events: list[Json] = []
        more, cursor = True, dict[str, str]()
        while more:
            part = await page(bob, limit=1, **cursor)
            events += part["events"]
            more, cursor = part["has_more"], {"since": part["cursor"]}
        assert events == whole["events"]
        assert len(events) == 4
        assert (await page(bob, limit=4))["has_more"] is False
        assert (await page(bob, limit=3))["has_more"] is True

    async def test_page_of_hidden_events_still_leads_on(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        left = await ann.thread_with(bob)
        await ann.send(left)
        since = (await page(bob, limit=1))["cursor"]
        await bob.leave(left)
        await ann.thread_with(bob)
        hidden = await page(bob, since=since, limit=1)
        assert (hidden["events"], hidden["has_more"]) == ([], True)
        assert number(hidden["cursor"]) > number(since)
        told = [each["type"] for each in await bob.sync(since)]
        assert told == ["thread.changed", "thread.changed", "message.new"]

    @pytest.mark.parametrize(
        "params",
        [{"since": ""}, {"since": "x"}, {"since": "abc-"}, {"since": "-1"}, {"since": "abc-xyz"},
         {"since": "abc-1234567890123456"}, {"limit": 0}, {"limit": 101}, {"wait_s": 1}],
    )  # fmt: skip
    async def test_bad_cursor_is_refused(self, api: Api, params: Json) -> None:
        [ann] = await api.people("ann")
        assert await ann.refusal("GET", "/v1/sync", params=params) == (400, "INVALID_REQUEST")

    async def test_inbox_and_thread_say_where_to_go_on(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        cursors = [
            (await bob.inbox())["sync_cursor"],
            (await bob.thread(thread_id))["sync_cursor"],
        ]
        sent = await ann.send(thread_id)
        for cursor in cursors:
            assert [e["message"]["id"] for e in await bob.sync(cursor)] == [sent["id"]]

    async def test_feed_of_someone_new_is_empty(self, api: Api) -> None:
        newcomer = api.person("someone.unheard.of")
        found = await page(newcomer)
        assert (found["events"], found["has_more"]) == ([], False)
        [ann] = await api.people("ann")
        await ann.start(newcomer)
        assert len(await newcomer.sync(found["cursor"])) == 2


class TestReset:
    async def check_reset(self, person: Person, since: str) -> None:
        found = await page(person, since=since)
        [reset] = found["events"]
        assert reset == {"type": "reset", "cursor": found["cursor"], "at": reset["at"]}
        assert found["has_more"] is False
        assert await page(person, since=found["cursor"]) == {**found, "events": []}

    async def test_cursor_of_another_epoch(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        _, _, n = (await bob.cursor()).rpartition("-")
        await self.check_reset(bob, f"0ther-{n}")

    async def test_cursor_ahead_of_the_feed(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        epoch, _, n = (await bob.cursor()).rpartition("-")
        await self.check_reset(bob, f"{epoch}-{int(n, 16) + 1:x}")
        await self.check_reset(bob, f"{epoch}-{'f' * 15}")

    async def test_restored_database_resets_everyone(self, api: Api, inside: Inside) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        since = await bob.cursor()
        await inside.restore()
        await self.check_reset(bob, since)

    async def test_cursor_older_than_seven_days(self, api: Api, conversations: str) -> None:
        ann, bob = await api.people("ann", "bob")
        beginning = await bob.cursor()
        thread_id = await ann.thread_with(bob)
        middle = await bob.cursor()
        api.clock.advance(days=7)
        recent = await ann.send(thread_id)
        await api.rooms.store.prune()
        assert len(await bob.sync(beginning)) == 3
        api.clock.advance(seconds=1)
        pruned = await api.rooms.store.prune()
        # DynamoDB deletes by itself, and what is past its time counts for nothing until then.
        assert conversations == "dynamodb" or pruned["feed"] >= 4
        await self.check_reset(bob, beginning)
        for kept in (await bob.sync(middle), await bob.sync()):
            assert [each["message"]["id"] for each in kept] == [recent["id"]]
        assert [m["seq"] for m in await bob.messages(thread_id)] == [1, 2]
        assert await api.rooms.store.prune() == dict.fromkeys(pruned, 0)

    async def test_new_events_after_pruning_have_new_numbers(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        since = await bob.cursor()
        api.clock.advance(days=8)
        await api.rooms.store.prune()
        sent = await ann.send(thread_id)
        [event] = await bob.sync(since)
        assert event["message"]["id"] == sent["id"]
        assert number(event["cursor"]) > number(since)
