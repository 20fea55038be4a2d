"""Whatever the payment provider does, a card is charged once and ends in one state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx
import pytest

from greenroom.bookings.payments import ProviderUnavailable
from greenroom.bookings.sandbox_http import Request, Response, SandboxServer
from greenroom.bookings.signatures import HEADER, sign
from greenroom.platform.dead_letters import replay_jobs

from .site import SECRET, Deal, Json, Site

if TYPE_CHECKING:
    from conftest import Api

PATH = "/v1/payments/webhook"
BOOKED = ("charge", 30_000)
CHARGED = ("charge", 4_500)
PAID = ("pending", "charging", "paid")


@pytest.fixture(autouse=True)
async def calm(site: Site) -> AsyncIterator[None]:
    """Nothing of one test's script is left for the next."""
    yield
    await site.script()
    await site.steer("webhooks", {"mode": "now"})
    site.sandbox.webhook_url = None


@pytest.fixture
async def door(api: Api, site: Site) -> AsyncIterator[Door]:
    """Where the provider's webhooks arrive; it tells of all of them."""
    made = Door(api)
    await made.open()
    site.sandbox.webhook_url = made.url
    yield made
    await made.close()


class Door:
    def __init__(self, api: Api) -> None:
        self.api = api
        self.url = ""
        self.taken: list[Json] = []
        self._server = SandboxServer(self._pass_on, host="127.0.0.1", port=0)

    async def open(self) -> None:
        self.url = f"http://127.0.0.1:{await self._server.open()}{PATH}"

    async def close(self) -> None:
        await self._server.close()

    async def _pass_on(self, request: Request) -> Response:
        headers = {"content-type": "application/json", HEADER: request.headers[HEADER.lower()]}
        http = self.api.anonymous._http
        answer = await http.post(PATH, content=request.body, headers=headers)
        self.taken.append(answer.json())
        return Response(answer.status_code, answer.content)


async def accepted(site: Site, deal: Deal | None = None) -> Deal:
    """Extras that the buyer has accepted, of which the provider has not heard yet."""
    deal = deal or await site.confirmed()
    card = await site.extras(deal)
    answer = await deal.buyer.post(f"/v1/cards/{card['id']}/accept", {"version": 1}, key=deal.key)
    assert answer.status_code == 200, answer.text
    assert answer.json()["card"]["state"] == "charging"
    return deal


async def state_of(site: Site, deal: Deal) -> str:
    state: str = (await site.card_now(deal))[0]["state"]
    return state


async def work(site: Site) -> None:
    await site.api.rooms.contract.worker.run_until_idle()


async def lose_answer(site: Site) -> None:
    """The provider does the one payment that waits, and its answer does not arrive."""
    await site.script({"do": "timeout_after", "operation": "charge"})
    payment_id = await site.pool.fetchval("select payment_id from payment where state = 'queued'")
    with pytest.raises(ProviderUnavailable):
        await site.api.rooms.contract.runner.run(payment_id)


async def tell(site: Site, event: Json) -> httpx.Response:
    """A webhook of ours, signed as the provider would."""
    http = site.api.anonymous._http
    request = http.build_request("POST", PATH, json=event)
    at_s = site.api.clock() // 1000
    request.headers[HEADER] = sign(SECRET, request.content, at_s=at_s)
    return await http.send(request)


async def check_paid(site: Site, deal: Deal) -> None:
    await site.rest()
    await site.check_money(deal, BOOKED, CHARGED)
    await site.check_card(deal, *PAID)


async def test_a_charge_whose_answer_was_lost_is_not_made_again(site: Site) -> None:
    deal = await accepted(site)
    lost = {"do": "timeout_after", "operation": "charge"}
    await site.script(lost, lost, lost)
    await check_paid(site, deal)


async def test_a_request_that_was_lost_is_made_again(site: Site) -> None:
    deal = await accepted(site)
    lost = {"do": "timeout_before", "operation": "charge"}
    await site.script(lost, lost)
    await check_paid(site, deal)


@pytest.mark.parametrize("status", [500, 502, 503, 429, 409, 401])
async def test_errors_of_the_provider_decide_nothing(site: Site, status: int) -> None:
    deal = await accepted(site)
    error = {"do": "error", "operation": "charge", "status": status}
    await site.script(error, error)
    await check_paid(site, deal)


async def test_a_provider_that_is_away_for_long_finds_the_charge_waiting(site: Site) -> None:
    """Jobs give up after some time and wait for a person, who lets them be tried again."""
    deal = await accepted(site)
    await site.script(*[{"do": "error", "operation": "charge", "status": 503}] * 100)
    await work(site)
    assert await state_of(site, deal) == "charging"
    listed = "select count(*) from pgqueuer where status = 'failed'"
    assert await site.pool.fetchval(listed) == 1
    site.api.clock.advance(days=2)
    await work(site)
    assert await state_of(site, deal) == "charging"
    await site.script()
    async with site.pool.acquire() as conn, conn.transaction():
        assert await replay_jobs(conn, None) == 1
    await check_paid(site, deal)


async def test_a_late_answer_counts_when_it_comes(site: Site) -> None:
    deal = await accepted(site)
    await site.script({"do": "delay", "operation": "charge", "ms": 50})
    await check_paid(site, deal)


