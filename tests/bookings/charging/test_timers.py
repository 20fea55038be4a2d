"""Timers fire once and in order, even if no worker ran for days."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from greenroom.bootstrap import Rooms
from greenroom.kernel.clock import parse_rfc3339, rfc3339

from .charging import HOUR_MS, Charging, Deal

RACES = 4

# What happened to these, in the order in which it did.
HAPPENED = """
select coalesce(card_id, leg_id) as subject, type from event_log
where occurred_at >= $2 and (card_id = any($1) or (card_id is null and leg_id = any($1)))
    and type in ('action.state_change', 'leg.in_progress')
order by position
"""
LEFT = "select count(*) from task where kind = 'timer' and split_part(key, '/', 1) = any($1)"


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


async def planned(charging: Charging) -> Plan:
    """Cards and legs, made in another order than that in which they are due."""
    plan = Plan()
    for _ in range(2):
        deal = await charging.worked()
        card = await charging.card(deal, deal.seller, "complete", {"kind": "time_based"})
        plan.reviews[card["id"]] = deal
        plan.due[card["id"]] = charging.api.clock() + 72 * HOUR_MS
    # They look at it for more than a day.
    charging.api.clock.advance(hours=30)
    for hours in (31, 7, 19):
        deal = await charging.confirmed(in_hours=hours)
        plan.legs[deal.leg_id] = deal
        plan.due[deal.leg_id] = parse_rfc3339((await charging.booking(deal))["legs"][0]["start"])
    for hours in (40, 5, 26):
        await time_proposed(charging, plan, hours)
    for hours in (11, 3):
        deal = await charging.propose()
        until_ms = charging.api.clock() + hours * HOUR_MS
        where = {"lat": 48.2, "lon": 16.4, "until": rfc3339(until_ms)}
        card = await charging.card(deal, deal.buyer, "location", where)
        plan.locations[card["id"]] = deal
        plan.due[card["id"]] = until_ms
    plan.waiting = await charging.confirmed()
    await charging.extras(plan.waiting)
    return plan


async def time_proposed(charging: Charging, plan: Plan, hours: int) -> None:
    deal = await charging.propose()
    start_ms = charging.api.clock() + hours * HOUR_MS
    payload = {
        "start": rfc3339(start_ms),
        "end": rfc3339(start_ms + HOUR_MS),
        "timezone": "Europe/Vienna",
    }
    card = await charging.card(deal, deal.seller, "propose_time", payload)
    plan.times[card["id"]] = deal
    plan.due[card["id"]] = start_ms


async def check(charging: Charging, plan: Plan, since_ms: int) -> None:
    """Each fired once, the longest due first."""
    subjects = list(plan.due)
    rows = await charging.pool.fetch(HAPPENED, subjects, since_ms)
    assert [row["subject"] for row in rows] == plan.in_order
    assert await charging.pool.fetchval(LEFT, subjects) == 0
    for deal in plan.legs.values():
        [leg] = (await charging.booking(deal))["legs"]
        assert leg["state"] == "in_progress"
    for deal in plan.times.values():
        await charging.check_card(deal, "pending", "expired")
    for deal in plan.locations.values():
        await charging.check_card(deal, "active", "ended")
    for deal in plan.reviews.values():
        await charging.check_card(deal, "pending", "auto_accepted")
        [leg] = (await charging.booking(deal))["legs"]
        assert (leg["state"], leg["payout"]) == ("completed", "paid")
        await charging.check_money(deal, ("charge", 30_000), ("payout", 30_000))
    assert plan.waiting is not None
    assert (await charging.card_now(plan.waiting))[0]["state"] == "pending"


async def everything(charging: Charging) -> list[int]:
    """How much there is of what timers could do a second time."""
    return [
        await charging.pool.fetchval(f"select count(*) from {table}")  # noqa: S608 (names of tables)
        for table in ("history", "event_log", "payment", "money_entry", "task")
    ]


async def test_after_two_days_of_absence_each_timer_fires_once_and_in_order(
    charging: Charging,
) -> None:
    plan = await planned(charging)
    charging.api.clock.advance(days=2)
    now_ms = charging.api.clock()
    worker = charging.api.rooms.contract.worker
    await worker.run_until_idle()
    await charging.rest()
    await check(charging, plan, now_ms)
    before = await everything(charging)
    await worker.run_until_idle()
    await worker.go_round()
    assert await everything(charging) == before


async def test_several_workers_at_once_fire_each_timer_once_and_in_order(
    charging: Charging,
) -> None:
    plan = await planned(charging)
    charging.api.clock.advance(days=2)
    now_ms = charging.api.clock()
    async with (
        Rooms(charging.settings, charging.database_url, clock=charging.api.clock) as second,
        Rooms(charging.settings, charging.database_url, clock=charging.api.clock) as third,
    ):
        workers = [each.contract.worker for each in (charging.api.rooms, second, third)]
        await asyncio.gather(*(worker.go_round() for worker in workers * 3))
        await asyncio.gather(*(worker.run_until_idle() for worker in workers))
        await charging.rest()
        await check(charging, plan, now_ms)
        before = await everything(charging)
        await asyncio.gather(*(worker.run_until_idle() for worker in workers))
        assert await everything(charging) == before


async def test_a_worker_that_was_away_does_not_run_what_has_been_ended_meanwhile(
    charging: Charging,
) -> None:
    plan = Plan()
    await time_proposed(charging, plan, 5)
    [(card_id, deal)] = plan.times.items()
    answer = await deal.buyer.post(f"/v1/cards/{card_id}/decline", {"version": 1})
    assert answer.status_code == 200, answer.text
    leg = await charging.confirmed(in_hours=6)
    path = f"/v1/bookings/{leg.booking_id}/cancel"
    assert (await charging.api.backend.post(path, {})).status_code == 200
    assert await charging.pool.fetchval(LEFT, [card_id, leg.leg_id]) == 0
    charging.api.clock.advance(days=2)
    await charging.rest()
    await charging.check_card(deal, "pending", "declined")
    assert (await charging.booking(leg))["state"] == "cancelled"


async def test_a_card_whose_time_has_come_takes_no_answer_although_no_worker_was_there(
    charging: Charging,
) -> None:
    plan = Plan()
    await time_proposed(charging, plan, 5)
    [(card_id, deal)] = plan.times.items()
    charging.api.clock.advance(days=2)
    refused = await deal.buyer.refusal("POST", f"/v1/cards/{card_id}/accept", {"version": 1})
    assert refused == (409, "CARD_EXPIRED")
    await charging.rest()
    await charging.check_card(deal, "pending", "expired")


async def test_a_review_that_ends_while_the_buyer_objects_has_one_outcome(
    charging: Charging,
) -> None:
    worker = charging.api.rooms.contract.worker
    outcomes = set()
    for _ in range(RACES):
        deal = await charging.worked()
        card = await charging.card(deal, deal.seller, "complete", {"kind": "time_based"})
        charging.api.clock.advance(hours=72)
        path, body = f"/v1/cards/{card['id']}/dispute", {"version": 1, "reason": "It rained"}
        answer, _ = await asyncio.gather(deal.buyer.post(path, body), worker.run_until_idle())
        await charging.rest()
        [leg] = (await charging.booking(deal))["legs"]
        if answer.status_code == 200:
            await charging.check_history(card["id"], deal.leg_id)
            assert (leg["state"], leg["payout"]) == ("disputed", "held")
            await charging.check_money(deal, ("charge", 30_000))
        else:
            assert answer.json()["code"] in ("ACTION_STALE_VERSION", "CARD_EXPIRED"), answer.text
            await charging.check_card(deal, "pending", "auto_accepted")
            assert (leg["state"], leg["payout"]) == ("completed", "paid")
            await charging.check_money(deal, ("charge", 30_000), ("payout", 30_000))
        outcomes.add(answer.status_code)
    assert outcomes <= {200, 409}


async def test_a_dispute_and_the_payout_of_accepted_work_have_one_outcome(
    charging: Charging,
) -> None:
    """Either the payout is stopped, or it was sent and the card says so."""
    worker = charging.api.rooms.contract.worker
    for _ in range(RACES):
        deal = await charging.worked()
        card = await charging.card(deal, deal.seller, "complete", {"kind": "time_based"})
        path = f"/v1/cards/{card['id']}"
        accepted = await deal.buyer.post(f"{path}/accept", {"version": 1})
        assert accepted.status_code == 200, accepted.text
        body = {"version": 2, "reason": "It rained"}
        answer, _ = await asyncio.gather(
            deal.buyer.post(f"{path}/dispute", body), worker.run_until_idle()
        )
        assert answer.status_code == 200, answer.text
        await charging.rest()
        [leg] = (await charging.booking(deal))["legs"]
        said = (leg["state"], leg["payout"], answer.json()["card"]["totals"]["payout"])
        if said[2] == "held":
            assert said == ("disputed", "held", "held")
            await charging.check_money(deal, ("charge", 30_000))
        else:
            assert said == ("disputed", "paid", "sent")
            await charging.check_money(deal, ("charge", 30_000), ("payout", 30_000))
