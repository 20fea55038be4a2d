"""A process is killed at every place of what it does for a request and for the payment after it.

The client repeats its request under the same key, another process goes on, and in the end
everything has happened once.
"""

from __future__ import annotations

import os
import random
from abc import ABC, abstractmethod

import httpx
import pytest

from greenroom.bootstrap import Rooms
from tests.support.api import Client

from .charging import Charging, Deal, Json
from .deaths import Death, Process, mourning_nobody

IS_FULL = os.environ.get("GREENROOM_TORTURE") == "full"
DEATHS = 10_000 if IS_FULL else 3


class Story(ABC):
    """What was before, what is asked for while the process dies, and how it must end."""

    def __init__(self, charging: Charging) -> None:
        self.charging = charging

    @abstractmethod
    async def prepare(self) -> Deal: ...

    @abstractmethod
    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        """Who asks, for what."""

    @abstractmethod
    async def check(self, deal: Deal) -> None: ...

    async def ask(self, deal: Deal, http: httpx.AsyncClient | None = None) -> httpx.Response:
        """Of the process behind this client, or of the one that stays."""
        caller, path, body = self.request(deal)
        if http is None:
            return await caller.post(path, body, key=deal.key)
        headers = {"authorization": caller.authorization() or "", "idempotency-key": deal.key}
        return await http.post(path, json=body, headers=headers)


class ExtrasAccepted(Story):
    async def prepare(self) -> Deal:
        deal = await self.charging.confirmed()
        await self.charging.extras(deal)
        return deal

    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        return deal.buyer, f"/v1/cards/{deal.card['id']}/accept", {"version": 1}

    async def check(self, deal: Deal) -> None:
        await self.charging.check_money(deal, ("charge", 30_000), ("charge", 4_500))
        await self.charging.check_card(deal, "pending", "charging", "paid")


class ChargeRetried(Story):
    """The first charge was declined."""

    async def prepare(self) -> Deal:
        deal = await self.charging.confirmed()
        card = await self.charging.extras(deal)
        await self.charging.script({"do": "fail", "operation": "charge"})
        path = f"/v1/cards/{card['id']}/accept"
        assert (await deal.buyer.post(path, {"version": 1})).status_code == 200
        await self.charging.rest()
        assert (await self.charging.card_now(deal))[0]["state"] == "failed"
        return deal

    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        return deal.buyer, f"/v1/cards/{deal.card['id']}/retry", {"version": 3}

    async def check(self, deal: Deal) -> None:
        await self.charging.check_money(deal, ("charge", 30_000), ("charge", 4_500))
        await self.charging.check_card(deal, "pending", "charging", "failed", "charging", "paid")


class BookingConfirmed(Story):
    async def prepare(self) -> Deal:
        return await self.charging.propose(deposit=5_000)

    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        return self.charging.api.backend, f"/v1/bookings/{deal.booking_id}/confirm", None

    async def check(self, deal: Deal) -> None:
        await self.charging.check_money(deal, ("charge", 30_000), ("hold", 5_000))
        await self.charging.check_history(deal.booking_id, deal.leg_id)
        booking = await self.charging.booking(deal)
        assert booking["state"] == "confirmed"
        assert [leg["state"] for leg in booking["legs"]] == ["confirmed"]
        await self.charging.check_notices(deal, "booking.confirmed")
        for viewer in deal.people:
            thread = (await viewer.thread(deal.thread_id))["thread"]
            assert (thread["kind"], thread["state"]) == ("project", "confirmed")


class BookingCancelled(Story):
    """With a refund, and a deposit that is given back."""

    async def prepare(self) -> Deal:
        return await self.charging.confirmed(deposit=5_000)

    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        path = f"/v1/bookings/{deal.booking_id}/cancel"
        return self.charging.api.backend, path, {"by": "seller"}

    async def check(self, deal: Deal) -> None:
        await self.charging.check_money(
            deal, ("charge", 30_000), ("hold", 5_000), ("refund", 30_000), ("release", 5_000)
        )
        await self.charging.check_history(deal.booking_id, deal.leg_id)
        booking = await self.charging.booking(deal)
        assert booking["state"] == "cancelled"
        await self.charging.check_notices(deal, "booking.confirmed", "booking.cancelled")


