"""A thread about something of the marketplace's: the same key finds the same thread."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.support.api import Api, Json, Person

AT_ONCE = 12


async def ask(
    opener: Person,
    *others: Person,
    body: str = "Is it free?",
    listing_key: str = "studio/7",
    **more: Any,
) -> httpx.Response:
    key = more.pop("key", None)
    new = {
        "kind": "inquiry",
        "to": [other.id for other in others],
        "first_message": more.pop("first_message", None) or opener.draft(body),
        "listing_key": listing_key,
        **more,
    }
    return await opener.post("/v1/threads", new, key=key)


async def asked(opener: Person, other: Person, status: int, **more: Any) -> Json:
    answer = await ask(opener, other, **more)
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


def thread_in(started: Json) -> str:
    thread_id: str = started["thread"]["id"]
    return thread_id


class TestTheSameKey:
    async def test_existing_thread_gets_the_message(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first = await asked(ann, bob, 201, subject="Studio 7")
        again = await asked(ann, bob, 200, body="And on Monday?", subject="Something else")
        assert thread_in(again) == thread_in(first)
        assert (again["message"]["seq"], again["thread"]["subject"]) == (2, "Studio 7")
        bodies = [each["body"] for each in await bob.messages(thread_in(first))]
        assert bodies == ["Is it free?", "And on Monday?"]
        assert (await bob.row(thread_in(first)))["unread_count"] == 2

    async def test_key_belongs_to_its_opener_and_recipient(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        started = [
            await asked(ann, bob, 201),
            await asked(ann, carl, 201),
            await asked(bob, ann, 201),
            await asked(carl, bob, 201),
            await asked(ann, bob, 201, listing_key="studio/8"),
        ]
        assert len({thread_in(each) for each in started}) == 5

    async def test_without_a_key_each_start_is_a_thread(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await asked(ann, bob, 201)
        assert (await ann.start(bob))["thread"]["id"] != (await ann.start(bob))["thread"]["id"]

    async def test_repeat_of_a_client_id_is_one_message(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first, second = ann.draft("One"), ann.draft("Two")
        await asked(ann, bob, 201, first_message=first)
        into = await asked(ann, bob, 200, first_message=second)
        for draft in (first, second):
            repeat = await asked(ann, bob, 200, first_message=draft)
            assert repeat["message"]["body"] == draft["body"]
        other = await ask(ann, bob, first_message={**second, "body": "Three"})
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")
        assert len(await bob.messages(thread_in(into))) == 2

    async def test_answer_is_kept_under_its_key(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await asked(ann, bob, 201)
        draft = ann.draft("Two")
        answers = [await ask(ann, bob, first_message=draft, key="again") for _ in range(3)]
        assert [each.status_code for each in answers] == [200] * 3
        assert answers[0].json() == answers[1].json() == answers[2].json()
        assert len(await bob.messages(thread_in(answers[0].json()))) == 2


class TestManyAtOnce:
    async def test_all_end_in_one_thread_and_no_message_is_lost(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        answers = await asyncio.gather(
            *(ask(ann, bob, body=f"Message {number}") for number in range(AT_ONCE))
        )
        statuses = sorted(each.status_code for each in answers)
        assert statuses == [200] * (AT_ONCE - 1) + [201]
        [thread_id] = {thread_in(each.json()) for each in answers}
        said = await bob.messages(thread_id)
        assert {each["body"] for each in said} == {f"Message {n}" for n in range(AT_ONCE)}
        assert [each["seq"] for each in said] == list(range(1, AT_ONCE + 1))
        assert len((await bob.inbox())["items"]) == 1

    async def test_repeats_of_one_start_are_one_message(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        draft = ann.draft("Once")
        answers = await asyncio.gather(
            *(ask(ann, bob, first_message=draft) for _ in range(AT_ONCE))
        )
        assert sorted(each.status_code for each in answers) == [200] * (AT_ONCE - 1) + [201]
        [thread_id] = {thread_in(each.json()) for each in answers}
        assert len(await bob.messages(thread_id)) == 1


class TestThreadsThatAreOver:
    async def test_archived_thread_comes_back_to_the_recipient(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = thread_in(await asked(ann, bob, 201))
        for person in (ann, bob):
            answer = await person.patch(f"/v1/threads/{thread_id}/me", {"archived": True})
            assert answer.status_code == 200
        assert thread_in(await asked(ann, bob, 200)) == thread_id
        assert (await bob.row(thread_id))["placement"] == "inbox"
        # As after any send of one's own: what the opener has put away stays there.
        assert [each["thread"]["id"] for each in (await ann.inbox())["items"]] == []

    @pytest.mark.parametrize("leaver", ["opener", "recipient"])
    async def test_once_one_has_left_the_key_begins_another(self, api: Api, leaver: str) -> None:
        ann, bob = await api.people("ann", "bob")
        first = thread_in(await asked(ann, bob, 201))
        await (ann if leaver == "opener" else bob).leave(first)
        second = thread_in(await asked(ann, bob, 201))
        assert second != first
        assert thread_in(await asked(ann, bob, 200)) == second
        assert len(await bob.messages(second)) == 2

    async def test_project_keeps_its_key(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = thread_in(await asked(ann, bob, 201))
        path = f"/v1/threads/{thread_id}/promote"
        assert (await api.backend.post(path, {"leg_id": "leg_1"})).status_code == 200
        assert thread_in(await asked(ann, bob, 200)) == thread_id


class TestRules:
    async def test_blocks_hold(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = thread_in(await asked(ann, bob, 201))
        await bob.block(ann)
        hidden = await asked(ann, bob, 200, body="Hello?")
        assert thread_in(hidden) == thread_id
        assert len(await bob.messages(thread_id)) == 1
        await ann.block(bob)
        refused = await ask(ann, bob)
        assert (refused.status_code, refused.json()["code"]) == (403, "MSG_BLOCKED_BY_USER")

    async def test_thread_that_is_there_takes_no_start_of_the_limit(self, api: Api) -> None:
        [ann] = await api.people("ann", verified=False)
        [bob] = await api.people("bob")
        for number in range(6):
            await asked(ann, bob, 201 if number == 0 else 200)

    @pytest.mark.parametrize("listing_key", ["", " \n ", "x" * 129])
    async def test_key_has_1_to_128_characters(self, api: Api, listing_key: str) -> None:
        ann, bob = await api.people("ann", "bob")
        refused = await ask(ann, bob, listing_key=listing_key)
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")
        await asked(ann, bob, 201, listing_key="ü" * 128)
        await asked(ann, bob, 201, listing_key="a#b,c/d e")

    async def test_key_goes_with_one_recipient(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        refused = await ask(ann, bob, carl)
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")
