"""What is to happen at its time happens once and in order, also when nobody was there for days."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from greenroom.bootstrap import Rooms
from greenroom.kernel.clock import parse_rfc3339, rfc3339

from .site import HOUR_MS, Deal, Site

RACES = 4

# What happened to these, in the order in which it did.
HAPPENED = """
select coalesce(card_id, leg_id) as subject, event from contract_event
where occurred_at >= $2 and (card_id = any($1) or (card_id is null and leg_id = any($1)))
    and event in ('action.state_change', 'leg.in_progress')
order by id
"""
LEFT = "select count(*) from timer where subject = any($1)"


@dataclass
class Plan:
    """What has a time, and when."""

    due: dict[str, int] = field(default_factory=dict)
    legs: dict[str, Deal] = field(default_factory=dict)
    times: dict[str, Deal] = field(default_factory=dict)
    reviews: dict[str, Deal] = field(default_factory=dict)
    locations: dict[str, Deal] = field(default_factory=dict)
    waiting: Deal | None = None

    @property
    def in_order(self) -> list[str]:
        return sorted(self.due, key=lambda subject: (self.due[subject], subject))


async def planned(site: Site) -> Plan:
    """Cards and legs, made in another order than that in which they are due."""
    plan = Plan()
    for _ in range(2):
        deal = await site.confirmed()
        card = await site.card(deal, deal.seller, "complete", {"kind": "time_based"})
        plan.reviews[card["id"]] = deal
        plan.due[card["id"]] = site.api.clock() + 72 * HOUR_MS
    # They look at it for more than a day.
    site.api.clock.advance(hours=30)
    for hours in (31, 7, 19):
        deal = await site.confirmed(in_hours=hours)
        plan.legs[deal.leg_id] = deal
        plan.due[deal.leg_id] = parse_rfc3339((await site.booking(deal))["legs"][0]["start"])
    for hours in (40, 5, 26):
        await time_proposed(site, plan, hours)
    for hours in (11, 3):
        deal = await site.propose()
        until_ms = site.api.clock() + hours * HOUR_MS
        where = {"lat": 48.2, "lon": 16.4, "until": rfc3339(until_ms)}
        card = await site.card(deal, deal.buyer, "location", where)
        plan.locations[card["id"]] = deal
        plan.due[card["id"]] = until_ms
    plan.waiting = await site.confirmed()
    await site.extras(plan.waiting)
    return plan


async def time_proposed(site: Site, plan: Plan, hours: int) -> None:
    deal = await site.propose()
    start_ms = site.api.clock() + hours * HOUR_MS
    payload = {
        "start": rfc3339(start_ms),
        "end": rfc3339(start_ms + HOUR_MS),
        "timezone": "Europe/Vienna",
    }
    card = await site.card(deal, deal.seller, "propose_time", payload)
    plan.times[card["id"]] = deal
    plan.due[card["id"]] = start_ms


async def check(site: Site, plan: Plan, since_ms: int) -> None:
    """Each fired once, the longest due first."""
    subjects = list(plan.due)
    rows = await site.pool.fetch(HAPPENED, subjects, since_ms)
    assert [row["subject"] for row in rows] == plan.in_order
    assert await site.pool.fetchval(LEFT, subjects) == 0
    for deal in plan.legs.values():
        [leg] = (await site.booking(deal))["legs"]
        assert leg["state"] == "in_progress"
    for deal in plan.times.values():
        await site.check_card(deal, "pending", "expired")
    for deal in plan.locations.values():
        await site.check_card(deal, "active", "ended")
    for deal in plan.reviews.values():
        await site.check_card(deal, "pending", "auto_accepted")
        [leg] = (await site.booking(deal))["legs"]
        assert (leg["state"], leg["payout"]) == ("completed", "paid")
        await site.check_money(deal, ("charge", 30_000), ("payout", 30_000))
    assert plan.waiting is not None
    assert (await site.card_now(plan.waiting))[0]["state"] == "pending"


async def everything(site: Site) -> list[int]:
    """How much there is of what timers could do a second time."""
    return [
        await site.pool.fetchval(f"select count(*) from {table}")  # noqa: S608 (names of tables)
        for table in ("history", "contract_event", "payment", "money_entry", "timer")
    ]


async def test_after_two_days_of_absence_each_timer_fires_once_and_in_order(site: Site) -> None:
    plan = await planned(site)
    site.api.clock.advance(days=2)
    now_ms = site.api.clock()
    worker = site.api.rooms.contract.worker
    await worker.run_until_idle()
    await site.rest()
    await check(site, plan, now_ms)
    before = await everything(site)
    await worker.run_until_idle()
    await worker.go_round()
    assert await everything(site) == before


async def test_several_workers_at_once_fire_each_timer_once_and_in_order(site: Site) -> None:
    plan = await planned(site)
    site.api.clock.advance(days=2)
    now_ms = site.api.clock()
    async with (
        Rooms(site.settings, site.database_url, clock=site.api.clock) as second,
        Rooms(site.settings, site.database_url, clock=site.api.clock) as third,
    ):
        workers = [each.contract.worker for each in (site.api.rooms, second, third)]
        await asyncio.gather(*(worker.go_round() for worker in workers * 3))
        await asyncio.gather(*(worker.run_until_idle() for worker in workers))
        await site.rest()
        await check(site, plan, now_ms)
        before = await everything(site)
        await asyncio.gather(*(worker.run_until_idle() for worker in workers))
        assert await everything(site) == before


async def test_a_worker_that_was_away_does_not_run_what_has_been_ended_meanwhile(
    site: Site,
) -> None:
    plan = Plan()
    await time_proposed(site, plan, 5)
    [(card_id, deal)] = plan.times.items()
    answer = await deal.buyer.post(f"/v1/cards/{card_id}/decline", {"version": 1})
    assert answer.status_code == 200, answer.text
    leg = await site.confirmed(in_hours=6)
    path = f"/v1/bookings/{leg.booking_id}/cancel"
    assert (await site.api.backend.post(path, {})).status_code == 200
    assert await site.pool.fetchval(LEFT, [card_id, leg.leg_id]) == 0
    site.api.clock.advance(days=2)
    await site.rest()
    await site.check_card(deal, "pending", "declined")
    assert (await site.booking(leg))["state"] == "cancelled"


async def test_a_card_whose_time_has_come_takes_no_answer_although_no_worker_was_there(
    site: Site,
) -> None:
    plan = Plan()
    await time_proposed(site, plan, 5)
    [(card_id, deal)] = plan.times.items()
    site.api.clock.advance(days=2)
    refused = await deal.buyer.refusal("POST", f"/v1/cards/{card_id}/accept", {"version": 1})
    assert refused == (409, "CARD_EXPIRED")
    await site.rest()
    await site.check_card(deal, "pending", "expired")


async def test_a_review_that_ends_while_the_buyer_objects_has_one_outcome(site: Site) -> None:
    worker = site.api.rooms.contract.worker
    outcomes = set()
    for _ in range(RACES):
        deal = await site.confirmed()
        card = await site.card(deal, deal.seller, "complete", {"kind": "time_based"})
        site.api.clock.advance(hours=72)
        path, body = f"/v1/cards/{card['id']}/dispute", {"version": 1, "reason": "It rained"}
        answer, _ = await asyncio.gather(deal.buyer.post(path, body), worker.run_until_idle())
        await site.rest()
        [leg] = (await site.booking(deal))["legs"]
        if answer.status_code == 200:
            await site.check_history(card["id"], deal.leg_id)
            assert (leg["state"], leg["payout"]) == ("disputed", "held")
            await site.check_money(deal, ("charge", 30_000))
        else:
            assert answer.json()["code"] in ("ACTION_STALE_VERSION", "CARD_EXPIRED"), answer.text
            await site.check_card(deal, "pending", "auto_accepted")
            assert (leg["state"], leg["payout"]) == ("completed", "paid")
            await site.check_money(deal, ("charge", 30_000), ("payout", 30_000))
        outcomes.add(answer.status_code)
    assert outcomes <= {200, 409}
