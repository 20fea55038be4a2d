"""The calls of this room: who may make them, what they answer, and what a repeat gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx
import pytest
from icalendar import Calendar

from greenroom.kernel.clock import rfc3339
from tests.support.api import Api, Client, Json, Person

DAY_MS = 86_400_000
SHA = "0f" * 32
ITEM = {"name": "final.zip", "bytes": 10, "sha256": SHA, "url": "https://files.example.com/f.zip"}


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


@dataclass
class Scene:
    """Ann books Bob and Sue; Eve has nothing to do with it."""

    api: Api
    pool: asyncpg.Pool
    ann: Person
    bob: Person
    sue: Person
    eve: Person

    def wish(self, *, days: int = 30, price: int = 20_000, **more: Any) -> Json:
        start_ms = self.api.clock() + days * DAY_MS
        return {
            "buyer": self.ann.id,
            "currency": "EUR",
            "legs": [
                {
                    "kind": kind,
                    "seller": seller.id,
                    "title": title,
                    "start": rfc3339(start_ms),
                    "end": rfc3339(start_ms + DAY_MS // 4),
                    "timezone": "Europe/Vienna",
                    "price_cents": price,
                    "deposit_cents": deposit,
                }
                for kind, seller, title, deposit in (
                    ("talent", self.bob, "Shoot", 0),
                    ("studio", self.sue, "Studio", 5_000),
                )
            ],
            **more,
        }

    async def propose(self, **more: Any) -> Json:
        made = _ok(await self.api.backend.post("/v1/bookings", self.wish(**more)), 201)
        booking: Json = made["booking"]
        assert made["thread"]["id"] == booking["thread_id"]
        return booking

    async def confirm(self, booking: Json) -> Json:
        path = f"/v1/bookings/{booking['id']}/confirm"
        return _ok(await self.api.backend.post(path, {}), 200)


def _ok(answer: httpx.Response, status: int) -> Json:
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


@pytest.fixture
async def scene(api: Api, pool: asyncpg.Pool) -> Scene:
    return Scene(api, pool, *await api.people("ann", "bob", "sue", "eve"))


async def test_a_proposal_says_what_it_would_cost_to_cancel(scene: Scene) -> None:
    booking = await scene.propose()
    assert booking["id"].startswith("lbg_")
    assert booking["state"] == "proposed"
    assert booking["buyer"] == scene.ann.id
    assert booking["total"] == {"amount_cents": 40_000, "currency": "EUR"}
    assert booking["failure_code"] is None
    assert booking["cancellation_policy"][0] == {"notice_hours": 168, "refund_percent": 100}
    talent, studio = booking["legs"]
    assert talent["deposit"] is None
    assert studio["deposit"]["state"] == "none"
    assert studio["deposit"]["amount"] == {"amount_cents": 5_000, "currency": "EUR"}
    assert talent["cancellation_quote"] == {
        "refund": {"amount_cents": 20_000, "currency": "EUR"},
        "refund_percent": 100,
        "notice_hours": 168,
    }
    thread = (await scene.bob.thread(booking["thread_id"]))["thread"]
    assert (thread["kind"], thread["subject"]) == ("inquiry", "Shoot")


async def test_a_confirmed_booking_answers_with_its_project(scene: Scene) -> None:
    booking = await scene.propose(days=40)
    confirmed = await scene.confirm(booking)
    assert confirmed["booking"]["state"] == "confirmed"
    assert [leg["state"] for leg in confirmed["booking"]["legs"]] == ["confirmed"] * 2
    assert confirmed["booking"]["legs"][1]["deposit"]["state"] == "held"
    assert confirmed["thread"]["id"] == booking["thread_id"]
    for person in (scene.ann, scene.bob, scene.sue):
        thread = (await person.thread(booking["thread_id"]))["thread"]
        assert (thread["kind"], thread["state"]) == ("project", "confirmed")
        assert thread["group_id"] == booking["id"]
        [said] = [
            message
            for message in await person.messages(booking["thread_id"])
            if message["kind"] == "system" and message["system"]["code"] == "booking.confirmed"
        ]
        assert said["system"]["params"]["booking_id"] == booking["id"]


async def test_the_buyers_cancellation_follows_the_policy_that_was_quoted(scene: Scene) -> None:
    policy = [{"notice_hours": 24, "refund_percent": 25}]
    booking = await scene.propose(days=50, cancellation=policy)
    await scene.confirm(booking)
    path = f"/v1/bookings/{booking['id']}"
    quoted = _ok(await scene.ann.get(path), 200)["booking"]["legs"][0]["cancellation_quote"]
    assert quoted["refund"] == {"amount_cents": 5_000, "currency": "EUR"}
    cancelled = _ok(await scene.api.backend.post(f"{path}/cancel", {"by": "buyer"}), 200)
    assert cancelled["booking"]["state"] == "cancelled"
    assert [leg["state"] for leg in cancelled["booking"]["legs"]] == ["cancelled"] * 2
    assert cancelled["booking"]["legs"][0]["cancellation_quote"] is None
    refunds = await scene.pool.fetch(
        "select amount_cents from refund where group_id = $1", booking["id"]
    )
    assert [row["amount_cents"] for row in refunds] == [5_000, 5_000]


async def test_a_repeat_under_the_same_key_books_and_charges_once(scene: Scene) -> None:
    backend, wish = scene.api.backend, scene.wish(days=60)
    key = f"book-{scene.ann.id}"
    first = _ok(await backend.post("/v1/bookings", wish, key=key), 201)["booking"]
    again = _ok(await backend.post("/v1/bookings", wish, key=key), 201)["booking"]
    assert again == first
    other = {**wish, "currency": "USD"}
    refused = await backend.refusal("POST", "/v1/bookings", other, key=key)
    assert refused == (422, "IDEMPOTENCY_MISMATCH")

    path = f"/v1/bookings/{first['id']}"
    confirmed = _ok(await backend.post(f"{path}/confirm", {}, key=key), 200)
    assert _ok(await backend.post(f"{path}/confirm", {}, key=key), 200) == confirmed
    assert await backend.refusal("POST", f"{path}/confirm", {}) == (409, "ACTION_INVALID_STATE")
    charges = await scene.pool.fetchval(
        "select count(*) from payment where group_id = $1 and operation = 'charge'", first["id"]
    )
    assert charges == 1

    cancelled = _ok(await backend.post(f"{path}/cancel", {}, key=key), 200)
    assert cancelled["booking"]["state"] == "cancelled"
    assert _ok(await backend.post(f"{path}/cancel", {}, key=key), 200)["booking"]["state"] == (
        "cancelled"
    )
    assert await backend.refusal("POST", f"{path}/cancel", {}) == (409, "ACTION_INVALID_STATE")


async def test_a_declined_charge_leaves_a_proposal_that_says_why(scene: Scene) -> None:
    """The sandbox declines what ends in 13 cents."""
    [leg, _] = scene.wish(days=65)["legs"]
    booking = await scene.propose(legs=[{**leg, "price_cents": 10_013}])
    declined = await scene.confirm(booking)
    assert declined["booking"]["state"] == "proposed"
    assert declined["booking"]["failure_code"] == "card_declined"
    assert declined["thread"]["kind"] == "inquiry"
    said = [
        message["system"]["code"]
        for message in await scene.ann.messages(booking["thread_id"])
        if message["kind"] == "system"
    ]
    assert "booking.payment_failed" in said
    # The time is free again.
    other = await scene.propose(legs=[leg])
    assert (await scene.confirm(other))["booking"]["state"] == "confirmed"


async def test_a_taken_slot_is_a_conflict_that_names_the_leg(scene: Scene) -> None:
    await scene.confirm(await scene.propose(days=70))
    second = await scene.propose(days=70)
    path = f"/v1/bookings/{second['id']}/confirm"
    answer = await scene.api.backend.post(path, {})
    assert (answer.status_code, answer.json()["code"]) == (409, "ACTION_CONFLICT")
    assert answer.json()["leg_id"] in {leg["id"] for leg in second["legs"]}


async def test_a_booking_takes_a_thread_in_which_all_its_people_are(scene: Scene) -> None:
    thread_id = await scene.ann.thread_with(scene.bob, scene.sue)
    booking = await scene.propose(days=80, thread_id=thread_id)
    assert booking["thread_id"] == thread_id
    backend = scene.api.backend
    again = scene.wish(days=80, thread_id=thread_id)
    assert await backend.refusal("POST", "/v1/bookings", again) == (409, "ACTION_CONFLICT")
    without_sue = await scene.ann.thread_with(scene.bob)
    wish = scene.wish(days=80, thread_id=without_sue)
    refused = await backend.refusal("POST", "/v1/bookings", wish)
    assert refused == (409, "ACTION_INVALID_STATE")
    nowhere = scene.wish(days=80, thread_id="thr_019e33c9ac00zzzzzzzzzzzzzz")
    assert await backend.refusal("POST", "/v1/bookings", nowhere) == (404, "THREAD_NOT_FOUND")


async def test_what_no_booking_can_be_is_refused(scene: Scene) -> None:
    backend, wish = scene.api.backend, scene.wish()
    [leg, _] = wish["legs"]
    wrongs: list[Json] = [
        {"legs": []},
        {"currency": "euro"},
        {"legs": [{**leg, "end": leg["start"]}]},
        {"legs": [{**leg, "start": "tomorrow"}]},
        {"legs": [{**leg, "timezone": "Middle/Earth"}]},
        {"legs": [{**leg, "price_cents": -1}]},
        {"legs": [{**leg, "kind": "catering"}]},
        {"legs": [{**leg, "seller": scene.ann.id}]},
        {"cancellation": [{"notice_hours": 1, "refund_percent": 101}]},
        {"colour": "red"},
    ]
    for wrong in wrongs:
        refused = await backend.refusal("POST", "/v1/bookings", {**wish, **wrong})
        assert refused == (400, "INVALID_REQUEST")
    stranger = {"legs": [{**leg, "seller": "nobody.knows.them"}]}
    refused = await backend.refusal("POST", "/v1/bookings", {**wish, **stranger})
    assert refused == (404, "USER_NOT_FOUND")


async def _refusals(
    callers: list[Client], method: str, path: str, body: object = None
) -> list[tuple[int, str]]:
    return [await caller.refusal(method, path, body) for caller in callers]


async def test_who_may_do_what_with_a_booking(scene: Scene) -> None:
    api = scene.api
    booking = await scene.propose(days=90)
    path = f"/v1/bookings/{booking['id']}"
    draft = {"title": "Release form", "sha256": SHA, "signers": [scene.bob.id]}
    for target, body in (
        ("/v1/bookings", scene.wish()),
        (f"{path}/confirm", {}),
        (f"{path}/cancel", {}),
        (f"{path}/documents", draft),
    ):
        refused = await _refusals([api.anonymous, scene.ann], "POST", target, body)
        assert refused == [(401, "UNAUTHENTICATED"), (403, "FORBIDDEN")]
    for action in ("confirm", "cancel", "documents"):
        body = draft if action == "documents" else {}
        refused_unknown = await api.backend.refusal("POST", f"/v1/bookings/lbg_x/{action}", body)
        assert refused_unknown == (404, "NOT_FOUND")
    refused = await _refusals([api.anonymous, scene.eve], "GET", path)
    assert refused == [(401, "UNAUTHENTICATED"), (404, "NOT_FOUND")]
    for caller in (scene.ann, scene.bob, scene.sue, api.backend):
        assert _ok(await caller.get(path), 200)["booking"]["id"] == booking["id"]

    document = _ok(await api.backend.post(f"{path}/documents", draft), 201)["document"]
    assert document["signers"] == [{"user_id": scene.bob.id, "state": "pending", "at": None}]
    target = f"/v1/documents/{document['id']}"
    refused = await _refusals([api.anonymous, scene.eve], "GET", target)
    assert refused == [(401, "UNAUTHENTICATED"), (404, "NOT_FOUND")]
    for caller in (scene.ann, scene.bob, api.backend):
        assert _ok(await caller.get(target), 200) == {"document": document}


async def test_who_may_do_what_with_a_manifest(scene: Scene) -> None:
    api = scene.api
    booking = await scene.propose(days=100)
    path = f"/v1/threads/{booking['thread_id']}/manifests"
    new = {"items": [ITEM], "leg_id": booking["legs"][0]["id"]}
    assert await scene.bob.refusal("POST", path, new) == (409, "ACTION_INVALID_STATE")
    await scene.confirm(booking)
    refused = await _refusals([api.anonymous, scene.eve, api.backend], "POST", path, new)
    assert refused == [(401, "UNAUTHENTICATED"), (404, "THREAD_NOT_FOUND"), (403, "FORBIDDEN")]
    private = {"items": [{**ITEM, "url": "https://169.254.169.254/"}]}
    assert await scene.bob.refusal("POST", path, private) == (400, "INVALID_REQUEST")

    manifest = _ok(await scene.bob.post(path, new, key="manifest"), 201)["manifest"]
    assert _ok(await scene.bob.post(path, new, key="manifest"), 201) == {"manifest": manifest}
    assert manifest["items"] == [ITEM]
    assert (manifest["booking_id"], manifest["leg_id"]) == (booking["id"], new["leg_id"])
    target = f"/v1/manifests/{manifest['id']}"
    refused = await _refusals([api.anonymous, scene.eve], "GET", target)
    assert refused == [(401, "UNAUTHENTICATED"), (404, "NOT_FOUND")]
    for caller in (scene.ann, scene.sue, api.backend):
        assert _ok(await caller.get(target), 200) == {"manifest": manifest}


async def test_the_manifests_of_a_thread_are_listed_newest_first(scene: Scene) -> None:
    booking = await scene.propose(days=120)
    await scene.confirm(booking)
    path = f"/v1/threads/{booking['thread_id']}/manifests"
    made = []
    for _ in range(3):
        scene.api.clock.advance(seconds=1)
        new = {"items": [ITEM], "leg_id": booking["legs"][0]["id"]}
        made.append(_ok(await scene.bob.post(path, new), 201)["manifest"])
    refused = await _refusals([scene.api.anonymous, scene.eve, scene.api.backend], "GET", path)
    assert refused == [(401, "UNAUTHENTICATED"), (404, "THREAD_NOT_FOUND"), (403, "FORBIDDEN")]
    for viewer in (scene.ann, scene.bob, scene.sue):
        page = _ok(await viewer.get(path, limit=2), 200)
        assert page == {"items": [made[2], made[1]], "next_cursor": made[1]["id"]}
        rest = _ok(await viewer.get(path, limit=2, cursor=page["next_cursor"]), 200)
        assert rest == {"items": [made[0]], "next_cursor": None}
    assert await scene.ann.refusal("GET", path, params={"limit": 21}) == (400, "INVALID_REQUEST")


async def test_who_may_see_a_calendar(scene: Scene) -> None:
    api = scene.api
    booking = await scene.propose(days=110)
    path = f"/v1/legs/{booking['legs'][0]['id']}.ics"
    assert await scene.ann.refusal("GET", path) == (404, "NOT_FOUND")
    await scene.confirm(booking)
    refused = await _refusals([api.anonymous, scene.eve], "GET", path)
    assert refused == [(401, "UNAUTHENTICATED"), (404, "NOT_FOUND")]
    file = await scene.sue.get(path)
    assert file.headers["content-type"] == "text/calendar; charset=utf-8"
    assert len(Calendar.from_ical(file.content).walk("VEVENT")) == 1

    assert await api.anonymous.refusal("POST", "/v1/me/calendar") == (401, "UNAUTHENTICATED")
    url: str = _ok(await scene.ann.post("/v1/me/calendar", None), 201)["calendar"]["url"]
    feed = await api.anonymous.get("/v1" + url.split("/v1", 1)[1])
    assert feed.status_code == 200
    assert len(Calendar.from_ical(feed.content).walk("VEVENT")) == 2
    assert await api.anonymous.refusal("GET", "/v1/calendar/guess.ics") == (404, "NOT_FOUND")
