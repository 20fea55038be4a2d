"""The calls about webhooks, and what they need to be made."""

from __future__ import annotations

from tests.support.api import Json, answered

from .matrix import MISSING, Entry, Request, Scene, missing, of

SINCE = "2027-01-01T00:00:00Z"


def a_webhook(_: Scene) -> Json:
    return {"url": "https://hooks.shop.example/greenroom", "events": ["message.send"]}


async def add(scene: Scene) -> None:
    answer = await scene.api.backend.post("/v1/webhooks", a_webhook(scene))
    scene.ids["webhook_id"] = answered(answer, 201)["webhook"]["id"]


async def disable(scene: Scene) -> None:
    path = f"/v1/webhooks/{scene.ids['webhook_id']}"
    answered(await scene.api.backend.patch(path, {"enabled": False}), 200)


WEBHOOKS: dict[str, Entry] = {
    "add_webhook": Entry(
        lambda s: Request(json=a_webhook(s)),
        status=201,
        repeated=201,
        wrong=lambda s: Request(json={**a_webhook(s), "url": "https://127.0.0.1/"}),
        code="INVALID_REQUEST",
        other=lambda _: {"events": ["*"]},
    ),
    "list_webhooks": Entry(lambda _: Request(), prepare=add),
    "get_webhook": Entry(
        lambda s: of(s, "webhook_id"), wrong=missing("webhook_id"), code="NOT_FOUND", prepare=add
    ),
    "edit_webhook": Entry(
        lambda s: of(s, "webhook_id", json={"events": ["*"], "enabled": True}),
        wrong=lambda s: of(s, "webhook_id", json={"events": ["message.sned"]}),
        code="INVALID_REQUEST",
        prepare=add,
    ),
    "remove_webhook": Entry(
        lambda s: of(s, "webhook_id"),
        status=204,
        repeated=404,
        wrong=missing("webhook_id"),
        code="NOT_FOUND",
        prepare=add,
    ),
    "rotate_webhook": Entry(
        lambda s: of(s, "webhook_id"),
        wrong=missing("webhook_id"),
        code="NOT_FOUND",
        elsewhere={"webhook_id": MISSING["webhook_id"]},
        prepare=add,
    ),
    "test_webhook": Entry(
        lambda s: of(s, "webhook_id"),
        status=202,
        repeated=202,
        wrong=lambda s: of(s, "webhook_id"),
        code="ACTION_INVALID_STATE",
        spoil=disable,
        elsewhere={"webhook_id": MISSING["webhook_id"]},
        prepare=add,
    ),
    "replay_webhook": Entry(
        lambda s: of(s, "webhook_id", json={"from": SINCE, "to": SINCE}),
        status=202,
        repeated=202,
        wrong=lambda s: of(s, "webhook_id", json={"event_id": "evt_none"}),
        code="NOT_FOUND",
        other=lambda _: {"to": "2027-01-02T00:00:00Z"},
        prepare=add,
    ),
    "list_deliveries": Entry(
        lambda s: Request({"webhook_id": s.ids["webhook_id"]}, query={"state": "waiting"}),
        wrong=lambda s: Request({"webhook_id": s.ids["webhook_id"]}, query={"cursor": "guess"}),
        code="INVALID_REQUEST",
        prepare=add,
    ),
}
