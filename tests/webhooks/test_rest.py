"""Webhooks as the marketplace's backend and its operator meet them."""

import json
from pathlib import Path

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom_client import verify_webhook
from tests.support import command
from tests.support.api import Api, Json, answered
from tests.webhooks.stage import Receiver

ON_ONE_STORE = pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
HOOK = {"url": "https://hooks.shop.example/greenroom", "events": ["*"]}


@pytest.fixture
def receiver(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    made = Receiver()
    monkeypatch.setattr(rooms.webhooks.runner._sender, "_client", made)
    return made


async def add(api: Api, **more: object) -> Json:
    webhook: Json = answered(await api.backend.post("/v1/webhooks", {**HOOK, **more}), 201)[
        "webhook"
    ]
    return webhook


async def test_a_message_reaches_the_backend_signed(api: Api, receiver: Receiver) -> None:
    webhook = await add(api, include_content=True)
    plain = await add(api, url="https://plain.shop.example/")
    ann, bob = await api.people("ann", "bob")
    sent = await ann.start(bob, body="Are you free?")
    await api.rooms.contract.worker.run_until_idle()
    posts = [each for each in receiver.accepted if each.json["type"] == "message.send"]
    [post] = [each for each in posts if each.url == webhook["url"]]
    event = verify_webhook(
        webhook["secret"], post.headers, post.body, now=lambda: api.clock() / 1000
    )
    assert event["data"]["thread"]["id"] == sent["thread"]["id"]
    assert event["data"]["event_id"] == post.headers["webhook-id"]
    assert "Are you free?" in post.body.decode()
    [without] = [each for each in posts if each.url == plain["url"]]
    assert "Are you free?" not in without.body.decode()
    path = f"/v1/webhooks/{webhook['id']}/deliveries"
    page = answered(await api.backend.get(path, state="delivered", limit=1), 200)
    assert page["items"][0]["status"] == 200
    assert page["next_cursor"] == page["items"][0]["id"]
    following = answered(await api.backend.get(path, cursor=page["next_cursor"]), 200)["items"]
    assert page["items"][0] not in following
    for each in (webhook, plain):
        answered(await api.backend.delete(f"/v1/webhooks/{each['id']}"), 204)


@ON_ONE_STORE
async def test_the_secret_is_shown_by_the_call_that_makes_it_and_stored_nowhere_in_plain(
    api: Api, pool: asyncpg.Pool
) -> None:
    made = answered(await api.backend.post("/v1/webhooks", HOOK, key="once"), 201)["webhook"]
    path = f"/v1/webhooks/{made['id']}"
    rotated = answered(await api.backend.call("POST", f"{path}/rotate", key="turn"), 200)["webhook"]
    assert made["secret"].startswith("whsec_")
    assert rotated["secret"] not in (made["secret"], None)
    assert rotated["previous_secret_until"] is not None
    shown = answered(await api.backend.get(path), 200)["webhook"]
    assert shown["secret"] is None
    listed = answered(await api.backend.get("/v1/webhooks"), 200)["items"]
    assert {each["secret"] for each in listed} == {None}
    # The first secret has been replaced, so the repeat of the first call no longer shows it.
    again = answered(await api.backend.post("/v1/webhooks", HOOK, key="once"), 201)["webhook"]
    assert (again["id"], again["secret"]) == (made["id"], None)
    kept = await pool.fetch("select body from idempotency_key where body is not null")
    assert not any(b"whsec_" in row["body"] for row in kept)
    rows = await pool.fetch("select secret, previous_secret from webhook")
    for secret in (made["secret"], rotated["secret"]):
        assert not any(secret[6:20].encode() in bytes(each) for row in rows for each in row if each)


@ON_ONE_STORE
@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://hooks.shop.example/"},
        {"url": "https://localhost.:443@evil.example/"},
        {"url": "https://169.254.169.254/latest"},
        {"url": "https://[::ffff:10.0.0.1]/"},
        {"url": "https://hooks.shop.example/ä"},
        {"url": "https://hooks.shop.example/" + "x" * 2000},
        {"url": "javascript:alert(1)"},
        {"events": []},
        {"events": ["message.sned"]},
        {"description": "x" * 201},
    ],
)
async def test_what_cannot_be_posted_to_is_refused_at_once(api: Api, wrong: Json) -> None:
    refusal = await api.backend.refusal("POST", "/v1/webhooks", {**HOOK, **wrong})
    assert refusal == (400, "INVALID_REQUEST")


@ON_ONE_STORE
async def test_replays_name_one_event_or_one_span(api: Api) -> None:
    path = f"/v1/webhooks/{(await add(api))['id']}/replay"
    for body in ({}, {"since": "yesterday"}, {"from": "2027-01-01T00:00:00Z"}):
        assert await api.backend.refusal("POST", path, body) == (400, "INVALID_REQUEST")
    both = {"event_id": "evt_1", "since": "2027-01-01T00:00:00Z"}
    assert await api.backend.refusal("POST", path, both) == (400, "INVALID_REQUEST")
    turned = {"from": "2027-01-02T00:00:00Z", "to": "2027-01-01T00:00:00Z"}
    assert await api.backend.refusal("POST", path, turned) == (400, "INVALID_REQUEST")


def test_the_operator_has_the_same_by_command(database_url: str, tmp_path: Path) -> None:
    given = {
        "GREENROOM_HOME": str(tmp_path),
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_LIMIT_WEBHOOKS": "1000",
    }

    def run(*arguments: str, code: int = 0) -> Json:
        done = command.run("webhooks", *arguments, "--json", given=given)
        assert done.code == code, done.err
        return {"value": json.loads(done.out)} if code == 0 else {"error": done.err}

    made = run("add", "https://hooks.shop.example/", "--events", "message.send,leg.moved")["value"]
    assert made["secret"].startswith("whsec_")
    listed = run("list")["value"]
    assert made["id"] in [each["id"] for each in listed]
    assert run("rotate", made["id"])["value"]["secret"] != made["secret"]
    assert run("replay", made["id"], "--since", "2099-01-01T00:00:00Z")["value"]["events"] == 0
    assert run("deliveries", made["id"])["value"] == []
    assert run("enable", made["id"])["value"]["enabled"] is True
    run("remove", made["id"])
    assert "no such webhook" in run("remove", made["id"], code=1)["error"]
    refused = run("add", "http://hooks.shop.example/", code=2)["error"]
    assert "https://" in refused
