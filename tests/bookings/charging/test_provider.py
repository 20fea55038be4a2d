"""Whatever the payment provider does, a card is charged once and ends in one state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from asyncpg import Record

from greenroom.bookings.money.provider import ProviderUnavailable
from greenroom.bookings.sandbox.listener import Request, Response, SandboxServer
from greenroom.platform.tasks.table import replay

from .charging import Charging, Deal, Json

BOOKED = ("charge", 30_000)
CHARGED = ("charge", 4_500)
PAID = ("pending", "charging", "paid")


@pytest.fixture(autouse=True)
async def calm(charging: Charging) -> AsyncIterator[None]:
    """Nothing of one test's script is left for the next."""
    yield
    await charging.script()
    await charging.provider.hold_webhooks(is_holding=False)
    charging.provider.listen(None)


@pytest.fixture
async def door(charging: Charging) -> AsyncIterator[Door]:
    """Where the provider's webhooks arrive; it tells of all of them."""
    made = Door(charging)
    await made.open()
    charging.provider.listen(made.url)
    yield made
    await made.close()


class Door:
    def __init__(self, charging: Charging) -> None:
        self.http = charging.api.http
        self.path = charging.provider.webhook_path
        self.header = charging.provider.signature_header
        self.url = ""
        self.taken: list[Json] = []
        self._server = SandboxServer(self._pass_on, host="127.0.0.1", port=0)

    async def open(self) -> None:
        self.url = f"http://127.0.0.1:{await self._server.open()}{self.path}"

    async def close(self) -> None:
        await self._server.close()

    async def _pass_on(self, request: Request) -> Response:
        signature = request.headers[self.header.lower()]
        headers = {"content-type": "application/json", self.header: signature}
        answer = await self.http.post(self.path, content=request.body, headers=headers)
        self.taken.append(answer.json())
        return Response(answer.status_code, answer.content)


async def accepted(charging: Charging, deal: Deal | None = None) -> Deal:
    """Extras that the buyer has accepted, of which the provider has not heard yet."""
    deal = deal or await charging.confirmed()
    card = await charging.extras(deal)
    answer = await deal.buyer.post(f"/v1/cards/{card['id']}/accept", {"version": 1}, key=deal.key)
    assert answer.status_code == 200, answer.text
    assert answer.json()["card"]["state"] == "charging"
    return deal


async def state_of(charging: Charging, deal: Deal) -> str:
    state: str = (await charging.card_now(deal))[0]["state"]
    return state


async def work(charging: Charging) -> None:
    await charging.api.rooms.contract.worker.run_until_idle()


async def lose_answer(charging: Charging) -> None:
    """The provider does the one payment that waits, and its answer does not arrive."""
    await charging.script({"do": "timeout_after", "operation": "charge"})
    payment_id = await charging.pool.fetchval(
        "select payment_id from payment where state = 'queued'"
    )
    with pytest.raises(ProviderUnavailable):
        await charging.api.rooms.contract.runner.run(payment_id)


async def tell(charging: Charging, event: Json) -> httpx.Response:
    """A webhook of ours, signed as the provider would."""
    http, provider = charging.api.http, charging.provider
    request = http.build_request("POST", provider.webhook_path, json=event)
    at_s = charging.api.clock() // 1000
    request.headers[provider.signature_header] = provider.signature(request.content, at_s)
    return await http.send(request)


async def payment_of(charging: Charging, deal: Deal) -> Record:
    """The payment of the deal's card."""
    row = await charging.pool.fetchrow("select * from payment where card_id = $1", deal.card["id"])
    assert row is not None
    return row


async def check_paid(charging: Charging, deal: Deal) -> None:
    await charging.rest()
    await charging.check_money(deal, BOOKED, CHARGED)
    await charging.check_card(deal, *PAID)


async def test_a_charge_whose_answer_was_lost_is_not_made_again(charging: Charging) -> None:
    deal = await accepted(charging)
    lost = {"do": "timeout_after", "operation": "charge"}
    await charging.script(lost, lost, lost)
    await check_paid(charging, deal)


async def test_a_request_that_was_lost_is_made_again(charging: Charging) -> None:
    deal = await accepted(charging)
    lost = {"do": "timeout_before", "operation": "charge"}
    await charging.script(lost, lost)
    await check_paid(charging, deal)


@pytest.mark.parametrize("status", [500, 502, 503, 429, 409, 401])
async def test_errors_of_the_provider_decide_nothing(charging: Charging, status: int) -> None:
    deal = await accepted(charging)
    error = {"do": "error", "operation": "charge", "status": status}
    await charging.script(error, error)
    await check_paid(charging, deal)


async def test_a_provider_that_is_away_for_long_finds_the_charge_waiting(
    charging: Charging,
) -> None:
    """Jobs give up after some time and wait for a person, who lets them be tried again."""
    deal = await accepted(charging)
    await charging.script(*[{"do": "error", "operation": "charge", "status": 503}] * 100)
    await work(charging)
    assert await state_of(charging, deal) == "charging"
    listed = "select count(*) from task where is_dead"
    assert await charging.pool.fetchval(listed) == 1
    charging.api.clock.advance(days=2)
    await work(charging)
    assert await state_of(charging, deal) == "charging"
    await charging.script()
    assert await replay(charging.pool) == 1
    await check_paid(charging, deal)


