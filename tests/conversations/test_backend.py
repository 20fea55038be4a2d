"""What the marketplace's backend does itself with threads: open, say, change, read."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from greenroom.kernel.scopes import SCOPES
from tests.support.api import Api, Backend, Json, Person, answered

AT_ONCE = 6


async def put(api: Api, key: str, *people: Person, **more: Any) -> httpx.Response:
    roles = ("buyer", "seller", "host")
    participants = [
        {"user_id": person.id, "role": role} for person, role in zip(people, roles, strict=False)
    ]
    body = {"kind": "inquiry", "participants": participants, **more}
    return await api.backend.put(f"/v1/threads/by/{key}", body)


async def opened(api: Api, key: str, *people: Person, **more: Any) -> Json:
    thread: Json = answered(await put(api, key, *people, **more), 201)["thread"]
    return thread


async def say(api: Api, thread_id: str, text: str = "Sold", key: str | None = None) -> Json:
    body = {"code": "listing.sold", "text": text}
    path = f"/v1/threads/{thread_id}/notices"
    message: Json = answered(await api.backend.post(path, body, key=key), 201)["message"]
    return message


class TestThreadsByKey:
    async def test_the_first_call_opens_the_thread_for_all_and_later_ones_find_it(
        self, api: Api
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        more = {"subject": "A lamp", "city": "Berlin", "role_context": "model", "job_id": "j1"}
        thread = await opened(api, f"lamp-{ann.id}", ann, bob, **more)
        assert {name: thread[name] for name in more} == more
        assert (thread["opened_by"], thread["external_key"]) == (ann.id, f"lamp-{ann.id}")
        for person in (ann, bob):
            [event] = await person.sync()
            assert (event["type"], event["thread"]["id"]) == ("thread.changed", thread["id"])
            assert "external_key" not in event["thread"]
            assert (await person.row(thread["id"]))["unread_count"] == 0
        await bob.leave(thread["id"])
        again = answered(await put(api, f"lamp-{ann.id}", ann, bob, subject="Other"), 200)["thread"]
        assert (again["id"], again["subject"]) == (thread["id"], "A lamp")
        found = answered(await api.backend.get(f"/v1/threads/by/lamp-{ann.id}"), 200)["thread"]
        assert found == again

    async def test_a_thread_without_messages_is_a_sound_one(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread = await opened(api, f"empty-{ann.id}", ann, bob)
        row = await ann.row(thread["id"])
        assert (row["last_message"], row["state"]) == (None, "open")
        found = api.rooms.upkeep.check(repair=False, progress=lambda *_: None)
        async with aclosing(found):
            assert [fault async for fault in found if fault.thread_id == thread["id"]] == []

    async def test_people_talk_in_it_as_in_any_other(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        notice = {"code": "hello", "text": "Ask about the *lamp*."}
        thread = await opened(api, f"t-{ann.id}", ann, bob, first_notice=notice)
        await ann.send(thread["id"], "Is it there?")
        first, second = await bob.messages(thread["id"])
        assert (first["author_id"], first["seq"], first["kind"]) == (None, 1, "system")
        assert (second["author_id"], second["seq"]) == (ann.id, 2)
        assert (await bob.row(thread["id"]))["unread_count"] == 2
        # The polling API finds it as the conversation of the two.
        [conversation] = await bob.conversations()
        assert conversation["id"] == f"conv_{ann.id}_{bob.id}"

    async def test_of_calls_at_the_same_time_one_opens_the_thread(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        notice = {"code": "hello", "text": "Welcome"}
        answers = await asyncio.gather(
            *(put(api, f"once-{ann.id}", ann, bob, first_notice=notice) for _ in range(AT_ONCE))
        )
        assert sorted(each.status_code for each in answers) == [200] * (AT_ONCE - 1) + [201]
        [thread_id] = {each.json()["thread"]["id"] for each in answers}
        assert len(await bob.messages(thread_id)) == 1
        assert len((await ann.inbox())["items"]) == 1

    async def test_another_kind_or_other_people_under_the_key_are_refused(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        key = f"mine-{ann.id}"
        await opened(api, key, ann, bob)
        for people, more in (((ann, carl), {}), ((bob, ann), {}), ((ann, bob), {"kind": "invite"})):
            refused = await put(api, key, *people, **more)
            assert (refused.status_code, refused.json()["code"]) == (409, "ACTION_CONFLICT")
        assert (await carl.inbox())["items"] == []

    async def test_a_block_hides_no_thread_that_the_marketplace_opens_but_what_is_said_in_it(
        self, api: Api
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        await bob.block(ann)
        thread = await opened(api, f"b-{ann.id}", ann, bob)
        await ann.send(thread["id"], "Hello?")
        assert await bob.messages(thread["id"]) == []
        await say(api, thread["id"])
        assert [each["seq"] for each in await bob.messages(thread["id"])] == [2]

    async def test_who_is_not_in_a_registered_job_is_not_taken(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        answered(await api.backend.put(f"/v1/jobs/j-{ann.id}", {"participants": [ann.id]}), 201)
        refused = await put(api, f"j-{ann.id}", ann, bob, job_id=f"j-{ann.id}")
        assert (refused.status_code, refused.json()["code"]) == (404, "USER_NOT_FOUND")

    @pytest.mark.parametrize(
        "body",
        [
            {"kind": "project"},
            {"kind": "system"},
            {"participants": []},
            {"participants": "one"},
            {"participants": "twice"},
            {"subject": "x" * 201},
        ],
    )
    async def test_what_makes_no_thread_is_refused(self, api: Api, body: Json) -> None:
        ann, bob = await api.people("ann", "bob")
        one = {"user_id": ann.id, "role": "buyer"}
        given = {"one": [one], "twice": [one, one]}
        people = body.get("participants")
        if isinstance(people, str):
            body = {**body, "participants": given[people]}
        refused = await put(api, f"no-{ann.id}", ann, bob, **body)
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")


class TestNotices:
    async def test_a_notice_is_the_marketplaces_own_and_unread_for_all(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        message = await say(api, thread_id, "It is <b>*sold*</b>.")
        assert message["author_id"] is None
        params = {"code": "listing.sold", "text": "It is <b>*sold*</b>."}
        assert message["system"] == {"code": "marketplace", "params": params}
        assert message["body_html"] == "<p>It is &lt;b&gt;<em>sold</em>&lt;/b&gt;.</p>"
        for person, unread in ((ann, 1), (bob, 2)):
            assert (await person.messages(thread_id))[-1] == message
            row = await person.row(thread_id)
            assert row["unread_count"] == unread
            assert row["last_message"]["preview"] == "It is <b>sold</b>."

    async def test_a_repeat_under_its_key_is_said_once(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        first = await say(api, thread_id, key=f"n-{ann.id}")
        assert await say(api, thread_id, key=f"n-{ann.id}") == first
        assert len(await bob.messages(thread_id)) == 2

    async def test_nothing_is_cut(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/notices"
        refusal = await api.backend.refusal("POST", path, {"code": "c", "text": "x" * 2001})
        assert refusal == (422, "MSG_TOO_LONG")
        await api.backend.post(path, {"code": "c", "text": "x" * 2000})


class TestNoticesToOnePerson:
    async def test_the_person_reads_and_cannot_write(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread = await opened(api, f"news-{ann.id}", ann, kind="system", subject="News")
        await say(api, thread["id"])
        row = await ann.row(thread["id"])
        assert (row["unread_count"], row["last_message"]["preview"]) == (1, "Sold")
        path = f"/v1/threads/{thread['id']}"
        assert await ann.refusal("POST", f"{path}/messages", ann.draft()) == (
            403,
            "THREAD_READ_ONLY",
        )
        host = {"user_id": bob.id, "role": "host"}
        for caller in (ann, api.backend):
            refusal = await caller.refusal("POST", f"{path}/participants", host)
            assert refusal == (409, "ACTION_INVALID_STATE")
        last = (await ann.messages(thread["id"]))[-1]
        assert (await ann.read(thread["id"], last["id"]))["unread_count"] == 0
        assert len(await ann.conversations()) == 1


class TestChanging:
    async def test_participants_see_what_the_backend_changes(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path, before = f"/v1/threads/{thread_id}", await bob.cursor()
        change = {"subject": " New ", "city": "Oslo", "safe_mode_required": True}
        thread = answered(await api.backend.patch(path, change), 200)["thread"]
        assert (thread["subject"], thread["city"], thread["safe_mode_required"]) == (
            *("New", "Oslo"),
            True,
        )
        assert thread["role_context"] is None
        answered(await api.backend.patch(path, change), 200)
        [event] = await bob.sync(before)
        assert (event["type"], event["thread"]["city"]) == ("thread.changed", "Oslo")
        assert (await bob.inbox(city="Oslo"))["items"][0]["thread"]["subject"] == "New"
        cleared = answered(await api.backend.patch(path, {"city": None}), 200)["thread"]
        assert (cleared["city"], cleared["subject"]) == (None, "New")
        assert (await bob.inbox(city="Oslo"))["items"] == []


class TestReading:
    async def test_what_only_some_may_see_is_left_out(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        await carl.block(ann)
        await ann.send(thread_id, "Only for Bob")
        await bob.send(thread_id, "For all")
        path = f"/v1/threads/{thread_id}"
        page = answered(await api.backend.get(f"{path}/messages", limit=1), 200)
        assert [each["body"] for each in page["items"]] == ["For all"]
        assert page["has_more"]
        assert "sync_cursor" not in page
        older = answered(
            await api.backend.get(f"{path}/messages", before=page["items"][0]["id"]), 200
        )
        assert [each["body"] for each in older["items"]] == ["Hello"]
        exported = await api.backend.get(f"{path}/export")
        lines = [json.loads(line) for line in exported.text.splitlines()]
        assert lines[0]["thread"] == answered(await api.backend.get(path), 200)["thread"]
        assert [each["message"]["seq"] for each in lines[1:]] == [1, 3]
        assert exported.headers["content-type"] == "text/x-ndjson"

    async def test_threads_of_a_person_and_of_a_job_come_page_by_page(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl", verified=True)
        job = f"job-{ann.id}"
        started = [await ann.start(bob, job_id=job) for _ in range(3)]
        ids = [each["thread"]["id"] for each in started]
        await ann.start(carl)
        left = await ann.start(carl)
        await carl.leave(left["thread"]["id"])
        ids.sort(reverse=True)
        for path in (f"/v1/users/{bob.id}/threads", f"/v1/jobs/{job}/threads"):
            first = answered(await api.backend.get(path, limit=2), 200)
            rest = answered(await api.backend.get(path, cursor=first["next_cursor"]), 200)
            assert rest["next_cursor"] is None
            assert [each["id"] for each in first["items"] + rest["items"]] == ids
        of_carl = answered(await api.backend.get(f"/v1/users/{carl.id}/threads"), 200)
        assert len(of_carl["items"]) == 1


class TestScopes:
    @pytest.mark.parametrize("scope", SCOPES)
    async def test_a_key_does_what_its_scopes_say_and_no_more(self, api: Api, scope: str) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        key = await api.rooms.accounts.create_key("one", [scope])
        backend = Backend(api.http, key.text)
        notice = {"code": "c", "text": "t"}
        booking = "/v1/bookings/lbg_019e33c9ac00zzzzzzzzzzzzzz/complete"
        calls: dict[str, tuple[str, str, Any]] = {
            "read": ("GET", f"/v1/threads/{thread_id}", None),
            "write": ("POST", f"/v1/threads/{thread_id}/notices", notice),
            "bookings": ("POST", booking, None),
            "users": ("PUT", f"/v1/users/{ann.id}", {"display_name": "Ann"}),
        }
        for needed, call in calls.items():
            answer = await backend.call(*call)
            if needed == scope:
                assert answer.status_code != 403
            else:
                assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
                assert f"scope `{needed}`" in answer.json()["hint"]

    async def test_every_call_of_a_backend_states_its_scope(self, api: Api) -> None:
        document = answered(await api.anonymous.get("/openapi.json"), 200)
        needed = {
            call["operationId"]: option["backend"]
            for calls in document["paths"].values()
            for call in calls.values()
            for option in call["security"]
            if "backend" in option
        }
        assert len(needed) >= 20
        assert [name for name, scopes in needed.items() if len(scopes) != 1] == []
