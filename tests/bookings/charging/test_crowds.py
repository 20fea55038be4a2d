"""Many people request the same thing at once: one succeeds, the others get an error, and nobody
pays for nothing."""

from __future__ import annotations

import asyncio
from collections import Counter

import httpx

from tests.support.api import Json

from .charging import Charging

RACERS = 200
CLICKS = 100

PAYMENTS_OF = "select count(*) from payment where group_id = any($1)"
HOLDING = "select count(*) from leg where seller = $1 and holds_slot"


def outcome(answer: httpx.Response) -> str:
    return "done" if answer.status_code == 200 else f"{answer.status_code} {answer.json()['code']}"


async def test_of_two_hundred_bookings_of_one_slot_one_is_confirmed_and_charged(
    charging: Charging,
) -> None:
    ann, bob = await charging.api.people("ann", "bob", verified=True)
    racers = charging.many(RACERS)
    deals = [
        await charging.propose(between=(ann, bob), in_hours=720 + 1.9 * number / racers)
        for number in range(racers)
    ]
    backend = charging.api.backend
    answers = await asyncio.gather(
        *(
            backend.post(f"/v1/bookings/{deal.booking_id}/confirm", None, key=deal.key)
            for deal in deals
        )
    )
    assert Counter(map(outcome, answers)) == {"done": 1, "409 ACTION_CONFLICT": racers - 1}
    [place] = [number for number, each in enumerate(answers) if each.status_code == 200]
    winner, losers = deals[place], deals[:place] + deals[place + 1 :]
    await charging.rest()
    await charging.check_money(winner, ("charge", 30_000))
    assert (await charging.booking(winner))["state"] == "confirmed"
    assert await charging.pool.fetchval(PAYMENTS_OF, [each.booking_id for each in losers]) == 0
    assert await charging.pool.fetchval(HOLDING, bob.id) == 1
    for loser in (losers[0], losers[-1]):
        assert (await charging.booking(loser))["state"] == "proposed"
        await charging.check_history(loser.booking_id, loser.leg_id)

    # The same key gets the same answer, also when the time has become free again.
    path = f"/v1/bookings/{winner.booking_id}/cancel"
    assert (await backend.post(path, {"by": "seller"})).status_code == 200
    path = f"/v1/bookings/{losers[0].booking_id}/confirm"
    assert outcome(await backend.post(path, None, key=losers[0].key)) == "409 ACTION_CONFLICT"
    assert outcome(await backend.post(path, None)) == "done"
    await charging.rest()
    assert (await charging.booking(losers[0]))["state"] == "confirmed"
    await charging.check_money(
        losers[0], ("charge", 30_000), ("refund", 30_000), ("charge", 30_000)
    )


async def test_of_a_hundred_acceptances_at_once_one_counts_and_the_others_see_the_card(
    charging: Charging,
) -> None:
    deal, clicks = await charging.confirmed(), charging.many(CLICKS)
    card = await charging.extras(deal)
    path = f"/v1/cards/{card['id']}/accept"
    answers = await asyncio.gather(
        *(
            deal.buyer.post(path, {"version": 1}, key=f"{deal.key}-{number}")
            for number in range(clicks)
        )
    )
    assert Counter(map(outcome, answers)) == {"done": 1, "409 ACTION_STALE_VERSION": clicks - 1}
    shown: list[Json] = [each.json()["card"] for each in answers]
    assert {each["id"] for each in shown} == {card["id"]}
    assert all(each["version"] >= 2 for each in shown)
    await charging.rest()
    await charging.check_money(deal, ("charge", 30_000), ("charge", 4_500))
    await charging.check_card(deal, "pending", "charging", "paid")


async def test_a_hundred_repeats_of_one_acceptance_at_once_get_one_answer(
    charging: Charging,
) -> None:
    deal, clicks = await charging.confirmed(), charging.many(CLICKS)
    card = await charging.extras(deal)
    path = f"/v1/cards/{card['id']}/accept"
    answers = await asyncio.gather(
        *(deal.buyer.post(path, {"version": 1}, key=deal.key) for _ in range(clicks))
    )
    assert Counter(map(outcome, answers)) == {"done": clicks}
    assert len({each.text for each in answers}) == 1
    await charging.rest()
    await charging.check_money(deal, ("charge", 30_000), ("charge", 4_500))
    await charging.check_card(deal, "pending", "charging", "paid")


async def test_accepting_declining_and_withdrawing_at_once_has_one_outcome(
    charging: Charging,
) -> None:
    deal = await charging.confirmed()
    card = await charging.extras(deal)
    acts = [(deal.buyer, "accept"), (deal.buyer, "decline"), (deal.seller, "withdraw")] * 10
    answers = await asyncio.gather(
        *(who.post(f"/v1/cards/{card['id']}/{act}", {"version": 1}) for who, act in acts)
    )
    assert Counter(map(outcome, answers))["done"] == 1
    [won] = [act for (_, act), each in zip(acts, answers, strict=True) if each.status_code == 200]
    await charging.rest()
    ends = {
        "accept": ("charging", "paid"),
        "decline": ("declined",),
        "withdraw": ("withdrawn",),
    }
    await charging.check_card(deal, "pending", *ends[won])
    charged = [("charge", 4_500)] if won == "accept" else []
    await charging.check_money(deal, ("charge", 30_000), *charged)
