"""Idempotency-Key: the change happens once, and repeats get the first answer for seven days."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.api import Api, Json, Person


def opening(author: Person, to: Person) -> Json:
    return {"kind": "inquiry", "to": to.id, "first_message": author.draft()}


class TestKeptAnswers:
    async def test_first_answer_is_kept_though_the_world_went_on(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path, up_to = f"/v1/threads/{thread_id}/read", {}
        up_to["up_to"] = (await bob.messages(thread_id))[0]["id"]
        first = await bob.post(path, up_to, key="k")
        await ann.send(thread_id)
        again = await bob.post(path, up_to, key="k")
        assert (again.status_code, again.content) == (200, first.content)
        assert (await bob.post(path, up_to)).json()["inbox"]["unread_count"] == 1

    async def test_refusal_is_kept(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.block(bob)
        new = opening(ann, bob)
        first = await ann.post("/v1/threads", new, key="k")
        assert (first.status_code, first.json()["code"]) == (403, "MSG_BLOCKED_BY_USER")
        await ann.unblock(bob)
        again = await ann.post("/v1/threads", new, key="k")
        assert (again.status_code, again.content) == (403, first.content)
        assert again.headers["content-type"] == "application/problem+json"
        assert (await ann.post("/v1/threads", new, key="k2")).status_code == 201

    async def test_kept_refusal_changed_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path = f"/v1/threads/{thread_id}/promote"
        await api.backend.post(path, {"leg_id": "leg_1"})
        before, since = await ann.thread(thread_id), await ann.cursor()
        refused = await api.backend.post(path, {"leg_id": "leg_2"}, key=f"promote {ann.id}")
        assert refused.status_code == 409
        assert (await ann.thread(thread_id), await ann.sync(since)) == (before, [])

    async def test_other_body_or_path_is_a_mismatch(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        first, second = await ann.thread_with(bob), await ann.thread_with(bob)
        new = {"user_id": carl.id, "role": "host"}
        await ann.post(f"/v1/threads/{first}/participants", new, key="k")
        for thread_id, body in ((first, {**new, "role": "seller"}), (second, new)):
            path = f"/v1/threads/{thread_id}/participants"
            refusal = await ann.refusal("POST", path, body, key="k")
            assert refusal == (422, "IDEMPOTENCY_MISMATCH")

    async def test_mismatch_is_told_before_anything_else_is_looked_at(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        new = opening(ann, bob)
        await ann.post("/v1/threads", new, key="k")
        for other in ({**new, "to": "nobody"}, {**new, "subject": "x" * 201}):
            refusal = await ann.refusal("POST", "/v1/threads", other, key="k")
            assert refusal == (422, "IDEMPOTENCY_MISMATCH")

    async def test_repeat_is_answered_after_leaving(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        path, new = f"/v1/threads/{thread_id}/participants", {"user_id": carl.id, "role": "host"}
        first = await ann.post(path, new, key="k")
        await ann.delete(f"{path}/me")
        again = await ann.post(path, new, key="k")
        assert (again.status_code, again.content) == (200, first.content)

    async def test_key_belongs_to_its_caller_and_route(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        started = [
            await each.post("/v1/threads", opening(each, carl), key="k") for each in (ann, bob)
        ]
        assert [each.status_code for each in started] == [201, 201]
        thread_id = started[0].json()["thread"]["id"]
        assert (await ann.post("/v1/blocks", {"user_id": bob.id}, key="k")).status_code == 204
        sent = await ann.post(f"/v1/threads/{thread_id}/messages", ann.draft(), key="k")
        assert sent.status_code == 201

    async def test_key_is_forgotten_after_seven_days(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.block(bob)
        new = opening(ann, bob)
        await ann.post("/v1/threads", new, key="k")
        await ann.unblock(bob)
        api.clock.advance(days=7)
        await api.rooms.store.prune()
        assert (await ann.post("/v1/threads", new, key="k")).status_code == 403
        api.clock.advance(seconds=0.001)
        await api.rooms.store.prune()
        assert (await ann.post("/v1/threads", new, key="k")).status_code == 201

    async def test_concurrent_repeats_wait_for_the_first(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        new = opening(ann, bob)
        answers = await asyncio.gather(*(ann.post("/v1/threads", new, key="k") for _ in range(5)))
        assert {(each.status_code, each.content) for each in answers} == {(201, answers[0].content)}
        assert len((await bob.inbox())["items"]) == 1

    @pytest.mark.parametrize("key", ["", " ", "x" * 256, "tab\tbed", "ünïcode"])
    async def test_bad_keys_are_refused(self, api: Api, key: str) -> None:
        ann, bob = await api.people("ann", "bob")
        answer = await ann._http.post(
            "/v1/threads",
            json=opening(ann, bob),
            headers=[
                (b"authorization", ann.authorization().encode()),
                (b"idempotency-key", key.encode()),
            ],
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


class TestSends:
    async def test_key_stands_for_the_message_as_it_is_now(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
        draft = ann.draft("First")
        sent = (await ann.post(path, draft, key="k")).json()
        edited = await ann.edit(sent, "Second")
        again = await ann.post(path, draft, key="k")
        assert (again.status_code, again.json()) == (200, edited)

    async def test_other_body_under_the_key_is_a_mismatch(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
        await ann.post(path, ann.draft("First"), key="k")
        refusal = await ann.refusal("POST", path, ann.draft("Second"), key="k")
        assert refusal == (422, "IDEMPOTENCY_MISMATCH")
        assert (await bob.post(path, bob.draft("Second"), key="k")).status_code == 201

    async def test_key_on_a_repeated_client_id_is_used_too(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
        new = ann.draft()
        first = await ann.post(path, new)
        assert (await ann.post(path, new, key="k")).json() == first.json()
        refusal = await ann.refusal("POST", path, ann.draft("Other"), key="k")
        assert refusal == (422, "IDEMPOTENCY_MISMATCH")

    async def test_refused_send_is_tried_again_under_its_key(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
        draft = ann.draft()
        await ann.block(bob)
        assert (await ann.post(path, draft, key="k")).status_code == 403
        await ann.unblock(bob)
        assert (await ann.post(path, draft, key="k")).status_code == 201
