"""A database that throttles, conflicts, or takes a write and does not say so: what was asked for
happens once, or is answered with `Unavailable` and can be asked for again."""

import random
from collections.abc import Callable

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.client import Send

from .audit import differences, open_books
from .faults import WRITES, Answer, Fault, FaultRig, Meet, conflicting, throttled, unanswered
from .scenes import OPERATIONS, Operation, Scene, undisturbed
from .world import IS_FULL, Seed, send_of, start, whole_thread

Person = Callable[[], str]

FAULTS: tuple[Fault, ...] = (throttled, conflicting, unanswered)


def at_write(number: int, fault: Fault, choose: random.Random) -> Meet:
    """Only this write, and only once, meets the fault."""
    writes = 0

    async def meet(send: Send, action: str, body: bytes) -> Answer:
        nonlocal writes
        writes += action in WRITES
        if action in WRITES and writes == number:
            return await fault(send, action, body, choose)
        return await send(action, body)

    return meet


def always(fault: Fault, actions: frozenset[str], choose: random.Random) -> Meet:
    async def meet(send: Send, action: str, body: bytes) -> Answer:
        if action in actions:
            return await fault(send, action, body, choose)
        return await send(action, body)

    return meet


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_one_fault_anywhere_changes_nothing(
    rig: FaultRig, seed: Seed, operation: Operation
) -> None:
    """All faults at every write in the full run, else one of them at every other."""
    helper = rig.process()
    writes, expected = await undisturbed(rig, helper, operation)
    scene = await Scene.new(rig, helper)
    every = range(1, writes + 1)
    for number in every if IS_FULL else every[seed.random.randrange(2) :: 2]:
        for fault in FAULTS if IS_FULL else (seed.random.choice(FAULTS),):
            if operation.is_only_once:
                scene = await Scene.new(rig, helper)
            await scene.set(operation)
            process = rig.process()
            process.line.meet = at_write(number, fault, seed.random)
            await operation.do(process.store, scene)
            await process.rest()
            books = await scene.books()
            what = f"{operation.name}: write {number} of {writes} was {fault.__name__}"
            assert differences(books) == [], what
            assert scene.told(books) == expected, what


COMMIT = frozenset({"TransactWriteItems"})
ANY = WRITES | {"GetItem", "BatchGetItem", "Query"}


@pytest.mark.parametrize(
    ("fault", "actions"),
    [
        (throttled, ANY),
        (throttled, WRITES),
        (conflicting, COMMIT),
        (unanswered, ANY),
        (unanswered, COMMIT),
    ],
)
async def test_a_send_that_never_gets_through_is_unavailable_and_can_be_repeated(
    rig: FaultRig, seed: Seed, person: Person, fault: Fault, actions: frozenset[str]
) -> None:
    helper, process = rig.process(), rig.process()
    ada, ben = person(), person()
    thread_id = (await start(helper.store, ada, ben)).thread.id
    send = send_of(thread_id, ada, "once")
    process.line.meet = always(fault, actions, seed.random)
    with pytest.raises(Unavailable) as raised:
        await process.store.append(send)
    assert raised.value.status == 503
    assert raised.value.retry_after_s is not None
    assert raised.value.retry_after_s > 0
    process.line.meet = None

    sent = await process.store.append(send)

    await process.rest()
    await rig.settle(helper)
    found = await whole_thread(helper.store, ben, thread_id)
    assert [message.body for message in found] == ["first", "once"]
    assert sent.message == found[-1]
    books = await open_books(helper.table, [ada, ben])
    assert differences(books) == []
    for user in (ada, ben):
        told = [item["m"] for item in books.feeds[user] if item["t"] == "message.new"]
        assert told == [message.id for message in found]


async def test_a_send_that_is_committed_is_answered_though_feeds_wait(
    rig: FaultRig, seed: Seed, person: Person
) -> None:
    """Nothing but the commit gets through: it has happened, and everybody will have it."""
    helper, process = rig.process(), rig.process()
    ada, ben = person(), person()
    thread_id = (await start(helper.store, ada, ben)).thread.id
    process.line.meet = always(throttled, WRITES - COMMIT, seed.random)

    sent = await process.store.append(send_of(thread_id, ada, "late"))

    await process.rest()
    assert [message.id for message in await whole_thread(helper.store, ben, thread_id)][-1:] == [
        sent.message.id
    ]
    await rig.settle(helper)
    books = await open_books(helper.table, [ada, ben])
    assert differences(books) == []
    assert books.feeds[ben][-1]["m"] == sent.message.id
