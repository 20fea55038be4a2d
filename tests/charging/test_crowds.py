"""Many want the same thing at the same moment: one gets it, the others are told, nobody pays for
nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import httpx

from .site import Site

if TYPE_CHECKING:
    from conftest import Json

RACERS = 200
CLICKS = 100

PAYMENTS_OF = "select count(*) from payment where group_id = any($1)"
HOLDING = "select count(*) from leg where seller = $1 and holds_slot"


def outcome(answer: httpx.Response) -> str:
    return "done" if answer.status_code == 200 else f"{answer.status_code} {answer.json()['code']}"


async def test_of_two_hundred_bookings_of_one_slot_one_is_confirmed_and_charged(
    site: Site,
) -> None:
    ann, bob = await site.api.people("ann", "bob", verified=True)
    deals = [
        await site.propose(between=(ann, bob), in_hours=720 + 1.9 * number / RACERS)
        for number in range(RACERS)
    ]
    backend = site.api.backend
    answers = await asyncio.gather(
        *(
            backend.post(f"/v1/bookings/{deal.booking_id}/confirm", None, key=deal.key)
            for deal in deals
        )
    )
    assert Counter(map(outcome, answers)) == {"done": 1, "409 ACTION_CONFLICT": RACERS - 1}
    [place] = [number for number, each in enumerate(answers) if each.status_code == 200]
    winner, losers = deals[place], deals[:place] + deals[place + 1 :]
    await site.rest()
    await site.check_money(winner, ("charge", 30_000))
    assert (await site.booking(winner))["state"] == "confirmed"
    assert await site.pool.fetchval(PAYMENTS_OF, [each.booking_id for each in losers]) == 0
    assert await site.pool.fetchval(HOLDING, bob.id) == 1
    for loser in (losers[0], losers[-1]):
        assert (await site.booking(loser))["state"] == "proposed"
        await site.check_history(loser.booking_id, loser.leg_id)

    # The same key gets the same answer, also when the time has become free again.
    path = f"/v1/bookings/{winner.booking_id}/cancel"
    assert (await backend.post(path, {"by": "seller"})).status_code == 200
    path = f"/v1/bookings/{losers[0].booking_id}/confirm"
    assert outcome(await backend.post(path, None, key=losers[0].key)) == "409 ACTION_CONFLICT"
    assert outcome(await backend.post(path, None)) == "done"
    await site.rest()
    assert (await site.booking(losers[0]))["state"] == "confirmed"
    await site.check_money(losers[0], ("charge", 30_000), ("refund", 30_000), ("charge", 30_000))


async def test_of_a_hundred_acceptances_at_once_one_counts_and_the_others_see_the_card(
    site: Site,
) -> None:
    deal = await site.confirmed()
    card = await site.extras(deal)
    path = f"/v1/cards/{card['id']}/accept"
    answers = await asyncio.gather(
        *(
            deal.buyer.post(path, {"version": 1}, key=f"{deal.key}-{number}")
            for number in range(CLICKS)
        )
    )
    assert Counter(map(outcome, answers)) == {"done": 1, "409 ACTION_STALE_VERSION": CLICKS - 1}
    shown: list[Json] = [each.json()["card"] for each in answers]
    assert {each["id"] for each in shown} == {card["id"]}
    assert all(each["version"] >= 2 for each in shown)
    await site.rest()
    await site.check_money(deal, ("charge", 30_000), ("charge", 4_500))
    await site.check_card(deal, "pending", "charging", "paid")


async def test_a_hundred_repeats_of_one_acceptance_at_once_get_one_answer(site: Site) -> None:
    deal = await site.confirmed()
    card = await site.extras(deal)
    path = f"/v1/cards/{card['id']}/accept"
    answers = await asyncio.gather(
        *(deal.buyer.post(path, {"version": 1}, key=deal.key) for _ in range(CLICKS))
    )
    assert Counter(map(outcome, answers)) == {"done": CLICKS}
    assert len({each.text for each in answers}) == 1
    await site.rest()
    await site.check_money(deal, ("charge", 30_000), ("charge", 4_500))
    await site.check_card(deal, "pending", "charging", "paid")


async def test_accepting_declining_and_withdrawing_at_once_has_one_outcome(site: Site) -> None:
    deal = await site.confirmed()
    card = await site.extras(deal)
    acts = [(deal.buyer, "accept"), (deal.buyer, "decline"), (deal.seller, "withdraw")] * 10
    answers = await asyncio.gather(
        *(who.post(f"/v1/cards/{card['id']}/{act}", {"version": 1}) for who, act in acts)
    )
    assert Counter(map(outcome, answers))["done"] == 1
    [won] = [act for (_, act), each in zip(acts, answers, strict=True) if each.status_code == 200]
    await site.rest()
    ends = {
        "accept": ("charging", "paid"),
        "decline": ("declined",),
        "withdraw": ("withdrawn",),
    }
    await site.check_card(deal, "pending", *ends[won])
    charged = [("charge", 4_500)] if won == "accept" else []
    await site.check_money(deal, ("charge", 30_000), *charged)