async def test_a_pending_charge_is_decided_by_its_webhook(site: Site, door: Door) -> None:
    deal = await accepted(site)
    await site.script({"do": "pending", "operation": "charge"})
    await work(site)
    await work(site)
    assert await state_of(site, deal) == "charging"
    await site.steer("webhooks", {"mode": "held"})
    await site.steer("settle", {"status": "succeeded"})
    delivered = await site.steer("deliver", {"times": 3})
    assert delivered == {"delivered": 1, "left": 0}
    assert len(door.taken) >= 3
    assert all(taken == {"received": True} for taken in door.taken)
    assert await state_of(site, deal) == "paid"
    await check_paid(site, deal)


async def test_a_pending_charge_without_a_webhook_is_asked_after(site: Site) -> None:
    deal = await accepted(site)
    await site.script({"do": "pending", "operation": "charge"})
    await work(site)
    await site.steer("settle", {"status": "succeeded"})
    await check_paid(site, deal)


async def test_a_pending_charge_that_fails_can_be_tried_again(site: Site, door: Door) -> None:
    deal = await accepted(site)
    await site.script({"do": "pending", "operation": "charge"})
    await work(site)
    await site.steer("webhooks", {"mode": "held"})
    await site.steer("settle", {"status": "failed", "code": "insufficient_funds"})
    await site.steer("deliver", {})
    card, _ = await site.card_now(deal)
    assert (card["state"], card["totals"]["failure_code"]) == ("failed", "insufficient_funds")
    answer = await deal.buyer.post(f"/v1/cards/{card['id']}/retry", {"version": 3})
    assert answer.status_code == 200, answer.text
    await site.rest()
    # What comes in late about the first attempt says nothing about the second.
    await site.steer("deliver", {})
    await site.rest()
    await site.check_money(deal, BOOKED, CHARGED)
    await site.check_card(deal, "pending", "charging", "failed", "charging", "paid")


async def test_a_webhook_that_comes_before_the_answer_counts_and_the_answer_changes_nothing(
    site: Site, door: Door
) -> None:
    deal = await accepted(site)
    await site.steer("webhooks", {"mode": "held"})
    await lose_answer(site)
    await site.steer("deliver", {})
    assert await state_of(site, deal) == "paid"
    await check_paid(site, deal)


async def test_webhooks_in_the_wrong_order_and_twice_end_in_what_was_first(
    site: Site, door: Door
) -> None:
    await site.steer("webhooks", {"mode": "held"})
    deals = [await accepted(site) for _ in range(3)]
    await site.script(*[{"do": "pending", "operation": "charge"}] * 3)
    await work(site)
    await site.steer("settle", {"status": "succeeded"})
    await site.steer("deliver", {"order": "reversed", "times": 2})
    for deal in deals:
        await check_paid(site, deal)


async def test_what_is_decided_is_never_undone_by_what_the_provider_says_later(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    deal = await accepted(site)
    await work(site)
    assert await state_of(site, deal) == "paid"
    keys = [row["key"] for row in await site.pool.fetch("select key from payment")]
    [key] = [each for each in keys if each.startswith(deal.card["id"])]
    operation = {"key": key, "id": "other", "status": "failed", "failure_code": "chargeback"}
    event = {"id": f"evt-{key}", "type": "operation.failed", "operation": operation}
    for _ in range(2):
        assert (await tell(site, event)).status_code == 200
    assert "another outcome" in caplog.text
    await check_paid(site, deal)


async def test_a_charge_that_succeeds_after_its_booking_was_cancelled_is_given_back(
    site: Site,
) -> None:
    deal = await accepted(site)
    await site.script({"do": "pending", "operation": "charge"})
    await work(site)
    path = f"/v1/bookings/{deal.booking_id}/cancel"
    answer = await site.api.backend.post(path, {"by": "seller"})
    assert answer.status_code == 200, answer.text
    await work(site)
    await site.steer("settle", {"status": "succeeded"})
    await site.rest()
    await site.check_money(deal, BOOKED, CHARGED, ("refund", 30_000), ("refund", 4_500))


async def test_a_booking_whose_charge_is_pending_is_confirmed_by_its_webhook(
    site: Site, door: Door
) -> None:
    deal = await site.propose(deposit=5_000)
    await site.script({"do": "pending", "operation": "charge"})
    answer = await site.api.backend.post(f"/v1/bookings/{deal.booking_id}/confirm", None)
    assert answer.json()["booking"]["state"] == "confirming"
    await site.steer("webhooks", {"mode": "held"})
    await site.steer("settle", {"status": "succeeded"})
    await site.steer("deliver", {"order": "reversed", "times": 2})
    assert (await site.booking(deal))["state"] == "confirmed"
    await site.rest()
    await site.check_money(deal, BOOKED, ("hold", 5_000))
    await site.check_notices(deal, "booking.confirmed")


async def test_the_answer_and_many_webhooks_at_once_are_one_outcome(site: Site) -> None:
    deal = await accepted(site)
    await lose_answer(site)
    [done] = [
        each
        for each in (await site.steer("operations"))["operations"]
        if each["key"].startswith(deal.card["id"])
    ]
    operation = {name: done[name] for name in ("key", "id", "status", "failure_code")}
    events = [
        {"id": f"evt-{deal.card['id']}-{number % 5}", "type": "operation.succeeded"}
        for number in range(20)
    ]
    told = [tell(site, {**event, "operation": operation}) for event in events]
    _, *answers = await asyncio.gather(work(site), *told)
    assert {answer.status_code for answer in answers if answer is not None} == {200}
    await check_paid(site, deal)
