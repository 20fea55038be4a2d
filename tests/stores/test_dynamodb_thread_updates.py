"""What the contract posts shows in a conversation on DynamoDB once, whoever dies on the way, and
whichever of the two databases is away meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import asyncpg
import pytest

from greenroom.conversations.dynamodb.changes.thread_updates import DynamoThreadUpdates
from greenroom.conversations.dynamodb.items.keys import card_key, card_pointer_key
from greenroom.conversations.thread_updates import (
    AppliedUpdate,
    Notice,
    Promotion,
    Standing,
    ThreadUpdate,
)
from greenroom.platform.dynamodb.credentials import Access

from .deaths import (
    AFTER_CHANGE,
    AFTER_DONE,
    BEFORE_CHANGE,
    BEFORE_DONE,
    FaultRig,
    Process,
    lose_connection,
    open_site,
)
from .updating import Ledger, cards_in, row_of, shadow
from .world import Seed, say, whole_thread

Person = Callable[[], str]

ON_THE_WAY = (BEFORE_CHANGE, AFTER_CHANGE, BEFORE_DONE, AFTER_DONE)


@pytest.fixture
async def rig(
    dynamodb_access: Access, dynamodb_table: str, pool: asyncpg.Pool, seed: Seed
) -> AsyncIterator[FaultRig]:
    async with open_site(dynamodb_access, dynamodb_table, pool, seed) as opened:
        yield opened


@pytest.fixture
async def process(rig: FaultRig) -> Process:
    return await rig.process()


def ledger_at(process: Process, pool: asyncpg.Pool) -> Ledger:
    store = process.store
    return Ledger(pool, DynamoThreadUpdates(store.parts[0], store.decisions, process.ledger))


def everything(thread_id: str, ada: str, ben: str) -> ThreadUpdate:
    return ThreadUpdate(
        thread_id,
        ada,
        promotes=Promotion("lbg_1", None),
        new_card=shadow(ada, lat=52.5),
        notices=(Notice("booking.confirmed"),),
        standing=Standing("confirmed", 1, frozenset({ben})),
    )


async def check_shown_once(
    rig: FaultRig, process: Process, thread_id: str, people: tuple[str, ...]
) -> None:
    for viewer in people:
        found = await whole_thread(process.store, viewer, thread_id)
        said = [each.system["code"] if each.system else each.kind for each in found]
        assert said == ["text", "thread.promoted", "card", "booking.confirmed"]
        assert await rig.told(process, viewer) == ["thread.changed", *["message.new"] * 3]
        row = await row_of(process.store, viewer, thread_id)
        assert (row.stage, row.open_cards) == ("confirmed", 1)
        assert row.needs_action == (viewer == people[1])
    assert await process.ledger.pending_in(thread_id, 9) == []


async def kept_of(pool: asyncpg.Pool, applied: AppliedUpdate) -> str:
    data: str = await pool.fetchval("select data from decision where id = $1", applied.decision_id)
    return data


@pytest.mark.parametrize("death", ["crashes", "is_cancelled"])
@pytest.mark.parametrize("place", ON_THE_WAY)
async def test_what_was_posted_shows_once(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person, place: str, death: str
) -> None:
    ada, ben = person(), person()
    thread_id = await rig.thread(process, ada, ben)
    ledger = ledger_at(process, pool)
    applied = await ledger.post(everything(thread_id, ada, ben), shows=False)
    await getattr(process, death)(place, _show(ledger, applied))

    other = await rig.later()
    await other.store.settle()
    await check_shown_once(rig, other, thread_id, (ada, ben))
    # Whoever comes late with the same changes nothing.
    late = ledger_at(other, pool)
    await late.thread_updates.show([applied])
    assert applied.message is not None
    assert applied.message.kind == "card"
    await other.store.settle()
    await check_shown_once(rig, other, thread_id, (ada, ben))


async def _show(ledger: Ledger, applied: AppliedUpdate) -> None:
    await ledger.thread_updates.show([applied])


async def test_an_outage_after_the_commit_is_mended_once(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = await rig.thread(process, ada, ben)
    process.way.at(BEFORE_CHANGE, lose_connection)
    applied = await ledger_at(process, pool).post(everything(thread_id, ada, ben))
    assert applied.message is None
    assert await cards_in(process.store, ben, thread_id) == []
    assert "52.5" in await kept_of(pool, applied)
    other = await rig.later()
    await other.store.settle()
    await check_shown_once(rig, other, thread_id, (ada, ben))
    await other.store.settle()
    await check_shown_once(rig, other, thread_id, (ada, ben))
    # The ledger does not keep what people shared for a while.
    assert await kept_of(pool, applied) == "{}"


async def test_a_decision_carried_out_twice_changes_nothing(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = await rig.thread(process, ada, ben)
    ledger = ledger_at(process, pool)
    await ledger.post(everything(thread_id, ada, ben), shows=False)
    others = [await rig.process() for _ in range(3)]
    await asyncio.gather(*(each.store.decisions.apply_pending(thread_id) for each in others))
    await check_shown_once(rig, process, thread_id, (ada, ben))


async def test_later_postings_wait_for_earlier_ones(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = await rig.thread(process, ada, ben)
    ledger, card = ledger_at(process, pool), shadow(ada)
    await ledger.post(ThreadUpdate(thread_id, ada, new_card=card), shows=False)
    changed = shadow(ada, state="declined", version=2, card_id=card.card_id)
    await ledger.post(ThreadUpdate(thread_id, ben, changed_card=changed))
    assert await rig.told(process, ada) == ["message.new", "card.changed"]
    [message] = await cards_in(process.store, ada, thread_id)
    assert message.card == changed.card


async def test_deeds_in_one_thread_see_what_the_one_before_decided(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person
) -> None:
    """Without a row of the thread in this database, a lock of its own keeps them in order."""
    ada, ben = person(), person()
    thread_id = await rig.thread(process, ada, ben)
    ledger = ledger_at(process, pool)

    async def tx() -> None:
        async with pool.acquire() as conn, conn.transaction():
            await ledger.thread_updates.access(conn, thread_id, ada)
            decided = await conn.fetchval(
                "select count(*) from decision where thread_id = $1", thread_id
            )
            await ledger.thread_updates.apply(
                conn,
                ThreadUpdate(
                    thread_id, ada, new_card=shadow(ada), standing=Standing(None, decided + 1)
                ),
            )

    await asyncio.gather(*(tx() for _ in range(6)))
    await process.store.decisions.apply_pending(thread_id)
    assert (await row_of(process.store, ben, thread_id)).open_cards == 6
    assert len(await cards_in(process.store, ben, thread_id)) == 6


async def test_a_card_whose_author_left_meanwhile_comes_all_the_same(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben, cleo = person(), person(), person()
    thread_id = await rig.thread(process, ada, ben, cleo)
    update = ThreadUpdate(thread_id, cleo, new_card=shadow(cleo))
    applied = await ledger_at(process, pool).post(update, shows=False)
    await process.store.remove_participant(None, thread_id, cleo)
    await ledger_at(process, pool).thread_updates.show([applied])
    [message] = await cards_in(process.store, ben, thread_id)
    assert message.author_id == cleo
    assert await process.store.thread(cleo, thread_id) is None


async def test_a_card_has_one_shadow_and_one_place(
    rig: FaultRig, process: Process, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = await rig.thread(process, ada, ben)
    ledger, card = ledger_at(process, pool), shadow(ada, lat=52.520008)
    applied = await ledger.post(ThreadUpdate(thread_id, ada, new_card=card))
    assert applied.message is not None
    await say(process.store, thread_id, ben, "on my way")
    changed = replace(card, card={**card.card, "state": "ended", "payload": {}})
    await ledger.post(ThreadUpdate(thread_id, ada, changed_card=changed))
    table, message_id = process.store.parts[0].table, applied.message.id
    place = await table.get(card_pointer_key(card.card_id))
    assert place is not None
    assert (place["th"], place["m"]) == (thread_id, message_id)
    item = await table.get(card_key(thread_id, message_id))
    assert item is not None
    assert b"52.5" not in item["card"]
