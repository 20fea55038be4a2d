"""What only Stripe does: payers who confirm with their bank, its events, disputes with the bank."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import msgspec
import pytest

from greenroom.bookings.disputes import ACT
from tests.support.stripe_server import StripeServer

from .charging import Charging, Deal, Json
from .providers import Provider, StripeProvider

pytestmark = pytest.mark.parametrize("provider", ["stripe"], indirect=True)

PATH = StripeProvider.webhook_path
EVENTS = "select type from event_log where group_id = $1 order by position"
BOOKED = ("charge", 30_000)


@pytest.fixture
async def server(provider: Provider) -> AsyncIterator[StripeServer]:
    found = cast("StripeProvider", provider).server
    await provider.hold_webhooks()
    yield found
    await provider.script()


async def tell(charging: Charging, server: StripeServer, *events: Json) -> None:
    """Stripe's events reach us, each twice."""
    for event in events:
        body = msgspec.json.encode(event)
        for _ in range(2):
            answer = await charging.api.http.post(PATH, content=body, headers=server.signed(body))
            assert (answer.status_code, answer.json()) == (200, {"received": True})
    server.owed = []


async def intent_of(charging: Charging, deal: Deal) -> str:
    found: str = await charging.pool.fetchval(
        "select provider_id from payment where group_id = $1 and operation = 'charge'"
        " order by created_at desc, payment_id desc limit 1",
        deal.booking_id,
    )
    return found


async def happened(charging: Charging, deal: Deal) -> list[str]:
    await charging.api.rooms.collector.drain()
    return [row["type"] for row in await charging.pool.fetch(EVENTS, deal.booking_id)]


async def waiting_card(charging: Charging, server: StripeServer) -> Deal:
    """Extras whose charge the buyer's bank wants to have confirmed."""
    deal = await charging.confirmed()
    card = await charging.extras(deal)
    server.steps = [{"do": "requires_action", "operation": "charge"}]
    answer = await deal.buyer.post(f"/v1/cards/{card['id']}/accept", {"version": 1})
    assert answer.status_code == 200, answer.text
    await charging.rest()
    return deal


async def test_a_card_waits_for_the_buyer_whose_bank_wants_a_confirmation(
    charging: Charging, server: StripeServer
) -> None:
    deal = await waiting_card(charging, server)
    card, _ = await charging.card_now(deal)
    payment_id = card["totals"]["confirmation"]
    assert (card["state"], card["waits_for"]) == ("charging", [deal.buyer.id])
    assert (await deal.buyer.row(deal.thread_id))["needs_action"]
    path = f"/v1/payments/{payment_id}/confirmation"
    shown = (await deal.buyer.get(path)).json()["confirmation"]
    intent = server.intents[await intent_of(charging, deal)]
    assert shown == {
        "payment_id": payment_id,
        "provider": "stripe",
        "client_secret": intent["client_secret"],
        "payment_method": f"pm_{deal.buyer.id}",
        "url": None,
    }
    assert await deal.seller.refusal("GET", path) == (404, "NOT_FOUND")
    assert "payment.intent.requires_action" in await happened(charging, deal)

    server.owed = []
    await server.settle()
    await tell(charging, server, *server.owed)
    card, history = await charging.card_now(deal)
    assert [row["to"] for row in history] == ["pending", "charging", "paid"]
    assert "confirmation" not in card["totals"]
    assert not (await deal.buyer.row(deal.thread_id))["needs_action"]
    assert await deal.buyer.refusal("GET", path) == (404, "NOT_FOUND")
    await charging.rest()
    await charging.check_money(deal, BOOKED, ("charge", 4_500))


async def test_a_confirmation_that_fails_at_the_bank_fails_the_card(
    charging: Charging, server: StripeServer
) -> None:
    deal = await waiting_card(charging, server)
    await server.settle("failed", "payment_intent_authentication_failure")
    await tell(charging, server, *server.owed)
    card, _ = await charging.card_now(deal)
    assert (card["state"], card["totals"]["failure_code"]) == ("failed", "authentication_failed")
    await charging.rest()
    await charging.check_money(deal, BOOKED)


async def test_a_confirmation_that_never_comes_expires(
    charging: Charging, server: StripeServer
) -> None:
    deal = await waiting_card(charging, server)
    charging.api.clock.advance(hours=25)
    await charging.rest()
    card, _ = await charging.card_now(deal)
    assert (card["state"], card["totals"]["failure_code"]) == ("failed", "confirmation_expired")
    await charging.check_money(deal, BOOKED)


