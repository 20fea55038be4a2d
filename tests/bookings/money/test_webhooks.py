"""A webhook of the payment provider counts once, however late and often it comes."""

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import cast

import asyncpg
import httpx
import msgspec
import pytest

from greenroom.bookings.money.provider import ProviderUnavailable, StillPending
from greenroom.bookings.money.running import PaymentRunner, ProviderEvents
from greenroom.bookings.money.settling import Settling
from greenroom.bookings.money.webhook_signatures import HEADER, sign
from greenroom.bookings.rest.payment_webhook import WebhookRest
from greenroom.bookings.sandbox.listener import Request
from greenroom.bookings.transactions import ContractTransactions
from greenroom.conversations.thread_updates import AppliedUpdate, ThreadUpdates
from greenroom.kernel.ids import system_randomness
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Caller
from tests.support.clock import FakeClock

from .sandbox_users import SECRET, Json, Listener, Steering, asking

PATH = "/v1/payments/webhook"


class NoThreads:
    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        assert not applied


async def _authenticate(_: str | None) -> Caller:
    return ANYONE


class Shop:
    """A booking with a charge, the provider's events about it, and the product that takes them.

    Money that was booked stays booked, so each test has a booking of its own."""

    _numbers = itertools.count(1)

    def __init__(self, pool: asyncpg.Pool, clock: "FakeClock", telling: Steering) -> None:
        number = next(self._numbers)
        self.group_id, self.leg_id = f"lbg_{number}", f"leg_{number}"
        self.first, self.second = f"pay_{number}.1", f"pay_{number}.2"
        self.pool = pool
        self.clock = clock
        self.telling = telling
        # The sandbox signs by the same clock that the product checks by.
        telling.sandbox._clock = clock
        transactions = ContractTransactions(
            pool,
            cast("ThreadUpdates", NoThreads()),
            clock=clock,
            randomness=system_randomness,
        )
        self.settling = Settling(transactions)
        self.runner = PaymentRunner(pool, telling.provider, self.settling)
        rest = WebhookRest(ProviderEvents(pool, self.settling), secret=SECRET, clock=clock)
        app = HttpApp(rest.endpoints(), authenticate=_authenticate, clock=clock)
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://shop.test"
        )

    async def take(self, request: Request) -> int:
        """Give the product what the listener was sent, byte by byte."""
        answer = await self.http.post(PATH, content=request.body, headers=request.headers)
        return answer.status_code

    async def post(self, body: Json | bytes, *, signature: str | None = "") -> tuple[int, str]:
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        if signature == "":
            signature = sign(SECRET, raw, at_s=self.clock() // 1000)
        given = {"content-type": "application/json", HEADER: signature}
        headers = [
            (name.encode(), value.encode("latin-1"))
            for name, value in given.items()
            if value is not None
        ]
        answer = await self.http.post(PATH, content=raw, headers=headers)
        return answer.status_code, answer.text

    async def book(self) -> None:
        now_ms = self.clock()
        await self.pool.execute(
            "insert into booking_group (group_id, buyer, currency, state, policy, created_at,"
            " updated_at) values ($1, 'ada', 'EUR', 'confirmed', '[]', $2, $2)",
            *(self.group_id, now_ms),
        )
        await self.pool.execute(
            "insert into leg (leg_id, group_id, place, kind, seller, title, state, during,"
            " timezone, price_cents, created_at, updated_at) values ($1, $2, 0, 'talent', 'sol',"
            " 'A day', 'confirmed', tstzrange($3, $4), 'UTC', 10000, $3, $3)",
            *(self.leg_id, self.group_id, now_ms, now_ms + 3_600_000),
        )
        await self.add_charge(self.first)

    async def add_charge(self, payment_id: str) -> None:
        """Under a key that is its id."""
        await self.pool.execute(
            "insert into payment (payment_id, key, operation, purpose, group_id, leg_id, account,"
            " amount_cents, currency, created_at, updated_at) values ($1, $1, 'charge', 'card',"
            " $2, $3, 'ada', 10000, 'EUR', $4, $4)",
            *(payment_id, self.group_id, self.leg_id, self.clock()),
        )

    async def state(self, payment_id: str) -> tuple[str, str | None]:
        found = "select state, failure_code from payment where payment_id = $1"
        row = await self.pool.fetchrow(found, payment_id)
        assert row is not None
        return row["state"], row["failure_code"]

    async def escrow_cents(self) -> int:
        kept = "select -sum(balance_cents) from money_account where kind = 'escrow' and leg_id = $1"
        return int(await self.pool.fetchval(kept, self.leg_id) or 0)


@pytest.fixture
async def shop(pool: asyncpg.Pool, clock: "FakeClock", telling: Steering) -> AsyncIterator[Shop]:
    made = Shop(pool, clock, telling)
    await made.book()
    yield made
    await made.runner.close()
    await made.http.aclose()


async def test_an_event_decides_a_payment_whose_answer_never_came(
    shop: Shop, listener: Listener
) -> None:
    await shop.telling.call("POST", "/sandbox/webhooks", {"mode": "held"})
    await shop.telling.script({"do": "timeout_after"})
    with pytest.raises(ProviderUnavailable):
        await shop.runner.run(shop.first)
    assert await shop.state(shop.first) == ("queued", None)
    await shop.telling.call("POST", "/sandbox/deliver", {})
    [request] = listener.requests
    assert await shop.take(request) == 200
    assert await shop.state(shop.first) == ("succeeded", None)
    await shop.runner.run(shop.first)
    assert await shop.escrow_cents() == 10_000
    [operation] = await shop.telling.operations()
    assert operation["times"] == 1


async def test_an_event_that_comes_twice_or_after_the_answer_changes_nothing(
    shop: Shop, listener: Listener
) -> None:
    await shop.telling.call("POST", "/sandbox/webhooks", {"mode": "held"})
    await shop.telling.script({"do": "answer_twice"})
    await shop.runner.run(shop.first)
    await shop.telling.call("POST", "/sandbox/deliver", {"times": 2})
    assert len(listener.requests) == 4
    assert len({request.body for request in listener.requests}) == 1
    shop.clock.advance(seconds=299)
    for request in listener.requests:
        assert await shop.take(request) == 200
    assert await shop.escrow_cents() == 10_000
    events = {msgspec.json.decode(request.body)["id"] for request in listener.requests}
    noted = "select count(*) from provider_event where event_id = any($1)"
    assert await shop.pool.fetchval(noted, list(events)) == len(events) == 1


async def test_events_that_come_late_and_in_the_wrong_order_decide_each_its_own(
    shop: Shop, listener: Listener
) -> None:
    await shop.add_charge(shop.second)
    await shop.telling.call("POST", "/sandbox/webhooks", {"mode": "held"})
    await shop.telling.script({"do": "pending"}, {"do": "fail", "code": "no_money"})
    with pytest.raises(StillPending):
        await shop.runner.run(shop.first)
    await shop.runner.run(shop.second)
    await shop.telling.call("POST", "/sandbox/settle", {"key": shop.first})
    await shop.telling.call("POST", "/sandbox/deliver", {"order": "reversed"})
    kinds = [msgspec.json.decode(each.body)["type"] for each in listener.requests]
    assert kinds == ["operation.succeeded", "operation.failed"]
    for request in listener.requests:
        assert await shop.take(request) == 200
    assert await shop.state(shop.first) == ("succeeded", None)
    assert await shop.state(shop.second) == ("failed", "no_money")


async def test_an_event_never_undoes_what_is_decided(shop: Shop) -> None:
    await shop.runner.run(shop.first)
    status, _ = await shop.post(_event(shop.first, "failed"))
    assert status == 200
    assert await shop.state(shop.first) == ("succeeded", None)


async def test_an_event_of_nothing_that_we_know_is_taken_and_forgotten(shop: Shop) -> None:
    assert await shop.post(_event("unknown", "succeeded")) == (200, '{"received":true}')
    assert await shop.state(shop.first) == ("queued", None)


async def test_without_the_right_signature_of_about_now_nothing_is_taken(shop: Shop) -> None:
    body = msgspec.json.encode(_event(shop.first, "succeeded"))
    now_s = shop.clock() // 1000
    for signature in (
        None,
        "nonsense",
        f"t={now_s}",
        f"t={now_s},v1=",
        f"t={now_s},v1=é",
        sign("another secret", body, at_s=now_s),
        sign(SECRET, body + b" ", at_s=now_s),
        sign(SECRET, body, at_s=now_s - 301),
        sign(SECRET, body, at_s=now_s + 301),
        sign(SECRET, body, at_s=now_s).replace(f"t={now_s}", f"t={now_s - 1}"),
        "t=" + "9" * 150,
        "t=1" * 1000,
    ):
        status, text = await shop.post(body, signature=signature)
        assert (status, "INVALID_REQUEST" in text) == (400, True), signature
    assert await shop.state(shop.first) == ("queued", None)


async def test_an_old_event_cannot_be_sent_again_for_ever(shop: Shop, listener: Listener) -> None:
    await shop.telling.call("POST", "/sandbox/webhooks", {"mode": "held"})
    await shop.runner.run(shop.first)
    await shop.telling.call("POST", "/sandbox/deliver", {})
    shop.clock.advance(minutes=6)
    assert await shop.take(listener.requests[0]) == 400


async def test_a_secret_that_is_being_changed_can_sign_beside_the_old_one(shop: Shop) -> None:
    body = msgspec.json.encode(_event(shop.first, "succeeded"))
    now_s = shop.clock() // 1000
    both = sign("the other", body, at_s=now_s) + "," + sign(SECRET, body, at_s=now_s).split(",")[1]
    assert (await shop.post(body, signature=both))[0] == 200
    assert await shop.state(shop.first) == ("succeeded", None)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        {"id": "e", "type": "operation.succeeded"},
        {"id": "", "type": "operation.succeeded", "operation": {}},
        {
            "id": "e",
            "type": "coffee.made",
            "operation": {"key": "k1", "id": "x", "status": "failed"},
        },
        {
            "id": "e",
            "type": "operation.succeeded",
            "operation": {"key": "k1", "id": "x", "status": "failed"},
        },
    ],
)
async def test_what_is_no_event_is_refused(shop: Shop, body: Json | bytes) -> None:
    assert (await shop.post(body))[0] == 400
    assert await shop.state(shop.first) == ("queued", None)


async def test_webhooks_are_sent_by_themselves_and_again_to_who_did_not_take_them(
    telling: Steering, listener: Listener
) -> None:
    listener.refuse = 2
    await telling.provider.carry_out(asking())
    await listener.heard.wait()
    event = msgspec.json.decode(listener.requests[0].body)
    assert event.pop("id").startswith("evt_")
    assert event == {
        "type": "operation.succeeded",
        "operation": {
            "key": "k1",
            "id": "sbx_charge_1",
            "status": "succeeded",
            "failure_code": None,
        },
    }


async def test_a_webhook_that_nobody_takes_is_kept_to_be_delivered(
    telling: Steering, listener: Listener
) -> None:
    listener.refuse = 3
    await telling.call("POST", "/sandbox/webhooks", {"mode": "held"})
    await telling.provider.carry_out(asking())
    for left in (1, 1, 1, 0):
        assert (await telling.call("POST", "/sandbox/deliver", {}))["left"] == left
    assert len(listener.requests) == 1


def _event(key: str, status: str) -> Json:
    operation = {"key": key, "id": "sbx_charge_1", "status": status, "failure_code": None}
    return {"id": f"evt_of_{key}", "type": f"operation.{status}", "operation": operation, "more": 1}
