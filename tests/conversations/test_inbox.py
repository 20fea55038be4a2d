"""The inbox: folders, filters, search, and what a person does with a row of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import Api, Json, Person

if TYPE_CHECKING:
    from .inside import Inside

DAY_S = 24 * 60 * 60


async def listed(person: Person, **asked: Any) -> list[str]:
    return [each["thread"]["id"] for each in (await person.inbox(**asked))["items"]]


async def arrange(person: Person, thread_id: str, **changes: Any) -> Json:
    answer = await person.patch(f"/v1/threads/{thread_id}/me", changes)
    assert answer.status_code == 200, answer.text
    row: Json = answer.json()["inbox"]
    return row


async def several_threads(api: Api, opener: Person, other: Person, count: int) -> list[str]:
    """A second apart, the oldest first."""
    threads = []
    for _ in range(count):
        api.clock.advance(seconds=1)
        threads.append(await opener.thread_with(other))
    return threads


async def promote(api: Api, thread_id: str) -> None:
    answer = await api.backend.post(f"/v1/threads/{thread_id}/promote", {"group_id": "lbg_1"})
    assert answer.status_code == 200


class TestFolders:
    async def test_offers_become_bookings_when_promoted(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        offer, booking = await ann.thread_with(bob), await ann.thread_with(bob)
        await promote(api, booking)
        assert await listed(bob, folder="offers") == [offer]
        assert await listed(bob, folder="bookings") == [booking]
        assert set(await listed(bob)) == {offer, booking}
        row = await bob.row(booking)
        assert (row["state"], row["badges"]) == ("confirmed", ["booking"])

    async def test_counts_are_per_folder(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        threads = [await ann.thread_with(bob) for _ in range(3)]
        await promote(api, threads[0])
        await arrange(bob, threads[1], archived=True)
        assert (await bob.inbox())["counts"] == {
            "all": 2,
            "action": 0,
            "bookings": 1,
            "offers": 1,
            "requests": 0,
            "archived": 1,
            "spam": 0,
        }

    @pytest.mark.parametrize("folder", ["action", "requests", "spam"])
    async def test_folders_with_nothing_in_them_are_empty(self, api: Api, folder: str) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        assert await listed(bob, folder=folder) == []

    async def test_folder_is_where_an_operator_put_the_row(self, api: Api, inside: Inside) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await inside.put_into_spam(thread_id, bob.id)
        assert await listed(bob, folder="spam") == [thread_id]
        assert await listed(bob) == []


class TestFilters:
    async def test_unread_and_read(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first, second = await ann.start(bob), await ann.start(bob)
        await bob.read(first["thread"]["id"], first["message"]["id"])
        assert await listed(bob, unread=True) == [second["thread"]["id"]]
        assert await listed(bob, unread=False) == [first["thread"]["id"]]

    async def test_kind_and_role_context(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        invite = (await ann.start(bob, kind="invite", role_context="model"))["thread"]["id"]
        inquiry = (await ann.start(bob, role_context="studio"))["thread"]["id"]
        assert await listed(bob, kind="invite") == [invite]
        assert await listed(bob, role_context="studio") == [inquiry]
        assert await listed(bob, kind="invite", role_context="studio") == []

    async def test_city(self, api: Api, inside: Inside) -> None:
        ann, bob = await api.people("ann", "bob")
        leeds, _ = await ann.thread_with(bob), await ann.thread_with(bob)
        await inside.place_in("Leeds", leeds)
        assert await listed(bob, city="Leeds") == [leeds]

    async def test_state_is_what_the_row_says(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        quiet = await ann.thread_with(bob)
        api.clock.advance(seconds=181 * DAY_S)
        waiting, answered, booked = [await ann.thread_with(bob) for _ in range(3)]
        await bob.send(answered)
        await promote(api, booked)
        expected = {
            "archived": quiet,
            "awaiting_reply": waiting,
            "open": answered,
            "confirmed": booked,
        }
        for state, thread_id in expected.items():
            assert await listed(bob, state=state) == [thread_id]
            assert (await bob.row(thread_id))["state"] == state

    async def test_archived_state_ends_with_the_next_message(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        api.clock.advance(seconds=181 * DAY_S)
        assert (await ann.row(thread_id))["state"] == "archived"
        await bob.send(thread_id)
        assert (await ann.row(thread_id))["state"] == "awaiting_reply"

    async def test_filtered_pages_follow_each_other(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        threads = await several_threads(api, ann, bob, 7)
        for number, thread_id in enumerate(threads):
            await arrange(bob, thread_id, pinned=number in (1, 4), starred=number % 2 == 0)
        seen: list[str] = []
        cursor: Json = {}
        while True:
            page = await bob.inbox(starred=True, limit=1, **cursor)
            seen += [each["thread"]["id"] for each in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert seen == [threads[4], threads[6], threads[2], threads[0]]

    @pytest.mark.parametrize(
        "asked", [{"folder": "nope"}, {"kind": "nope"}, {"state": "nope"}, {"q": "x" * 101}]
    )
    async def test_nonsense_is_refused(self, api: Api, asked: Json) -> None:
        [ann] = await api.people("ann")
        answer = await ann.get("/v1/inbox", **asked)
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


class TestSearch:
    async def test_finds_subjects_and_the_other_peoples_names(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        for person, name in ((ann, "Zoë Lindqvist"), (bob, "Theo Adeyemi"), (carl, "Al")):
            await api.backend.put(f"/v1/users/{person.id}", {"display_name": name})
        lookbook = (await ann.start(bob, subject="Spring lookbook"))["thread"]["id"]
        other = (await ann.start(carl, subject="100% wool_coat"))["thread"]["id"]
        assert await listed(ann, q="LOOKBOOK") == [lookbook]
        assert await listed(ann, q="adeyemi") == [lookbook]
        assert await listed(bob, q="zoë") == [lookbook]
        assert await listed(ann, q="0% wool_") == [other]
        assert await listed(ann, q="0%wool") == []
        assert await listed(ann, q="Zoë") == [], "one's own name finds nothing"
        assert set(await listed(ann, q="  ")) == {lookbook, other}

    async def test_finds_nothing_of_others(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.start(bob, subject="Secret shoot")
        assert await listed(carl, q="secret") == []


class TestOwnRow:
    async def test_pinned_threads_come_first(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        threads = await several_threads(api, ann, bob, 3)
        assert (await arrange(bob, threads[0], pinned=True))["pinned"]
        assert await listed(bob) == [threads[0], threads[2], threads[1]]
        await arrange(bob, threads[0], pinned=False)
        assert await listed(bob) == threads[::-1]
        assert await listed(ann) == threads[::-1], "a pin is one's own"

    async def test_archived_thread_comes_back_when_somebody_else_writes(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        assert (await arrange(bob, thread_id, archived=True))["placement"] == "archived"
        await bob.send(thread_id)
        assert await listed(bob, folder="archived") == [thread_id]
        await ann.send(thread_id)
        assert await listed(bob) == [thread_id]
        await arrange(bob, thread_id, archived=True)
        await arrange(bob, thread_id, archived=False)
        assert await listed(bob) == [thread_id]

    async def test_mute_has_an_end(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        row = await arrange(bob, thread_id, muted_until="2030-01-01T01:00:00.5+01:00")
        assert row["muted_until"] == "2030-01-01T00:00:00.500Z"
        assert row["badges"] == ["muted"]
        row = await arrange(bob, thread_id, starred=True)
        assert row["muted_until"] == "2030-01-01T00:00:00.500Z", "what is left out stays"
        assert (await arrange(bob, thread_id, muted_until=None))["muted_until"] is None

    @pytest.mark.parametrize("until", ["", "soon", "2030-01-01", "2030-01-01T00:00:00", 5])
    async def test_mute_takes_a_time_with_an_offset(self, api: Api, until: Any) -> None:
        ann, bob = await api.people("ann", "bob")
        path = f"/v1/threads/{await ann.thread_with(bob)}/me"
        refusal = await bob.refusal("PATCH", path, {"muted_until": until})
        assert refusal == (400, "INVALID_REQUEST")

    async def test_other_devices_hear_of_it_and_nobody_else(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        since, of_ann = await bob.cursor(), await ann.cursor()
        row = await arrange(bob, thread_id, pinned=True)
        await arrange(bob, thread_id, pinned=True)
        assert await ann.sync(of_ann) == []
        [event] = await bob.sync(since)
        assert (event["type"], event["inbox"]) == ("inbox.changed", row)


class TestJobs:
    async def test_registered_job_admits_its_people_only(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        job = f"job-{ann.id}"
        members = {"participants": [ann.id, bob.id]}
        made = await api.backend.put(f"/v1/jobs/{job}", members)
        assert (made.status_code, made.json()) == (201, {"job": {"job_id": job, **members}})
        assert (await api.backend.put(f"/v1/jobs/{job}", members)).status_code == 200
        started = await ann.start(bob, job_id=job)
        assert started["thread"]["job_id"] == job
        for opener, other in ((ann, carl), (carl, ann)):
            new: Json = {"kind": "inquiry", "to": other.id, "job_id": job}
            new["first_message"] = opener.draft()
            assert await opener.refusal("POST", "/v1/threads", new) == (404, "NOT_FOUND")
        path = f"/v1/threads/{started['thread']['id']}/participants"
        newcomer = {"user_id": carl.id, "role": "host"}
        assert await ann.refusal("POST", path, newcomer) == (404, "USER_NOT_FOUND")
        members["participants"].append(carl.id)
        await api.backend.put(f"/v1/jobs/{job}", members)
        assert (await ann.post(path, newcomer)).status_code == 200

    async def test_unregistered_job_is_a_label(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        assert (await ann.start(bob, job_id="whatever"))["thread"]["job_id"] == "whatever"

    async def test_jobs_can_be_required(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(api.rooms.conversations, "_require_job", True)
        ann, bob = await api.people("ann", "bob")
        new: Json = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
        assert await ann.refusal("POST", "/v1/threads", new) == (400, "INVALID_REQUEST")
        new["job_id"] = "unknown"
        assert await ann.refusal("POST", "/v1/threads", new) == (404, "NOT_FOUND")

    async def test_where_jobs_are_required_those_of_others_look_like_none(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        jobs = (f"job-{carl.id}", f"unregistered-{carl.id}")
        await api.backend.put(f"/v1/jobs/{jobs[0]}", {"participants": [bob.id, carl.id]})
        monkeypatch.setattr(api.rooms.conversations, "_require_job", True)

        async def ask(path: str, body: Json) -> Json:
            answer = await ann.post(path, body)
            assert answer.status_code == 404
            document: Json = answer.json()
            del document["corr_id"]
            return document

        new: Json = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
        starts = [await ask("/v1/threads", {**new, "job_id": job}) for job in jobs]
        assert starts[0] == starts[1]
        sent: Json = {"receiverId": bob.id, "content": "Hello", "type": "text"}
        sends = [await ask("/messages/send", {**sent, "jobId": job}) for job in jobs]
        assert sends[0] == sends[1]
