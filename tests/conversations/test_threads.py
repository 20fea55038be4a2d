"""Starting a thread, looking at it, and promoting it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import Api, Json, Person


def opening(author: Person, to: Any, **more: Any) -> Json:
    return {"kind": "inquiry", "to": to, "first_message": author.draft("Hello"), **more}


class TestStarting:
    async def test_opener_is_the_buyer_and_recipient_the_seller(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        started = await ann.start(bob, subject=" A  shoot ", role_context="model", job_id="j1")
        thread, message = started["thread"], started["message"]
        assert started["request"] is None
        assert (thread["subject"], thread["role_context"], thread["job_id"]) == (
            "A shoot", "model", "j1",
        )  # fmt: skip
        assert (thread["opened_by"], thread["kind"], thread["state"]) == (ann.id, "inquiry", "open")
        roles = {each["user_id"]: each["role"] for each in thread["participants"]}
        assert roles == {ann.id: "buyer", bob.id: "seller"}
        assert (message["seq"], message["author_id"], message["body"]) == (1, ann.id, "Hello")
        assert await bob.messages(thread["id"]) == [without(message, "client_id")]

    async def test_state_awaits_the_reply_of_whoever_did_not_write_last(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        assert (await bob.thread(thread_id))["thread"]["state"] == "awaiting_reply"
        await bob.send(thread_id)
        assert (await bob.thread(thread_id))["thread"]["state"] == "open"
        assert (await ann.thread(thread_id))["thread"]["state"] == "awaiting_reply"

    async def test_thread_is_archived_after_180_quiet_days_until_the_next_message(
        self, api: Api
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        api.clock.advance(days=180)
        assert (await bob.thread(thread_id))["thread"]["state"] == "awaiting_reply"
        api.clock.advance(seconds=1)
        assert (await bob.thread(thread_id))["thread"]["state"] == "archived"
        await bob.send(thread_id)
        assert (await bob.thread(thread_id))["thread"]["state"] == "open"

    async def test_several_recipients_are_all_in(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        for reader in (bob, carl):
            assert (await reader.row(thread_id))["unread_count"] == 1

    async def test_recipient_may_be_given_as_one_id(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        started = await ann.post("/v1/threads", opening(ann, bob.id, kind="invite"))
        assert started.status_code == 201
        assert started.json()["thread"]["kind"] == "invite"

    async def test_unknown_recipient_is_not_found_and_nothing_is_made(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        refusal = await ann.refusal("POST", "/v1/threads", opening(ann, [bob.id, "nobody.here"]))
        assert refusal == (404, "USER_NOT_FOUND")
        assert (await bob.inbox())["items"] == []

    @pytest.mark.parametrize("to", [[], ["{bob}", "{bob}"], ["{ann}"], ["{bob}", "{ann}"], "{ann}"])
    async def test_recipients_are_others_each_named_once(self, api: Api, to: Any) -> None:
        ann, bob = await api.people("ann", "bob")
        names = {"ann": ann.id, "bob": bob.id}
        filled = to.format(**names) if isinstance(to, str) else [x.format(**names) for x in to]
        refusal = await ann.refusal("POST", "/v1/threads", opening(ann, filled))
        assert refusal == (400, "INVALID_REQUEST")

    async def test_thread_has_at_most_fifty_people(self, api: Api) -> None:
        ann, *crowd = await api.people("ann", *(f"p{n}" for n in range(50)))
        everyone = [each.id for each in crowd]
        refusal = await ann.refusal("POST", "/v1/threads", opening(ann, everyone))
        assert refusal == (400, "INVALID_REQUEST")
        started = await ann.post("/v1/threads", opening(ann, everyone[:49]))
        assert len(started.json()["thread"]["participants"]) == 50
        full = {"user_id": everyone[49], "role": "host"}
        path = f"/v1/threads/{started.json()['thread']['id']}/participants"
        assert await ann.refusal("POST", path, full) == (409, "ACTION_INVALID_STATE")

    @pytest.mark.parametrize("kind", ["project", "dispute", "support", "system", "chat", None])
    async def test_people_start_inquiries_and_invites_only(self, api: Api, kind: str) -> None:
        ann, bob = await api.people("ann", "bob")
        refusal = await ann.refusal("POST", "/v1/threads", opening(ann, bob.id, kind=kind))
        assert refusal == (400, "INVALID_REQUEST")

    async def test_labels_are_refused_when_too_long_never_cut(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        for name, most in (("subject", 200), ("role_context", 64), ("job_id", 64)):
            started = await ann.start(bob, **{name: "x" * most})
            assert started["thread"][name] == "x" * most
            new = opening(ann, bob.id, **{name: "x" * (most + 1)})
            assert await ann.refusal("POST", "/v1/threads", new) == (400, "INVALID_REQUEST")

    async def test_blank_label_is_none(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        started = await ann.start(bob, subject=" \u0007 ", job_id="")
        assert (started["thread"]["subject"], started["thread"]["job_id"]) == (None, None)

    async def test_first_message_follows_the_rules_of_messages(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        for body, code in (("x" * 2001, "MSG_TOO_LONG"), (" ", "MSG_EMPTY")):
            new = opening(ann, bob.id, first_message={"client_id": "c", "body": body})
            assert await ann.refusal("POST", "/v1/threads", new) == (422, code)

    async def test_repeat_returns_what_was_started(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        new = opening(ann, bob.id)
        first = await ann.post("/v1/threads", new)
        again = await ann.post("/v1/threads", new)
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert len((await bob.inbox())["items"]) == 1

    async def test_client_id_of_another_message_starts_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        second = ann.draft("Still there?")
        await ann.post(f"/v1/threads/{thread_id}/messages", second)
        for first_message in ({**second, "body": "Another"}, second):
            new = opening(ann, bob.id, first_message=first_message)
            refusal = await ann.refusal("POST", "/v1/threads", new)
            assert refusal == (422, "IDEMPOTENCY_MISMATCH")
        assert len((await bob.inbox())["items"]) == 1


class TestPromoting:
    async def test_inquiry_becomes_a_project_in_place(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        since = await bob.cursor()
        promoted = await api.backend.post(
            f"/v1/threads/{thread_id}/promote", {"group_id": "lbg_1", "leg_id": None}
        )
        thread = promoted.json()["thread"]
        assert (thread["kind"], thread["group_id"], thread["leg_id"]) == ("project", "lbg_1", None)
        assert (await ann.thread(thread_id))["thread"]["state"] == "confirmed"
        changed, said = await bob.sync(since)
        assert (changed["type"], changed["thread"]["kind"]) == ("thread.changed", "project")
        assert said["message"]["system"] == {
            "code": "thread.promoted",
            "params": {"group_id": "lbg_1", "leg_id": None},
        }
        assert [each["seq"] for each in await ann.messages(thread_id)] == [1, 2]

    async def test_same_booking_again_changes_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/promote"
        first = await api.backend.post(path, {"leg_id": "leg_1"})
        api.clock.advance(seconds=1)
        since = await ann.cursor()
        again = await api.backend.post(path, {"leg_id": "leg_1"})
        assert (again.status_code, again.json()) == (200, first.json())
        assert await ann.sync(since) == []

    async def test_project_takes_no_other_booking(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/promote"
        await api.backend.post(path, {"leg_id": "leg_1"})
        for other in ({"leg_id": "leg_2"}, {"group_id": "leg_1"}):
            refusal = await api.backend.refusal("POST", path, other)
            assert refusal == (409, "ACTION_INVALID_STATE")

    @pytest.mark.parametrize(
        "booking", [{}, {"group_id": "lbg_1", "leg_id": "leg_1"}, {"leg_id": ""}, {"leg_id": " "}]
    )
    async def test_project_is_bound_to_one_leg_or_group(self, api: Api, booking: Json) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        refusal = await api.backend.refusal("POST", f"/v1/threads/{thread_id}/promote", booking)
        assert refusal == (400, "INVALID_REQUEST")
        assert (await ann.thread(thread_id))["thread"]["kind"] == "inquiry"

    async def test_unknown_thread_is_not_promoted(self, api: Api) -> None:
        refusal = await api.backend.refusal(
            "POST", "/v1/threads/thr_nowhere/promote", {"leg_id": "leg_1"}
        )
        assert refusal == (404, "THREAD_NOT_FOUND")


def without(thing: Json, *names: str) -> Json:
    return {name: value for name, value in thing.items() if name not in names}