async def test_a_late_answer_counts_when_it_comes(charging: Charging) -> None:
    deal = await accepted(charging)
    await charging.script({"do": "delay", "operation": "charge", "ms": 50})
    await check_paid(charging, deal)


async def test_a_pending_charge_is_decided_by_its_webhook(charging: Charging, door: Door) -> None:
    deal = await accepted(charging)
    await charging.script({"do": "pending", "operation": "charge"})
    await work(charging)
    await work(charging)
    assert await state_of(charging, deal) == "charging"
    await charging.provider.hold_webhooks()
    await charging.provider.settle()
    await charging.provider.deliver(times=3)
    assert len(door.taken) >= 3
    assert all(taken == {"received": True} for taken in door.taken)
    assert await state_of(charging, deal) == "paid"
    await check_paid(charging, deal)


async def test_a_pending_charge_without_a_webhook_is_asked_after(charging: Charging) -> None:
    deal = await accepted(charging)
    await charging.script({"do": "pending", "operation": "charge"})
    await work(charging)
    await charging.provider.settle()
    await check_paid(charging, deal)


async def test_a_pending_charge_that_fails_can_be_tried_again(
    charging: Charging, door: Door
) -> None:
    deal = await accepted(charging)
    await charging.script({"do": "pending", "operation": "charge"})
    await work(charging)
    await charging.provider.hold_webhooks()
    await charging.provider.settle("failed", "insufficient_funds")
    await charging.provider.deliver()
    card, _ = await charging.card_now(deal)
    assert (card["state"], card["totals"]["failure_code"]) == ("failed", "insufficient_funds")
    answer = await deal.buyer.post(f"/v1/cards/{card['id']}/retry", {"version": 3})
    assert answer.status_code == 200, answer.text
    await charging.rest()
    # What comes in late about the first attempt says nothing about the second.
    await charging.provider.deliver()
    await charging.rest()
    await charging.check_money(deal, BOOKED, CHARGED)
    await charging.check_card(deal, "pending", "charging", "failed", "charging", "paid")


async def test_a_webhook_that_comes_before_the_answer_counts_and_the_answer_changes_nothing(
    charging: Charging, door: Door
) -> None:
    deal = await accepted(charging)
    await charging.provider.hold_webhooks()
    await lose_answer(charging)
    await charging.provider.deliver()
    assert await state_of(charging, deal) == "paid"
    await check_paid(charging, deal)


async def test_webhooks_in_the_wrong_order_and_twice_end_in_what_was_first(
    charging: Charging, door: Door
) -> None:
    await charging.provider.hold_webhooks()
    deals = [await accepted(charging) for _ in range(3)]
    await charging.script(*[{"do": "pending", "operation": "charge"}] * 3)
    await work(charging)
    await charging.provider.settle()
    await charging.provider.deliver(order="reversed", times=2)
    for deal in deals:
        await check_paid(charging, deal)


async def test_what_is_decided_is_never_undone_by_what_the_provider_says_later(
    charging: Charging, caplog: pytest.LogCaptureFixture
) -> None:
    deal = await accepted(charging)
    await work(charging)
    assert await state_of(charging, deal) == "paid"
    payment = await payment_of(charging, deal)
    event = await charging.provider.event(payment, "failed", f"evt-{deal.card['id']}")
    for _ in range(2):
        assert (await tell(charging, event)).status_code == 200
    if charging.provider.tells_contradictions:
        assert "a different outcome" in caplog.text
    await check_paid(charging, deal)


async def test_a_charge_that_succeeds_after_its_booking_was_cancelled_is_given_back(
    charging: Charging,
) -> None:
    deal = await accepted(charging)
    await charging.script({"do": "pending", "operation": "charge"})
    await work(charging)
    path = f"/v1/bookings/{deal.booking_id}/cancel"
    answer = await charging.api.backend.post(path, {"by": "seller"})
    assert answer.status_code == 200, answer.text
    await work(charging)
    await charging.provider.settle()
    await charging.rest()
    await charging.check_money(deal, BOOKED, CHARGED, ("refund", 30_000), ("refund", 4_500))


async def test_a_booking_whose_charge_is_pending_is_confirmed_by_its_webhook(
    charging: Charging, door: Door
) -> None:
    deal = await charging.propose(deposit=5_000)
    await charging.script({"do": "pending", "operation": "charge"})
    answer = await charging.api.backend.post(f"/v1/bookings/{deal.booking_id}/confirm", None)
    assert answer.json()["booking"]["state"] == "confirming"
    await charging.provider.hold_webhooks()
    await charging.provider.settle()
    await charging.provider.deliver(order="reversed", times=2)
    assert (await charging.booking(deal))["state"] == "confirmed"
    await charging.rest()
    await charging.check_money(deal, BOOKED, ("hold", 5_000))
    await charging.check_notices(deal, "booking.confirmed")


async def test_the_answer_and_many_webhooks_at_once_are_one_outcome(charging: Charging) -> None:
    deal = await accepted(charging)
    await lose_answer(charging)
    payment = await payment_of(charging, deal)
    told = [
        tell(
            charging,
            await charging.provider.event(
                payment, "succeeded", f"evt-{deal.card['id']}-{number % 5}"
            ),
        )
        for number in range(20)
    ]
    _, *answers = await asyncio.gather(work(charging), *told)
    assert {answer.status_code for answer in answers if answer is not None} == {200}
    await check_paid(charging, deal)
