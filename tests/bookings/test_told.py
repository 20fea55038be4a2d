"""Whoever has a booking open hears of every change of it, also of money that no card moves."""

from greenroom.bookings.model import Group

from .stage import Stage

FEED = "select type from feed where user_id = $1 and thread_id = $2 order by n"


async def _feed(stage: Stage, group: Group) -> list[str]:
    rows = await stage.pool.fetch(FEED, group.buyer, group.thread_id)
    return [row["type"] for row in rows]


async def test_a_charge_that_is_on_its_way_and_its_outcome_are_told(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, deposit=1_000))
    before = len(await _feed(stage, group))
    await stage.bookings.confirm(group.group_id)
    assert (await _feed(stage, group))[before:] == ["thread.changed"]
    await stage.run_payments()
    assert "message.new" in (await _feed(stage, group))[before + 1 :]


async def test_refunds_releases_and_payouts_are_told_when_they_are_settled(stage: Stage) -> None:
    group, _ = await stage.confirmed(deposit=1_000)
    await stage.bookings.cancel(group.group_id, "seller")
    before = len(await _feed(stage, group))
    await stage.run_payments()
    news = (await _feed(stage, group))[before:]
    assert news == ["thread.changed"] * len(stage.bank.did("refund") + stage.bank.did("release"))
    assert len(news) == 2


async def test_a_booking_that_begins_is_told(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    before = len(await _feed(stage, group))
    stage.clock.advance(days=30)
    await stage.begin(leg)
    assert (await _feed(stage, group))[before:] == ["thread.changed"]
