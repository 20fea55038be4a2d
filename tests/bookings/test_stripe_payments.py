"""The adapter for Stripe, by Stripe's own library, against a server of ours that speaks its API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from greenroom.bookings.money.provider import (
    Confirmation,
    Operation,
    OperationName,
    Outcome,
    Party,
    ProviderUnavailable,
)
from greenroom.bookings.stripe.client import PAGE, StripeApi
from greenroom.bookings.stripe.payments import StripePayments
from greenroom.doctor import Finding, _payments
from greenroom.settings import Settings, load_settings
from tests.support.clock import FakeClock
from tests.support.stripe_server import API_KEY, WEBHOOK_SECRET, StripeServer

ANN = Party("cus_ann", "pm_ann", "acct_ann")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[StripeServer]:
    async with StripeServer(clock) as opened:
        yield opened


@pytest.fixture
def stripe(server: StripeServer, clock: FakeClock) -> StripePayments:
    return adapter(server, clock)


def adapter(
    server: StripeServer, clock: FakeClock, *, timeout_s: float = 10, key: str = API_KEY
) -> StripePayments:
    api = StripeApi(key, url=server.url, timeout_s=timeout_s)
    return StripePayments(api, timeout_s=timeout_s, confirmation_hours=24, clock=clock)


def asking(
    operation: OperationName = "charge", cents: int = 10_000, *, key: str = "k1", **more: Any
) -> Operation:
    asked = Operation(key, operation, "ann", cents, "EUR", None, f"pay_{key}", ANN)
    return replace(asked, **{"asked_at_ms": FakeClock().now_ms, **more})


def again(asked: Operation) -> Operation:
    return replace(asked, is_repeat=True)


async def held(stripe: StripePayments, cents: int = 5_000) -> str:
    outcome = await stripe.carry_out(asking("hold", cents, key="hold"))
    assert outcome.status == "succeeded"
    assert outcome.provider_id is not None
    return outcome.provider_id


async def test_a_charge_is_an_intent_that_is_confirmed_off_session(
    stripe: StripePayments, server: StripeServer
) -> None:
    outcome = await stripe.carry_out(asking())
    [intent] = server.intents.values()
    assert outcome == Outcome("succeeded", intent["id"])
    assert (intent["amount"], intent["currency"], intent["customer"]) == (10_000, "eur", "cus_ann")
    assert intent["metadata"] == {"greenroom_payment": "pay_k1"}


async def test_a_deposit_is_held_captured_in_part_and_its_rest_is_free(
    stripe: StripePayments, server: StripeServer
) -> None:
    hold = await held(stripe)
    captured = await stripe.carry_out(asking("capture", 2_000, key="c", source=hold))
    assert captured == Outcome("succeeded", f"ch_{hold}")
    released = await stripe.carry_out(asking("release", 3_000, key="r", source=hold))
    assert released.status == "succeeded"
    assert [each["operation"] for each in server.moved] == ["hold", "capture"]


async def test_a_deposit_that_is_not_needed_is_released_once(
    stripe: StripePayments, server: StripeServer
) -> None:
    hold = await held(stripe)
    for asked in (asking("release", 5_000, key="r", source=hold),) * 2:
        assert (await stripe.carry_out(again(asked))).status == "succeeded"
    assert [each["operation"] for each in server.moved] == ["hold", "release"]


@pytest.mark.parametrize("end", ["captured", "expired"])
async def test_what_a_deposit_no_longer_holds_is_charged_anew(
    stripe: StripePayments, server: StripeServer, end: str
) -> None:
    hold = await held(stripe)
    if end == "captured":
        await stripe.carry_out(asking("capture", 2_000, key="c1", source=hold))
    else:
        server.intents[hold]["status"] = "canceled"
    second = asking("capture", 1_000, key="c2", source=hold)
    outcome = await stripe.carry_out(second)
    assert outcome.status == "succeeded"
    assert outcome.provider_id != hold
    assert await stripe.carry_out(again(second)) == outcome
    assert server.moved[-1] == {"operation": "charge", "account": "ann", "cents": 1_000}
    assert [each["operation"] for each in server.moved].count("charge") == 1


async def test_refunds_and_payouts_are_made_once(
    stripe: StripePayments, server: StripeServer
) -> None:
    charge = (await stripe.carry_out(asking())).provider_id
    for asked in (
        asking("refund", 4_000, key="r", source=charge),
        asking("payout", 6_000, key="p"),
    ):
        server.steps = [{"do": "timeout_after"}]
        with pytest.raises(ProviderUnavailable):
            await stripe.carry_out(asked)
        assert (await stripe.carry_out(again(asked))).status == "succeeded"
    assert [(each["operation"], each["cents"]) for each in server.moved] == [
        ("charge", 10_000),
        ("refund", 4_000),
        ("payout", 6_000),
    ]


@pytest.mark.parametrize("operation", ["charge", "hold", "capture", "refund", "payout"])
async def test_what_was_done_unheard_is_found_days_later_when_its_key_is_forgotten(
    stripe: StripePayments, server: StripeServer, clock: FakeClock, operation: OperationName
) -> None:
    source = None
    if operation == "capture":
        source = await held(stripe, 10_000)
    elif operation == "refund":
        source = (await stripe.carry_out(asking(key="first"))).provider_id
    asked = asking(operation, key="k2", source=source)
    server.steps = [{"do": "timeout_after", "operation": operation}]
    with pytest.raises(ProviderUnavailable):
        await stripe.carry_out(asked)
    moved = len(server.moved)
    clock.advance(days=3)
    # Others of the same customer since then are more than one page.
    if operation == "charge":
        for number in range(PAGE + 1):
            server._create_intent(
                {
                    "customer": "cus_ann",
                    "payment_method": "pm_x",
                    "amount": "1",
                    "confirm": "true",
                    "off_session": "true",
                    "metadata[x]": str(number),
                },
                {"do": "pending"},
            )
    outcome = await stripe.carry_out(again(asked))
    assert outcome.status == "succeeded"
    assert len(server.moved) == moved


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("insufficient_funds", "insufficient_funds"),
        ("expired_card", "expired_card"),
        ("card_declined", "card_declined"),
        ("stolen_card", "card_declined"),
    ],
)
async def test_a_declined_charge_has_failed_for_good_and_says_why(
    stripe: StripePayments, server: StripeServer, told: str, code: str
) -> None:
    server.steps = [{"do": "fail", "code": told}]
    outcome = await stripe.carry_out(asking())
    [intent] = server.intents.values()
    assert outcome == Outcome("failed", intent["id"], code)
    assert intent["status"] == "canceled"
    assert await stripe.carry_out(again(asking())) == outcome


async def test_a_charge_that_the_payer_must_confirm_is_pending_until_they_do(
    stripe: StripePayments, server: StripeServer
) -> None:
    server.steps = [{"do": "requires_action"}]
    waiting = await stripe.carry_out(asking())
    [intent] = server.intents.values()
    assert waiting == Outcome("pending", intent["id"], needs_payer=True)
    known = again(asking(provider_id=intent["id"]))
    assert await stripe.carry_out(known) == waiting
    confirmation = await stripe.confirmation(intent["id"])
    assert confirmation == Confirmation(intent["client_secret"], "pm_ann")
    await server.settle()
    assert await stripe.confirmation(intent["id"]) is None
    assert await stripe.carry_out(known) == Outcome("succeeded", intent["id"])


async def test_a_charge_that_nobody_confirms_in_time_fails_and_cannot_be_confirmed_later(
    stripe: StripePayments, server: StripeServer, clock: FakeClock
) -> None:
    server.steps = [{"do": "requires_action"}]
    intent_id = (await stripe.carry_out(asking())).provider_id
    clock.advance(hours=24, minutes=1)
    expired = await stripe.carry_out(again(asking(provider_id=intent_id)))
    assert expired == Outcome("failed", intent_id, "confirmation_expired")
    assert server.intents[intent_id or ""]["status"] == "canceled"


async def test_a_confirmation_that_failed_ends_the_charge(
    stripe: StripePayments, server: StripeServer
) -> None:
    server.steps = [{"do": "requires_action"}]
    intent_id = (await stripe.carry_out(asking())).provider_id
    await server.settle("failed", "payment_intent_authentication_failure")
    failed = await stripe.carry_out(again(asking(provider_id=intent_id)))
    assert failed == Outcome("failed", intent_id, "authentication_failed")


async def test_a_payer_who_confirms_while_we_give_up_has_paid(
    stripe: StripePayments, server: StripeServer, clock: FakeClock
) -> None:
    server.steps = [{"do": "requires_action"}]
    intent_id = (await stripe.carry_out(asking())).provider_id or ""
    clock.advance(hours=25)
    stale = await stripe._api.intent(intent_id)
    await server.settle()
    assert await stripe._judge(stale) == Outcome("succeeded", intent_id)


@pytest.mark.parametrize("status", [401, 403, 409, 429, 500, 503])
async def test_errors_of_stripe_leave_the_outcome_open(
    stripe: StripePayments, server: StripeServer, status: int
) -> None:
    server.steps = [{"do": "error", "status": status}]
    with pytest.raises(ProviderUnavailable):
        await stripe.carry_out(asking())
    assert (await stripe.carry_out(again(asking()))).status == "succeeded"
    assert len(server.moved) == 1


async def test_a_wrong_key_a_late_answer_and_nobody_there_leave_the_outcome_open(
    server: StripeServer, clock: FakeClock
) -> None:
    with pytest.raises(ProviderUnavailable) as raised:
        await adapter(server, clock, key="sk_test_another").carry_out(asking())
    assert "sk_test" not in str(raised.value)
    server.steps = [{"do": "delay", "ms": 60_000}]
    with pytest.raises(ProviderUnavailable):
        await adapter(server, clock, timeout_s=0.05).carry_out(asking())
    server.url = "http://127.0.0.1:1"
    with pytest.raises(ProviderUnavailable):
        await adapter(server, clock).carry_out(asking())


async def test_a_key_that_was_used_for_something_else_leaves_the_outcome_open(
    stripe: StripePayments,
) -> None:
    await stripe.carry_out(asking())
    with pytest.raises(ProviderUnavailable):
        await stripe.carry_out(asking(cents=20_000))


async def test_what_stripe_refuses_has_failed(stripe: StripePayments, server: StripeServer) -> None:
    charge = (await stripe.carry_out(asking())).provider_id
    assert await codes(
        stripe,
        asking(key="a", party=None),
        asking(key="b", party=Party("cus_ann", "ba_gone")),
        asking("payout", key="c", party=Party("cus_ann", "pm_ann")),
        asking("payout", key="d", party=Party(payee="gone")),
        asking("refund", 10_001, key="e", source=charge),
        asking("refund", key="f", source="pi_of_another"),
        asking(key="g", currency="JPY"),
    ) == [
        "no_payment_method",
        "no_payment_method",
        "no_payout_account",
        "no_payout_account",
        "charge_already_refunded",
        "resource_missing",
        "currency_not_supported",
    ]
    server.steps = [{"do": "fail", "operation": "payout"}]
    assert await codes(stripe, asking("payout", key="h")) == ["balance_insufficient"]
    assert len(server.moved) == 1


async def codes(stripe: StripePayments, *asked: Operation) -> list[str | None]:
    outcomes = [await stripe.carry_out(each) for each in asked]
    assert {each.status for each in outcomes} == {"failed"}
    return [each.failure_code for each in outcomes]


async def test_doctor_says_whether_stripe_takes_the_key(server: StripeServer) -> None:
    assert await _payments(configured(server)) == Finding(
        "payments", "note", "by Stripe in test mode, no money moves"
    )
    for wrong in (
        replace(configured(server), stripe_api_key="sk_test_another"),
        replace(configured(server), stripe_url="http://127.0.0.1:1"),
    ):
        finding = await _payments(wrong)
        assert finding.verdict == "missing"
        assert "GREENROOM_STRIPE_API_KEY" in finding.text
        assert "sk_test" not in finding.text


def configured(server: StripeServer) -> Settings:
    given = {
        "PAYMENTS": "stripe",
        "STRIPE_URL": server.url,
        "STRIPE_API_KEY": API_KEY,
        "STRIPE_WEBHOOK_SECRET": WEBHOOK_SECRET,
    }
    return load_settings({f"GREENROOM_{name}": value for name, value in given.items()})