async def test_a_booking_says_which_payment_the_buyer_has_to_confirm(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.propose()
    server.steps = [{"do": "requires_action", "operation": "charge"}]
    path = f"/v1/bookings/{deal.booking_id}"
    booking = (await charging.api.backend.post(f"{path}/confirm", None)).json()["booking"]
    assert booking["state"] == "confirming"
    confirmation = f"/v1/payments/{booking['confirmation']}/confirmation"
    assert (await deal.buyer.get(confirmation)).status_code == 200
    assert (await charging.api.backend.get(confirmation)).status_code == 200
    server.owed = []
    await server.settle()
    await tell(charging, server, *server.owed)
    booking = await charging.booking(deal)
    assert (booking["state"], booking["confirmation"]) == ("confirmed", None)
    await charging.rest()
    await charging.check_money(deal, BOOKED)


async def test_a_person_whom_stripe_does_not_know_cannot_pay_and_can_try_again_later(
    charging: Charging, server: StripeServer
) -> None:
    ann, bob = await charging.api.people("ann", "bob", verified=True)
    charging._introduced |= {ann.id, bob.id}
    deal = await charging.propose(between=(ann, bob))
    path = f"/v1/bookings/{deal.booking_id}/confirm"
    booking = (await charging.api.backend.post(path, None)).json()["booking"]
    assert (booking["state"], booking["failure_code"]) == ("proposed", "no_payment_method")
    await charging.provider.introduce(charging.api, ann.id)
    booking = (await charging.api.backend.post(path, None)).json()["booking"]
    assert booking["state"] == "confirmed"
    await charging.rest()
    await charging.check_money(deal, BOOKED)


async def test_references_that_change_while_a_charge_is_unknown_do_not_change_the_charge(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.propose()
    server.steps = [{"do": "timeout_after", "operation": "charge"}]
    answer = await charging.api.backend.post(f"/v1/bookings/{deal.booking_id}/confirm", None)
    assert answer.json()["booking"]["state"] == "confirming"
    account = f"/v1/users/{deal.buyer.id}/payment-account"
    changed = {"customer": "cus_new", "payment_method": "pm_new"}
    assert (await charging.api.backend.put(account, changed)).status_code == 200
    await charging.rest()
    assert (await charging.booking(deal))["state"] == "confirmed"
    await charging.check_money(deal, BOOKED)


async def test_events_decide_refunds_and_payouts_in_any_order(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.confirmed()
    server.steps = [{"do": "pending", "operation": "refund"}]
    path = f"/v1/bookings/{deal.booking_id}/cancel"
    assert (await charging.api.backend.post(path, {"by": "seller"})).status_code == 200
    await charging.api.rooms.contract.worker.run_until_idle()
    assert (await charging.moved(deal)) == [BOOKED]
    [refund] = [each for each in server.refunds.values() if each["status"] == "pending"]
    server.settle_refund(refund["id"], "succeeded")
    await tell(charging, server, *reversed(server.owed))
    await charging.rest()
    await charging.check_money(deal, BOOKED, ("refund", 30_000))

    # A refund that comes back later leaves the books as they are, and is told.
    await tell(charging, server, server.owe("refund.failed", {**refund, "status": "failed"}))
    assert (await happened(charging, deal)).count("refund.returned") == 1
    await charging.check_money(deal, BOOKED, ("refund", 30_000))


async def completed(charging: Charging, server: StripeServer, *, is_paid: bool) -> Deal:
    deal = await charging.worked()
    card = await charging.card(deal, deal.seller, "complete", {"kind": "time_based"})
    answer = await deal.buyer.post(f"/v1/cards/{card['id']}/accept", {"version": 1})
    assert answer.status_code == 200, answer.text
    if is_paid:
        await charging.rest()
    server.owed = []
    return deal


async def leg_of(charging: Charging, deal: Deal) -> tuple[str, str]:
    [leg] = (await charging.booking(deal))["legs"]
    return leg["state"], leg["payout"]


async def disputes(charging: Charging, deal: Deal) -> list[tuple[str, str]]:
    page = (await charging.api.backend.get("/v1/payments/disputes", limit=100)).json()
    return [
        (each["state"], each["reason"])
        for each in page["items"]
        if each["booking_id"] == deal.booking_id
    ]


async def test_a_dispute_with_the_bank_stops_the_payout_until_it_is_won(
    charging: Charging, server: StripeServer
) -> None:
    deal = await completed(charging, server, is_paid=False)
    intent_id = await intent_of(charging, deal)
    opened = server.dispute(intent_id, "created", "needs_response", f"dp_{deal.leg_id}")
    await tell(charging, server, opened)
    await charging.rest()
    assert await leg_of(charging, deal) == ("disputed", "held")
    assert await disputes(charging, deal) == [("open", "fraudulent")]
    await charging.check_money(deal, BOOKED)
    thread = (await deal.seller.thread(deal.thread_id))["thread"]
    assert thread["state"] == "disputed"

    won = server.dispute(intent_id, "closed", "won", f"dp_{deal.leg_id}")
    await tell(charging, server, won, opened)
    await charging.rest()
    assert await leg_of(charging, deal) == ("completed", "paid")
    assert await disputes(charging, deal) == [("won", "fraudulent")]
    await charging.check_money(deal, BOOKED, ("payout", 30_000))
    await charging.check_history(deal.booking_id, deal.leg_id)
    told = [each for each in await happened(charging, deal) if "dispute" in each]
    assert told == ["leg.disputed", "payment.disputed", "payment.dispute_won"]


async def test_a_lost_dispute_that_is_told_before_it_was_opened_leaves_the_decision_to_the_backend(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.confirmed()
    intent_id = await intent_of(charging, deal)
    lost = server.dispute(intent_id, "closed", "lost", f"dp_{deal.leg_id}")
    opened = server.dispute(intent_id, "created", "needs_response", f"dp_{deal.leg_id}")
    await tell(charging, server, lost, opened)
    assert await leg_of(charging, deal) == ("disputed", "held")
    assert await disputes(charging, deal) == [("lost", "fraudulent")]
    path = f"/v1/bookings/{deal.booking_id}/complete"
    assert (await charging.api.backend.post(path, None)).status_code == 200
    await charging.rest()
    assert await leg_of(charging, deal) == ("completed", "paid")


async def test_a_dispute_of_a_booking_to_come_that_is_won_leaves_it_as_it_was(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.confirmed()
    intent_id = await intent_of(charging, deal)
    for kind, status in (("created", "needs_response"), ("closed", "warning_closed")):
        await tell(charging, server, server.dispute(intent_id, kind, status, f"dp_{deal.leg_id}"))
    assert await leg_of(charging, deal) == ("confirmed", "none")
    history = "select count(*) from history where subject = $1 and act = $2"
    assert await charging.pool.fetchval(history, deal.leg_id, ACT) == 1
    await charging.rest()
    await charging.check_money(deal, BOOKED)


async def test_a_dispute_after_the_payout_and_a_reversed_payout_are_told(
    charging: Charging, server: StripeServer
) -> None:
    deal = await completed(charging, server, is_paid=True)
    opened = server.dispute(
        await intent_of(charging, deal), "created", "needs_response", f"dp_{deal.leg_id}"
    )
    transfer = [*server.transfers.values()][-1]
    await tell(charging, server, opened, server.owe("transfer.reversed", transfer))
    assert await leg_of(charging, deal) == ("disputed", "paid")
    told = await happened(charging, deal)
    assert (told.count("payment.disputed"), told.count("payout.reversed")) == (1, 1)
    await charging.check_money(deal, BOOKED, ("payout", 30_000))


async def test_a_deposit_that_expires_is_told_and_releasing_it_changes_nothing(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.confirmed(deposit=5_000)
    [hold] = [each for each in server.intents.values() if each["amount"] == 5_000]
    hold["status"] = "canceled"
    await tell(charging, server, server.owe("payment_intent.canceled", hold))
    assert (await happened(charging, deal)).count("deposit.expired") == 1
    path = f"/v1/bookings/{deal.booking_id}/cancel"
    assert (await charging.api.backend.post(path, {})).status_code == 200
    await charging.rest()
    [leg] = (await charging.booking(deal))["legs"]
    assert leg["deposit"]["state"] == "released"


async def test_what_is_not_signed_not_stripes_or_not_ours_changes_nothing(
    charging: Charging, server: StripeServer
) -> None:
    deal = await charging.confirmed()
    http = charging.api.http
    intent = server.intents[await intent_of(charging, deal)]
    event = server.owe("payment_intent.succeeded", intent)
    body = msgspec.json.encode(event)
    signed = server.signed(body)
    charging.api.clock.advance(minutes=6)
    for headers in ({"content-type": "application/json"}, signed):
        assert (await http.post(PATH, content=body, headers=headers)).status_code == 400
    not_ours = {**intent, "metadata": {}}
    for about in ("payment_intent.succeeded", "customer.created", "charge.updated"):
        await tell(charging, server, server.owe(about, not_ours))
    broken = msgspec.json.encode(server.owe("payment_intent.succeeded", {"id": 1}))
    answer = await http.post(PATH, content=broken, headers=server.signed(broken))
    assert answer.status_code == 400
    await charging.check_money(deal, BOOKED)