class CancellationAccepted(Story):
    """By a card: the seller asks, the buyer accepts, and everything is given back."""

    async def prepare(self) -> Deal:
        deal = await self.charging.confirmed()
        await self.charging.card(deal, deal.seller, "cancel", {"reason": "The studio is flooded"})
        return deal

    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        return deal.buyer, f"/v1/cards/{deal.card['id']}/accept", {"version": 1}

    async def check(self, deal: Deal) -> None:
        await self.charging.check_money(deal, ("charge", 30_000), ("refund", 30_000))
        await self.charging.check_card(deal, "pending", "accepted")
        await self.charging.check_history(deal.booking_id, deal.leg_id)
        assert (await self.charging.booking(deal))["state"] == "cancelled"


class WorkAccepted(Story):
    """The seller is paid out and the deposit is released."""

    async def prepare(self) -> Deal:
        deal = await self.charging.worked(deposit=5_000)
        await self.charging.card(deal, deal.seller, "complete", {"kind": "time_based"})
        return deal

    def request(self, deal: Deal) -> tuple[Client, str, Json | None]:
        return deal.buyer, f"/v1/cards/{deal.card['id']}/accept", {"version": 1}

    async def check(self, deal: Deal) -> None:
        await self.charging.check_money(
            deal, ("charge", 30_000), ("hold", 5_000), ("release", 5_000), ("payout", 30_000)
        )
        await self.charging.check_card(deal, "pending", "accepted")
        await self.charging.check_history(deal.booking_id, deal.leg_id)
        [leg] = (await self.charging.booking(deal))["legs"]
        assert (leg["state"], leg["payout"]) == ("completed", "paid")


STORIES = [
    ExtrasAccepted,
    ChargeRetried,
    BookingConfirmed,
    BookingCancelled,
    CancellationAccepted,
    WorkAccepted,
]


async def die(story: Story, at: int | None) -> Death:
    """One whole run of a story in which the process dies at this place."""
    charging = story.charging
    deal = await story.prepare()
    death = Death(at)
    process = Process(charging.settings, charging.database_url, charging.api.clock, death)

    async def life(http: httpx.AsyncClient, rooms: Rooms) -> None:
        answer = await story.ask(deal, http)
        assert answer.status_code == 200, answer.text
        await rooms.contract.worker.run_until_idle()
        await rooms.settle()

    await process.live(life, charging.pool)
    if at is not None and at % 2:
        # The client comes back late: by then others have gone on.
        await charging.rest()
    answer = await story.ask(deal)
    assert answer.status_code == 200, answer.text
    await charging.rest()
    await story.check(deal)
    assert (await story.ask(deal)).status_code == 200
    return death


def chosen(places: list[str], count: int, seed: random.Random) -> list[int]:
    """Everything that others can see a part of, and a sample of the rest."""
    phases = [
        number
        for number, place in enumerate(places)
        if place.startswith("after") or "commit" in place or "provider" in place
    ]
    rest = sorted(set(range(len(places))) - set(phases))
    for some in (phases, rest):
        seed.shuffle(some)
    picked = phases[: max(count - 4, 1)]
    return sorted([*picked, *rest[: count - len(picked)]])


@pytest.mark.parametrize("kind", STORIES)
async def test_a_process_that_is_killed_at_any_place_charges_and_shows_everything_once(
    charging: Charging, kind: type[Story], seed: random.Random
) -> None:
    story = kind(charging)
    with mourning_nobody():
        places = (await die(story, None)).places
        assert sum("provider" in place for place in places) >= 2
        died = 0
        for at in chosen(places, charging.many(DEATHS), seed):
            print(f"killed at {at} of {len(places)}, {places[at]}")
            died += len((await die(story, at)).places) == at + 1
    assert died
