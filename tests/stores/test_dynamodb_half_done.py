"""A process that dies after any of the writes of any operation: what it began has happened wholly
or not at all, for everybody, as soon as somebody comes by; and a repeat makes it happen once.

Each operation is first done undisturbed, to count its writes and to learn what it tells whom. Then
it is done by a process that dies after none of them, by one that dies after the first, and so on.
"""

import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from greenroom.conversations.dynamodb.changes.sweeper import RECORDS_AT_ONCE
from greenroom.conversations.dynamodb.items.keys import outbox_key
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.client import Send
from greenroom.platform.dynamodb.table import Delete, Put

from .audit import differences, open_books
from .faults import Answer, FaultRig, dying_after
from .scenes import (
    NAMES,
    OPERATIONS,
    TELLING,
    Operation,
    Scene,
    Told,
    block,
    unblock,
    undisturbed,
)
from .world import IS_FULL, Seed, say, start

# Who comes by after a death.

Visit = Callable[[Scene], Awaitable[str | None]]


async def somebody_settles(scene: Scene) -> None:
    await scene.rig.settle(scene.helper)


async def everybody_looks(scene: Scene) -> None:
    for user in scene.people:
        await scene.helper.store.thread(user, scene.thread_id)


async def somebody_writes(scene: Scene) -> str:
    return (await say(scene.helper.store, scene.thread_id, scene.people[1], "meanwhile")).id


async def nobody_comes(_scene: Scene) -> None:
    """Until the operation is repeated."""


VISITS: tuple[Visit, ...] = (somebody_settles, everybody_looks, somebody_writes, nobody_comes)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_what_a_dead_process_began_happens_wholly_or_not_at_all(
    rig: FaultRig, seed: Seed, operation: Operation
) -> None:
    """Everyone comes by after every death in the full run, else each in turn."""
    helper = rig.process()
    writes, expected = await undisturbed(rig, helper, operation)
    assert writes > 0
    turns = itertools.cycle(seed.random.sample(VISITS, len(VISITS)))
    scene = await Scene.new(rig, helper)
    for survived in range(writes + 1):
        for visit in VISITS if IS_FULL else (next(turns),):
            if operation.is_only_once:
                scene = await Scene.new(rig, helper)
            await scene.set(operation, seed.random.choice(scene.people))
            problems = await dies_and_is_visited(scene, operation, survived, visit, expected)
            assert problems == [], (
                f"{operation.name}: the process died after {survived} of {writes} writes, then "
                f"{visit.__name__}"
            )


async def dies_and_is_visited(
    scene: Scene, operation: Operation, survived: int, visit: Visit, expected: Told
) -> list[str]:
    await die(scene, operation, survived)
    passing = await visit(scene)
    problems = []
    if visit is somebody_settles:
        books = await scene.books()
        problems += differences(books)
        problems += half_told(scene.told(books), expected, NAMES)
    elif visit is not nobody_comes and operation.is_in_thread:
        books = await scene.books()
        state = books.threads[scene.thread_id]
        named = zip(NAMES, scene.people, strict=True)
        viewers = tuple(name for name, user in named if state.sees(user))
        problems += half_told(scene.told(books, passing), expected, viewers)
    await operation.do(scene.helper.store, scene)
    await scene.rig.settle(scene.helper)
    return problems + await found_undone(scene, expected, passing)


async def die(scene: Scene, operation: Operation, survived: int) -> None:
    process = scene.rig.process()
    process.line.meet = dying_after(survived)
    with suppress(Unavailable):
        await operation.do(process.store, scene)
    await process.rest()


def half_told(told: Told, expected: Told, people: tuple[str, ...]) -> list[str]:
    """Of those who must know by now whether it has happened."""
    is_whole = all(told[name] == expected[name] for name in people)
    is_nothing = not any(told[name] for name in people)
    return [] if is_whole or is_nothing else [f"some were told, some not: {told} of {expected}"]


async def found_undone(scene: Scene, expected: Told, passing: str | None) -> list[str]:
    """After the repeat everything has happened once, and a client that follows has seen it."""
    books = await scene.books()
    problems = differences(books)
    told = scene.told(books, passing)
    if told != expected:
        problems.append(f"feeds tell {told} and not {expected}")
    assert scene.watching is not None
    user, watching = scene.watching
    fresh, stale = scene.client(user), watching.copy(scene.views(user))
    await fresh.load()
    await stale.follow()
    if (fresh.shown(), fresh.cursor) != (stale.shown(), stale.cursor):
        problems.append(f"{user} follows to {stale.shown()} and loads {fresh.shown()}")
    return problems


@pytest.mark.parametrize("operation", TELLING, ids=lambda operation: operation.name)
async def test_what_a_dead_process_began_to_tell_is_told_at_least_once(
    rig: FaultRig, operation: Operation
) -> None:
    helper = rig.process()
    writes, expected = await undisturbed(rig, helper, operation)
    scene = await Scene.new(rig, helper)
    for survived in range(writes + 1):
        await scene.set(operation)
        await die(scene, operation, survived)
        await operation.do(helper.store, scene)
        await rig.settle(helper)
        books = await scene.books()
        assert differences(books) == []
        told = scene.told(books)
        for name, events in expected.items():
            assert told[name] in (events, events * 2), f"died after {survived} of {writes} writes"


async def test_a_block_that_is_lifted_meanwhile_leaves_its_note(rig: FaultRig) -> None:
    """The one who blocked is done with the threads and about to take the note away; the one who
    unblocks dies before looking at any of them."""
    helper = rig.process()
    scene = await Scene.new(rig, helper)
    blocking, unblocking = rig.process(), rig.process()
    unblocking.line.meet = dying_after(1)

    async def meet(send: Send, action: str, body: bytes) -> Answer:
        if action == "DeleteItem":
            with suppress(Unavailable):
                await unblock(unblocking.store, scene)
        return await send(action, body)

    blocking.line.meet = meet
    await block(blocking.store, scene)
    await rig.settle(helper)
    books = await scene.books()
    assert books.blocks == set()
    assert differences(books) == []


async def test_what_cannot_be_settled_keeps_nothing_else_up(
    rig: FaultRig, person: Callable[[], str]
) -> None:
    """More of it than one look takes in, before that which can."""
    helper, dying = rig.process(), rig.process()
    ada, ben = person(), person()
    thread_id = (await start(helper.store, ada, ben)).thread.id
    broken = [outbox_key(f"thr_!{n:05}", 1, shards=1) for n in range(RECORDS_AT_ONCE + 1)]
    await helper.table.write_many(
        [Put({"pk": pk, "sk": sk, "at": 0, "record": b"?"}) for pk, sk in broken]
    )
    dying.line.meet = dying_after(1)
    await say(dying.store, thread_id, ada, "half done")
    for _ in range(2):
        await rig.settle(helper)
    await helper.table.write_many([Delete(key) for key in broken])
    assert differences(await open_books(helper.table, [ada, ben])) == []
