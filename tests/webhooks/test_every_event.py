"""Every event of the catalogue happens, and what is delivered of it is as the catalogue says."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg
import pytest

from greenroom.bookings.disputes import DisputeReport, DisputeState, LateEvent
from greenroom.bookings.model import LegState, Payment
from greenroom.bookings.sql import read_payment
from greenroom.bootstrap import Rooms
from greenroom.cards.catalogue.loading import load_catalogue
from greenroom.files.store import OperatorAct, Processed
from greenroom.webhooks.catalogue import EVENT_TYPES
from tests.cards.stage import SHA256, Stage
from tests.support.api import Api
from tests.support.clock import FakeClock
from tests.webhooks.logged import collect, types_of
from tests.webhooks.schemas import check, texts_in

SECRET = "Nobody but us reads this"
THREAD_EVENTS = {
    each for each in EVENT_TYPES if each.startswith(("thread.", "participant.", "message."))
}


@dataclass
class Run:
    """Drives the flows that make events."""

    stage: Stage
    api: Api

    async def threads(self) -> None:
        ann, bob, eve, fred = await self.api.people("ann", "bob", "eve", "fred")
        started = await ann.start(bob, body=SECRET, subject=SECRET)
        thread_id, first = started["thread"]["id"], started["message"]
        await ann.edit(await ann.send(thread_id, SECRET), f"{SECRET} now")
        await bob.read(thread_id, first["id"])
        await self.api.backend.add(thread_id, eve.id, "support")
        await self.api.backend.add(thread_id, fred.id, "host")
        await eve.leave(thread_id)
        await self.api.backend.delete(f"/v1/threads/{thread_id}/participants/{fred.id}")
        await ann.remove(first)
        await self.api.backend.patch(f"/v1/threads/{thread_id}", {"city": "vienna"})
        promote = f"/v1/threads/{thread_id}/promote"
        await self.api.backend.post(promote, {"leg_id": "leg_of_the_marketplace"})

    async def next_booking(self) -> None:
        stage = self.stage
        project = await stage.project(in_hours=48)
        await stage.bookings.cancel(project.group.group_id, by=None)
        await stage.run_payments()
        again = await stage.propose(
            project.buyer,
            stage.leg(project.seller, in_hours=96, title=SECRET),
            thread_id=project.thread_id,
        )
        await stage.bookings.confirm(again.group_id)
        await stage.run_payments()

    async def work(self) -> None:
        """A booking with its cards, to the payout."""
        stage = self.stage
        project = await stage.project(in_hours=24, deposit=500)
        times = {"start": stage.at(30), "end": stage.at(33)}
        payload = {"options": [times], "reason": SECRET}
        card = await stage.make(project.seller, project.thread_id, "reschedule", payload)
        await stage.act(project.buyer, card, "accept", option=0)
        items = [{"title": SECRET, "unit_cents": 700, "qty": 2}]
        card = await stage.make(project.seller, project.thread_id, "extras", {"items": items})
        await stage.act(project.buyer, card, "accept")
        await stage.run_payments()
        leg = await stage.leg_of(project)
        stage.clock.now_ms = leg.start_ms
        await stage.do(lambda tx: stage.bookings.run_timer(tx, leg.leg_id, "begin"))
        proofs = {"gallery": await stage.gallery(project, 2)}
        card = await stage.make(project.seller, project.thread_id, "proofs", proofs)
        await stage.act(project.buyer, card, "approve")
        payload = {"manifest_id": await stage.manifest(project)}
        card = await stage.make(project.seller, project.thread_id, "deliverable", payload)
        await stage.act(project.buyer, card, "approve")
        card = await stage.make(
            project.seller, project.thread_id, "complete", {"kind": "milestone"}
        )
        await stage.act(project.buyer, card, "accept")
        await stage.run_payments()
        assert (await stage.leg_of(project)).state is LegState.COMPLETED

    async def disputes(self) -> None:
        stage = self.stage
        project = await stage.project(begun=True)
        card = await stage.make(
            project.seller, project.thread_id, "complete", {"kind": "milestone"}
        )
        card = await stage.act(project.buyer, card, "accept")
        # The payout waits when the buyer changes their mind.
        await stage.act(project.buyer, card, "dispute", reason=SECRET)
        await stage.bookings.end_dispute(project.group.group_id)
        stage.bank.refuses = {"payout"}
        await stage.run_payments()
        stage.bank.refuses = set()

    async def bank(self) -> None:
        """What a payment provider tells: a buyer to be asked, disputes, money that came back."""
        stage, contract = self.stage, self.stage.rooms.contract
        project = await stage.project()
        [paid] = await self._payments(project.group.group_id)
        await stage.pool.execute(
            "update payment set provider_id = 'pi_1' where payment_id = $1", paid.payment_id
        )
        endings: tuple[DisputeState, ...] = ("won", "lost")
        for ending in endings:
            report = DisputeReport(f"dp_{ending}", "pi_1", "fraudulent", 100, "EUR", ending)
            assert await contract.disputes.take(report)
        late: tuple[LateEvent, ...] = ("refund.returned", "payout.reversed", "deposit.expired")
        for event in late:
            await contract.disputes.note_late(paid, event)
        asked = await stage.propose(project.buyer, stage.leg(project.seller, in_hours=300))
        await stage.bookings.confirm(asked.group_id)
        [waiting] = await self._payments(asked.group_id)
        assert await contract.settling.wait_for_payer(waiting.payment_id)
        await stage.run_payments()

    async def _payments(self, group_id: str) -> list[Payment]:
        rows = await self.stage.pool.fetch("select * from payment where group_id = $1", group_id)
        return [read_payment(row) for row in rows]

    async def failures(self) -> None:
        stage = self.stage
        stage.bank.refuses = {"charge"}
        await stage.project()
        stage.bank.refuses = set()
        project = await stage.project()
        stage.bank.refuses = {"refund"}
        await stage.bookings.cancel(project.group.group_id, by=None)
        await stage.run_payments()
        stage.bank.refuses = set()

    async def documents(self) -> None:
        stage = self.stage
        project = await stage.project()
        people = [project.buyer, project.seller]
        for ending in ("sign", "decline", "expire"):
            payload = {"document_id": await stage.document(project, people)}
            card = await stage.make(project.seller, project.thread_id, "sign", payload)
            if ending == "sign":
                card = await stage.act(project.buyer, card, "sign", sha256=SHA256)
                await stage.act(project.seller, card, "sign", sha256=SHA256)
            elif ending == "decline":
                await stage.act(project.buyer, card, "decline")
            else:
                await stage.run_timer(card, "expire")

    async def files(self) -> None:
        stage, store = self.stage, self.stage.rooms.files.store
        project = await stage.project()
        ready, infected, damaged = [await stage.file(project) for _ in range(3)]
        await store.finish(ready, Processed("ready", None, "image"), [])
        await store.finish(infected, Processed("quarantined", "virus", "image"), [])
        await store.finish(damaged, Processed("refused", "damaged", "image"), [])
        await store.expire(ready)
        await store.operate(infected, OperatorAct("operator", "admin", "delete", SECRET))


@pytest.fixture
async def run(rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, api: Api) -> Run:
    return Run(Stage(rooms, pool, clock, load_catalogue()), api)


async def check_deliveries(rooms: Rooms) -> set[str]:
    """Validate every event of the log, and return their types."""
    events = await collect(rooms)
    without = await rooms.event_data.fill(events, include_content=False)
    for event, data in zip(events, without, strict=True):
        check(event, data)
        assert not {text for text in texts_in(data) if SECRET in text}, event.type
    whole = await rooms.event_data.fill(events, include_content=True)
    for event, data in zip(events, whole, strict=True):
        check(event, data)
    assert any(SECRET in text for data in whole for text in texts_in(data))
    return set(types_of(events))


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_every_event_happens_and_is_as_the_catalogue_says(run: Run, rooms: Rooms) -> None:
    await run.threads()
    await run.next_booking()
    await run.work()
    await run.disputes()
    await run.bank()
    await run.failures()
    await run.documents()
    await run.files()
    assert await check_deliveries(rooms) == EVENT_TYPES


@pytest.mark.parametrize("conversations", ["dynamodb"], indirect=True)
async def test_events_of_threads_in_dynamodb_are_the_same(run: Run, rooms: Rooms) -> None:
    await run.threads()
    await run.next_booking()
    assert await check_deliveries(rooms) >= THREAD_EVENTS
