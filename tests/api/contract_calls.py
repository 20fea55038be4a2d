"""The calls about bookings, documents, cards and the panel, and what they need to be made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx

from greenroom.bookings.money.provider import Confirmation, Outcome
from greenroom.bookings.money.settling import Settling
from greenroom.bookings.money.webhook_signatures import HEADER, sign
from greenroom.bookings.rest.stripe_webhook import HEADER as STRIPE_HEADER
from greenroom.bootstrap_contract import payments_secret
from tests.support.api import Json

from .matrix import MISSING, Entry, Request, Scene, missing, of, of_thread

SHA256 = "ab" * 32


def new_booking(scene: Scene, price_cents: int = 0, **more: Any) -> Json:
    leg = {
        "seller": scene.bob.id,
        "title": "A shoot",
        "start": "2027-06-01T10:00:00+02:00",
        "end": "2027-06-01T12:00:00+02:00",
        "timezone": "Europe/Vienna",
        "price_cents": price_cents,
    }
    booking = {"buyer": scene.ann.id, "currency": "EUR", "thread_id": scene.thread_id}
    return {**booking, "legs": [leg], **more}


async def propose(scene: Scene) -> None:
    await _propose(scene, 10_000)


async def _propose(scene: Scene, price_cents: int) -> None:
    answer = await scene.api.backend.post("/v1/bookings", new_booking(scene, price_cents))
    assert answer.status_code == 201, answer.text
    booking = answer.json()["booking"]
    scene.ids["booking_id"] = booking["id"]
    scene.ids["leg_file"] = f"{booking['legs'][0]['id']}.ics"


async def confirm(scene: Scene) -> None:
    """What costs nothing is confirmed at once."""
    await _propose(scene, 0)
    path = f"/v1/bookings/{scene.ids['booking_id']}/confirm"
    answer = await scene.api.backend.call("POST", path)
    assert answer.json()["booking"]["state"] == "confirmed", answer.text


async def cancel(scene: Scene) -> None:
    path = f"/v1/bookings/{scene.ids['booking_id']}/cancel"
    assert (await scene.api.backend.post(path, {})).status_code == 200


async def dispute(scene: Scene) -> None:
    """Bob says that the work is done, and Ann, who is the buyer, that it is not."""
    await confirm(scene)
    done = {"type": "complete", "payload": {"kind": "milestone"}}
    answer = await scene.bob.post(f"/v1/threads/{scene.thread_id}/cards", done)
    assert answer.status_code == 201, answer.text
    path, body = f"/v1/cards/{answer.json()['card']['id']}/dispute", {"version": 1, "reason": "No"}
    assert (await scene.ann.post(path, body)).status_code == 200


async def end_dispute(scene: Scene) -> None:
    path = f"/v1/bookings/{scene.ids['booking_id']}/complete"
    assert (await scene.api.backend.call("POST", path)).status_code == 200


async def take_the_time(scene: Scene) -> None:
    """Bob has another booking at the same time, with Dora."""
    start = {"buyer": scene.dora.id, "thread_id": None}
    answer = await scene.api.backend.post("/v1/bookings", {**new_booking(scene), **start})
    path = f"/v1/bookings/{answer.json()['booking']['id']}/confirm"
    assert (await scene.api.backend.call("POST", path)).status_code == 200


async def fail_a_refund(scene: Scene) -> None:
    """Of a booking that was paid and is cancelled."""
    await propose(scene)
    contract, path = scene.api.rooms.contract, f"/v1/bookings/{scene.ids['booking_id']}"
    answer = await scene.api.backend.call("POST", f"{path}/confirm")
    assert answer.json()["booking"]["state"] == "confirmed", answer.text
    await cancel(scene)
    payment_id = await contract.transactions.pool.fetchval(
        "select payment_id from payment where group_id = $1 and operation = 'refund'",
        scene.ids["booking_id"],
    )
    await Settling(contract.transactions).settle(
        payment_id, Outcome("failed", None, "account_closed")
    )
    scene.ids["payment_id"] = payment_id


def a_document(scene: Scene) -> Json:
    return {"title": "Model release", "sha256": SHA256, "signers": [scene.ann.id]}


async def add_document(scene: Scene) -> None:
    await confirm(scene)
    path = f"/v1/bookings/{scene.ids['booking_id']}/documents"
    answer = await scene.api.backend.post(path, a_document(scene))
    scene.ids["document_id"] = answer.json()["document"]["id"]


def a_manifest(_: Scene) -> Json:
    item = {"name": "a.zip", "bytes": 1, "sha256": SHA256, "url": "https://files.example/a.zip"}
    return {"items": [item]}


async def add_manifest(scene: Scene) -> None:
    await confirm(scene)
    path = f"/v1/threads/{scene.thread_id}/manifests"
    answer = await scene.ann.post(path, a_manifest(scene))
    scene.ids["manifest_id"] = answer.json()["manifest"]["id"]


def a_card(**payload: Any) -> Json:
    times = {"start": "2027-05-01T10:00:00Z", "end": "2027-05-01T12:00:00Z", "timezone": "UTC"}
    return {"type": "propose_time", "payload": {**times, **payload}}


async def get_a_card(scene: Scene) -> None:
    """Bob proposes a time to Ann."""
    answer = await scene.bob.post(f"/v1/threads/{scene.thread_id}/cards", a_card())
    assert answer.status_code == 201, answer.text
    scene.ids |= {"card_id": answer.json()["card"]["id"], "action": "accept"}


async def let_it_expire(scene: Scene) -> None:
    scene.api.clock.advance(days=8)


async def make_calendar(scene: Scene) -> None:
    url = (await scene.ann.call("POST", "/v1/me/calendar")).json()["calendar"]["url"]
    scene.ids["secret_file"] = url.rpartition("/")[2]


def payment_event(scene: Scene) -> Request:
    """Of a payment that is not ours, which is nobody's fault."""
    operation = {"key": "not-ours", "id": "op_1", "status": "succeeded"}
    event = {"id": f"evt_{scene.ann.id}", "type": "operation.succeeded", "operation": operation}
    body = httpx.Request("POST", "http://x", json=event).content
    secret = payments_secret(scene.api.rooms.settings)
    signature = sign(secret, body, at_s=scene.api.clock() // 1000)
    return Request(json=event, headers={HEADER: signature})


STRIPE_SECRET = "whsec_of_the_matrix"


def stripe_event(scene: Scene) -> Request:
    about = {"id": "pi_1", "status": "succeeded", "created": 1, "metadata": {}}
    event = {"id": f"evt_of_stripe_{scene.ann.id}", "type": "payment_intent.succeeded"}
    told = {**event, "data": {"object": about}}
    body = httpx.Request("POST", "http://x", json=told).content
    signature = sign(STRIPE_SECRET, body, at_s=scene.api.clock() // 1000)
    return Request(json=told, headers={STRIPE_HEADER: signature})


def of_bob(scene: Scene, **references: str) -> Request:
    return Request({"user_id": scene.bob.id}, references or None)


async def introduce_bob(scene: Scene) -> None:
    path = f"/v1/users/{scene.bob.id}/payment-account"
    assert (await scene.api.backend.put(path, {"payee": "acct_1"})).status_code == 200


class _Bank:
    """A provider whose payments are all to be confirmed."""

    async def confirmation(self, _: str) -> Confirmation | None:
        return Confirmation("secret", "pm_1")


async def wait_for_ann(scene: Scene) -> None:
    """Ann's bank wants her to confirm what she pays for a booking."""
    await propose(scene)
    path, pool = f"/v1/bookings/{scene.ids['booking_id']}/confirm", scene.pool
    assert (await scene.api.backend.call("POST", path)).status_code == 200
    scene.ids["payment_id"] = await pool.fetchval(
        "update payment set state = 'queued', needs_payer = true where group_id = $1"
        " returning payment_id",
        scene.ids["booking_id"],
    )
    scene.api.rooms.contract.confirmations.provider = _Bank()


async def promote(scene: Scene) -> None:
    path = f"/v1/threads/{scene.thread_id}/promote"
    await scene.api.backend.post(path, {"leg_id": "leg_other"})


CONTRACT: dict[str, Entry] = {
    "create_booking": Entry(
        lambda s: Request(json=new_booking(s)),
        status=201,
        repeated=409,
        wrong=lambda s: Request(json=new_booking(s)),
        code="ACTION_CONFLICT",
        spoil=promote,
        other=lambda _: {"currency": "USD"},
    ),
    "confirm_booking": Entry(
        lambda s: of(s, "booking_id"),
        repeated=409,
        wrong=lambda s: of(s, "booking_id"),
        code="ACTION_CONFLICT",
        spoil=take_the_time,
        elsewhere={"booking_id": MISSING["booking_id"]},
        prepare=propose,
    ),
    "cancel_booking": Entry(
        lambda s: of(s, "booking_id", json={"by": "seller"}),
        repeated=409,
        wrong=lambda s: of(s, "booking_id", json={"by": "seller"}),
        code="ACTION_INVALID_STATE",
        spoil=cancel,
        other=lambda _: {"by": "buyer"},
        prepare=confirm,
    ),
    "complete_booking": Entry(
        lambda s: of(s, "booking_id"),
        repeated=409,
        wrong=lambda s: of(s, "booking_id"),
        code="ACTION_INVALID_STATE",
        spoil=end_dispute,
        elsewhere={"booking_id": MISSING["booking_id"]},
        prepare=dispute,
    ),
    "get_booking": Entry(
        lambda s: of(s, "booking_id"),
        wrong=missing("booking_id"),
        code="NOT_FOUND",
        prepare=propose,
    ),
    "list_payments": Entry(
        lambda _: Request(),
        wrong=lambda _: Request(query={"state": "paid"}),
        code="INVALID_REQUEST",
        prepare=fail_a_refund,
    ),
    "retry_payment": Entry(
        lambda s: of(s, "payment_id"),
        wrong=missing("payment_id"),
        code="NOT_FOUND",
        elsewhere={"payment_id": MISSING["payment_id"]},
        prepare=fail_a_refund,
    ),
    "put_payment_account": Entry(
        lambda s: of_bob(s, customer="cus_1", payment_method="pm_1"),
        wrong=lambda s: of_bob(s, customer="cus 1"),
        code="INVALID_REQUEST",
    ),
    "get_payment_account": Entry(
        of_bob,
        wrong=lambda _: Request({"user_id": "nobody"}),
        code="NOT_FOUND",
        prepare=introduce_bob,
    ),
    "get_payment_confirmation": Entry(
        lambda s: of(s, "payment_id"),
        wrong=missing("payment_id"),
        code="NOT_FOUND",
        prepare=wait_for_ann,
    ),
    "list_disputes": Entry(
        lambda _: Request(),
        wrong=lambda _: Request(query={"state": "none"}),
        code="INVALID_REQUEST",
    ),
    "add_document": Entry(
        lambda s: of(s, "booking_id", json=a_document(s)),
        status=201,
        repeated=201,
        wrong=lambda s: of(s, "booking_id", json={**a_document(s), "leg_id": "leg_other"}),
        code="NOT_FOUND",
        other=lambda _: {"title": "Another"},
        prepare=confirm,
    ),
    "get_document": Entry(
        lambda s: of(s, "document_id"),
        wrong=missing("document_id"),
        code="NOT_FOUND",
        prepare=add_document,
    ),
    "add_manifest": Entry(
        lambda s: of_thread(s, a_manifest(s)),
        status=201,
        repeated=201,
        wrong=lambda s: of_thread(s, {**a_manifest(s), "leg_id": "leg_other"}),
        code="NOT_FOUND",
        other=lambda s: {"leg_id": s.ids["leg_file"].removesuffix(".ics")},
        prepare=confirm,
    ),
    "list_manifests": Entry(
        of_thread, wrong=missing("thread_id"), code="THREAD_NOT_FOUND", prepare=add_manifest
    ),
    "get_manifest": Entry(
        lambda s: of(s, "manifest_id"),
        wrong=missing("manifest_id"),
        code="NOT_FOUND",
        prepare=add_manifest,
    ),
    "get_leg_file": Entry(
        lambda s: of(s, "leg_file"),
        wrong=lambda s: Request({"leg_file": s.ids["leg_file"].removesuffix(".ics")}),
        code="NOT_FOUND",
        prepare=confirm,
    ),
    "make_calendar": Entry(lambda _: Request(), status=201, repeated=201),
    "get_calendar": Entry(
        lambda s: of(s, "secret_file"),
        wrong=lambda s: Request({"secret_file": s.ids["secret_file"].upper()}),
        code="NOT_FOUND",
        prepare=make_calendar,
    ),
    "take_payment_event": Entry(
        payment_event,
        wrong=lambda s: replace(payment_event(s), headers={HEADER: "t=0,v1=00"}),
        code="INVALID_REQUEST",
    ),
    "take_stripe_event": Entry(
        stripe_event,
        wrong=lambda s: replace(stripe_event(s), headers={STRIPE_HEADER: "t=0,v1=00"}),
        code="INVALID_REQUEST",
    ),
    "get_catalogue": Entry(
        lambda _: Request(query={"locale": "de"}),
        wrong=lambda _: Request(query={"locale": "german"}),
        code="INVALID_REQUEST",
    ),
    "get_card": Entry(
        lambda s: of(s, "card_id"), wrong=missing("card_id"), code="NOT_FOUND", prepare=get_a_card
    ),
    "create_card": Entry(
        lambda s: of_thread(s, a_card()),
        status=201,
        repeated=201,
        wrong=lambda s: of_thread(s, {"type": "cancel", "payload": {"reason": "Rain"}}),
        code="CARD_INVALID",
        other=lambda _: a_card(note="By the sea"),
    ),
    "act_on_card": Entry(
        lambda s: of(s, "card_id", "action", json={"version": 1}),
        repeated=409,
        wrong=lambda s: of(s, "card_id", "action", json={"version": 1}),
        code="CARD_EXPIRED",
        spoil=let_it_expire,
        other=lambda _: {"version": 2},
        prepare=get_a_card,
        misspelt=(422, "CARD_INVALID"),
    ),
    "get_panel": Entry(
        of_thread, wrong=missing("thread_id"), code="THREAD_NOT_FOUND", prepare=confirm
    ),
    "get_panel_expenses": Entry(
        of_thread, wrong=missing("thread_id"), code="THREAD_NOT_FOUND", prepare=confirm
    ),
    "get_panel_files": Entry(
        of_thread, wrong=missing("thread_id"), code="THREAD_NOT_FOUND", prepare=add_manifest
    ),
    "get_panel_docs": Entry(
        of_thread, wrong=missing("thread_id"), code="THREAD_NOT_FOUND", prepare=add_document
    ),
    "get_panel_actions": Entry(
        of_thread, wrong=missing("thread_id"), code="THREAD_NOT_FOUND", prepare=get_a_card
    ),
}
