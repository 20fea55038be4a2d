"""Cards over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from greenroom.kernel.clock import rfc3339
from tests.support.api import Api, Person

HOUR_MS = 3_600_000


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


def proposal(api: Api, hours: float = 48) -> dict[str, Any]:
    start_ms = api.clock() + int(hours * HOUR_MS)
    times = {"start": rfc3339(start_ms), "end": rfc3339(start_ms + HOUR_MS)}
    return {"type": "propose_time", "payload": {**times, "timezone": "Europe/Vienna"}}


async def make(api: Api, person: Person, thread_id: str, key: str | None = None) -> dict[str, Any]:
    api.clock.advance(seconds=3)
    answer = await person.post(f"/v1/threads/{thread_id}/cards", proposal(api), key=key)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def buttons(card: dict[str, Any]) -> list[str]:
    return [each["action"] for each in card["available_actions"]]


async def test_a_card_is_a_message_with_buttons_for_the_other(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    made = await make(api, ann, thread_id)
    card = made["card"]
    assert made["message"]["kind"] == "card"
    assert made["message"]["seq"] == 2
    assert card["message_id"] == made["message"]["id"]
    assert made["message"]["card"] == card
    assert buttons(card) == ["withdraw"]
    assert card["labels"] == {"title": "Proposed time", "state": "Waiting for an answer"}

    *_, message = await bob.messages(thread_id)
    assert buttons(message["card"]) == ["accept", "counter", "decline"]
    assert message["card"]["id"] == card["id"]
    counter = message["card"]["available_actions"][1]
    assert (counter["label"], counter["style"]) == ("Propose another time", "secondary")
    assert "start" in counter["input"]["properties"]


async def test_an_action_changes_the_card_for_both(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    card = (await make(api, ann, thread_id))["card"]
    since = await ann.cursor()
    answer = await bob.post(f"/v1/cards/{card['id']}/decline", {"version": 1})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["card"]["state"], answer.json()["card"]["version"]) == ("declined", 2)
    changed = [event for event in await ann.sync(since) if event["type"] == "card.changed"]
    assert [event["card"]["state"] for event in changed] == ["declined"]

    page = (await ann.get(f"/v1/cards/{card['id']}")).json()
    assert page["card"]["state"] == "declined"
    assert [(row["version"], row["act"], row["from"], row["to"]) for row in page["history"]] == [
        (1, "create", None, "pending"),
        (2, "decline", "pending", "declined"),
    ]
    assert [row["actor"] for row in page["history"]] == [ann.id, bob.id]


async def test_a_repeat_with_the_same_key_changes_nothing(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    body = proposal(api)
    first, again = [
        await ann.post(f"/v1/threads/{thread_id}/cards", body, key="k1") for _ in range(2)
    ]
    assert (first.status_code, again.status_code) == (201, 201)
    card_id = first.json()["card"]["id"]
    assert again.json()["card"]["id"] == card_id
    assert len(await bob.messages(thread_id)) == 2
    path = f"/v1/cards/{card_id}/decline"
    answers = [await bob.post(path, {"version": 1}, key="k2") for _ in range(2)]
    assert [answer.json()["card"]["version"] for answer in answers] == [2, 2]
    refusal = await bob.refusal("POST", path, {"version": 2}, key="k2")
    assert refusal == (422, "IDEMPOTENCY_MISMATCH")


async def test_a_version_that_is_old_gets_the_card(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    card = (await make(api, ann, await ann.thread_with(bob)))["card"]
    await bob.post(f"/v1/cards/{card['id']}/decline", {"version": 1})
    answer = await ann.post(f"/v1/cards/{card['id']}/withdraw", {"version": 1})
    assert (answer.status_code, answer.json()["code"]) == (409, "ACTION_STALE_VERSION")
    assert answer.json()["card"]["state"] == "declined"


async def test_what_is_refused_says_why(api: Api) -> None:
    ann, bob, eve = await api.people("ann", "bob", "eve")
    thread_id = await ann.thread_with(bob)
    card = (await make(api, ann, thread_id))["card"]
    path = f"/v1/cards/{card['id']}"
    new = f"/v1/threads/{thread_id}/cards"
    for caller, method, where, body, expected in [
        (api.anonymous, "GET", path, None, (401, "UNAUTHENTICATED")),
        (api.anonymous, "POST", f"{path}/accept", {"version": 1}, (401, "UNAUTHENTICATED")),
        (api.backend, "POST", f"{path}/accept", {"version": 1}, (403, "FORBIDDEN")),
        (eve, "GET", path, None, (404, "NOT_FOUND")),
        (eve, "POST", f"{path}/accept", {"version": 1}, (404, "NOT_FOUND")),
        (eve, "POST", new, proposal(api), (404, "THREAD_NOT_FOUND")),
        (bob, "GET", "/v1/cards/crd_nothing", None, (404, "NOT_FOUND")),
        (bob, "POST", f"{path}/accept", {}, (400, "INVALID_REQUEST")),
        (bob, "POST", f"{path}/accept", {"version": True}, (400, "INVALID_REQUEST")),
        (bob, "POST", f"{path}/accept", {"version": 7}, (422, "CARD_INVALID")),
        (bob, "POST", f"{path}/accept", {"version": 1, "more": 1}, (422, "CARD_INVALID")),
        (bob, "POST", f"{path}/withdraw", {"version": 1}, (409, "ACTION_INVALID_STATE")),
        (bob, "POST", f"{path}/dance", {"version": 1}, (409, "ACTION_INVALID_STATE")),
        (bob, "POST", f"{path}/expire", {"version": 1}, (409, "ACTION_INVALID_STATE")),
        (bob, "POST", new, {"type": "dance", "payload": {}}, (422, "CARD_INVALID")),
        (bob, "POST", new, {"type": "propose_time", "payload": {}}, (422, "CARD_INVALID")),
        (bob, "POST", new, {"type": "cancel", "payload": {"reason": "x"}}, (422, "CARD_INVALID")),
        (bob, "POST", new, {"type": "cancel"}, (400, "INVALID_REQUEST")),
    ]:
        assert await caller.refusal(method, where, body) == expected, (method, where, body)
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    for where, body, expected in [
        (new, {"type": "location", "payload": {"lat": deep}}, (422, "CARD_INVALID")),
        (new, {"type": "propose_time", "payload": {"x": "y" * 20_000}}, (422, "CARD_INVALID")),
        (f"{path}/counter", {"version": 1, "note": deep}, (422, "CARD_INVALID")),
        (f"{path}/counter", {"version": 1, "note": "\x00"}, (400, "INVALID_REQUEST")),
    ]:
        assert await bob.refusal("POST", where, body) == expected, str(body)[:50]
    for odd in ("%00", "crd_%00", "%F0%9F%8E%AD", "x" * 500):
        assert (await bob.get(f"/v1/cards/{odd}")).status_code in (400, 404), odd
        answer = await bob.post(f"{path}/{odd}", {"version": 1})
        assert answer.status_code in (400, 404, 409), odd
        assert odd not in answer.json().get("detail", "")
    assert (await bob.get(path)).json()["card"]["version"] == 1
    assert (await api.backend.get(path)).json()["card"]["available_actions"] == []


async def test_the_catalogue_is_served_in_the_readers_language(api: Api) -> None:
    [ann] = await api.people("ann")
    answer = await ann.get("/v1/cards/catalogue", locale="de")
    found = {each["type"]: each for each in answer.json()["items"]}
    assert found["extras"]["title"] == "Zusatzleistungen"
    accept = found["extras"]["transitions"][0]
    assert (accept["from"], accept["action"], accept["to"]) == (["pending"], "accept", "charging")
    etag = answer.headers["etag"]
    again = await ann.call(
        "GET", "/v1/cards/catalogue", params={"locale": "de"}, headers={"if-none-match": etag}
    )
    assert (again.status_code, again.content) == (304, b"")
    other = await api.backend.get("/v1/cards/catalogue", locale="fr")
    assert other.json()["locale"] == "en"
    assert other.headers["etag"] != etag
    assert (await api.anonymous.get("/v1/cards/catalogue")).status_code == 401
