"""Domain events leave with the change that they tell of: handed over at least once, logged exactly
once, in order per thread, whoever dies on the way and however often those who take them fail."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from greenroom.conversations.model import Role
from greenroom.conversations.store import DomainEvent
from greenroom.events.collector import Collector
from greenroom.events.log import EventLog
from greenroom.kernel.errors import Unavailable
from greenroom.platform.bus.port import LocalBus
from greenroom.platform.dynamodb.client import Send

from .audit import differences, open_books
from .faults import WRITES, Answer, FaultRig, Meet, Process, dying_after
from .world import IS_FULL, Seed, say, start

SENDS = 60 if IS_FULL else 12

Person = Callable[[], str]


class ListenerError(Exception):
    """It is not there to take anything."""


class Listener:
    """Writes down what it has taken, and takes nothing now and then."""

    def __init__(self, seed: Seed, fails: float = 0) -> None:
        self.taken: dict[str, list[str]] = defaultdict(list)
        self._seed = seed
        self._fails = fails

    async def __call__(self, events: Sequence[DomainEvent]) -> None:
        if self._seed.random.random() < self._fails:
            raise ListenerError
        for event in events:
            self.taken[event.thread_id].append(f"{event.event} {event.message_id}")

    def first_times(self, thread_id: str) -> list[str]:
        return list(dict.fromkeys(self.taken[thread_id]))


async def hand_over(process: Process, listener: Listener, looks: int = 2) -> None:
    for _ in range(looks):
        with suppress(ListenerError):
            await process.store.hand_over(listener)
    await process.rest()


async def expected_of(process: Process, viewer: str, thread_id: str) -> list[str]:
    """The thread's beginning and its messages, where nothing else has happened."""
    page = await process.store.messages(viewer, thread_id, before=None, after=None, limit=1000)
    assert page is not None
    sent = [f"message.send {message.id}" for message in page.items]
    return ["thread.create None", *sent]


async def test_each_event_is_handed_over_in_order_while_sends_go_on(
    rig: FaultRig, person: Person, seed: Seed
) -> None:
    writers = [rig.process(keeps_records=True, is_orderly=False) for _ in range(2)]
    taker = rig.process(keeps_records=True, is_orderly=False)
    listener = Listener(seed, fails=0.1)
    people = [person() for _ in range(4)]
    threads = [(await start(writers[0].store, *people)).thread.id for _ in range(3)]

    async def write(process: Process, thread_id: str, author: str) -> None:
        for number in range(SENDS):
            await say(process.store, thread_id, author, str(number))

    jobs = [
        asyncio.create_task(write(seed.random.choice(writers), thread_id, author))
        for thread_id in threads
        for author in people[:2]
    ]
    while not all(job.done() for job in jobs):
        await hand_over(taker, listener, looks=1)
    await asyncio.gather(*jobs)
    while (books := await open_books(taker.table, people)).outbox:
        await hand_over(taker, listener)
    assert differences(books) == []
    for thread_id in threads:
        expected = await expected_of(taker, people[0], thread_id)
        assert listener.first_times(thread_id) == expected


async def test_whoever_dies_while_collecting_logs_everything_once(
    rig: FaultRig, person: Person
) -> None:
    """After any of the writes that it makes, one of which takes the records away."""
    bus = LocalBus()
    log = EventLog(rig.pool, bus)
    for survived in range(20):
        writer, taker = rig.process(keeps_records=True), rig.process(keeps_records=True)
        ada, ben = person(), person()
        thread_id = (await start(writer.store, ada, ben)).thread.id
        await writer.rest()
        # The last change is committed and nothing more: the taker has all of its work to do.
        writer.line.meet = dying_after(1)
        await say(writer.store, thread_id, ada, "last words")

        taker.line.meet = dying_after(survived)
        with suppress(Unavailable):
            await Collector(rig.pool, log, bus, clock=rig.clock, store=taker.store).drain()
        await taker.rest()
        heir = rig.process(keeps_records=True)
        await Collector(rig.pool, log, bus, clock=rig.clock, store=heir.store).drain()

        logged = await log.of_thread(thread_id, 0, 100)
        told = [f"{each.type} {each.message_id}" for each in logged]
        assert told == await expected_of(heir, ada, thread_id), survived
        assert [each.thread_number for each in logged] == [1, 2, 3], survived
        assert differences(await open_books(heir.table, [ada, ben])) == [], survived
        if taker.line.writes < survived:
            return
    raise AssertionError("collecting two records took more writes than were tried")


async def test_an_event_waits_for_the_one_before_it_in_its_thread(
    rig: FaultRig, person: Person, seed: Seed
) -> None:
    """Someone whom the first change concerns cannot be reached, and the second does not concern
    them. Another thread does not wait."""
    writer = rig.process(keeps_records=True)
    ada, ben, cleo = person(), person(), person()
    thread_id = (await start(writer.store, ada, ben, cleo)).thread.id
    other_id = (await start(writer.store, ada, ben)).thread.id
    listener = Listener(seed)
    await hand_over(writer, listener)
    before = listener.first_times(thread_id)

    dying = rig.process(keeps_records=True)
    dying.line.meet = dying_after(1)
    await dying.store.remove_participant(None, thread_id, cleo)
    last = await say(writer.store, thread_id, ada, "is she gone?")
    other = await say(writer.store, other_id, ada, "hello")

    taker = rig.process(keeps_records=True)
    taker.line.meet = unable_to_reach(cleo)
    await hand_over(taker, listener, looks=4)
    assert listener.first_times(thread_id) == before
    assert listener.first_times(other_id)[-1] == f"message.send {other.id}"
    taker.line.meet = None
    await hand_over(taker, listener)
    after = listener.first_times(thread_id)[len(before) :]
    types = [each.partition(" ")[0] for each in after]
    assert types == ["message.send", "participant.removed", "message.send"]
    assert after[-1] == f"message.send {last.id}"


async def test_an_event_that_was_overlooked_comes_before_those_after_it(
    rig: FaultRig, person: Person, seed: Seed
) -> None:
    """A look along the outbox can pass a place just before something is put there, and find what
    was put behind it later."""
    writer, taker = rig.process(keeps_records=True), rig.process(keeps_records=True)
    ada, ben = person(), person()
    thread_id = (await start(writer.store, ada, ben)).thread.id
    await say(writer.store, thread_id, ada, "second")
    await writer.rest()
    listener = Listener(seed)
    taker.line.meet = overlooking_the_first_of(thread_id)
    await hand_over(taker, listener, looks=1)
    taker.line.meet = None
    await hand_over(taker, listener, looks=3)
    assert listener.taken[thread_id] == await expected_of(writer, ada, thread_id)


async def test_a_record_that_waits_for_its_listener_is_settled_once(
    rig: FaultRig, person: Person, seed: Seed
) -> None:
    """With listeners away for long, looking after what lies there must not cost more and more."""
    writer, sweeper = rig.process(keeps_records=True), rig.process(keeps_records=True)
    ada, ben = person(), person()
    thread_id = (await start(writer.store, ada, ben)).thread.id
    dying = rig.process(keeps_records=True)
    dying.line.meet = dying_after(1)
    await say(dying.store, thread_id, ada, "half done")
    await writer.rest()
    await rig.settle(sweeper)
    books = await open_books(sweeper.table, [ada, ben])
    assert sum(thread_id in each for each in books.outbox) == 2
    books.outbox.clear()
    assert differences(books) == []
    before = sweeper.line.writes
    await rig.settle(sweeper)
    assert sweeper.line.writes == before
    listener = Listener(seed)
    await hand_over(sweeper, listener)
    assert listener.taken[thread_id] == await expected_of(writer, ada, thread_id)


async def test_what_is_being_added_is_told_with_the_one_it_concerns(
    rig: FaultRig, person: Person, seed: Seed
) -> None:
    """Events of changes other than messages come along in their places."""
    writer, listener = rig.process(keeps_records=True), Listener(seed)
    ada, ben, cleo = person(), person(), person()
    thread_id = (await start(writer.store, ada, ben)).thread.id
    message = await say(writer.store, thread_id, ada, "so")
    await writer.store.edit_message(ada, thread_id, message.id, "sew", None)
    await writer.store.add_participant(ada, thread_id, cleo, Role.HOST)
    await writer.store.mark_read(ben, thread_id, message.id)
    await writer.store.delete_message(ada, thread_id, message.id)
    await hand_over(writer, listener)
    kinds = [each.partition(" ")[0] for each in listener.taken[thread_id]]
    assert kinds == [
        *("thread.create", "message.send", "message.send", "message.edit"),
        *("message.send", "participant.added", "thread.read", "message.delete"),
    ]


def unable_to_reach(user: str) -> Meet:
    """Nothing that is theirs can be written."""

    async def meet(send: Send, action: str, body: bytes) -> Answer:
        if action in WRITES - {"DeleteItem"} and user.encode() in body:
            raise ConnectionResetError
        return await send(action, body)

    return meet


def overlooking_the_first_of(thread_id: str) -> Meet:
    async def meet(send: Send, action: str, body: bytes) -> Answer:
        status, answered = await send(action, body)
        if action != "Query" or b"OUTBOX" not in body:
            return status, answered
        answer = msgspec.json.decode(answered)
        of_thread = [each for each in answer["Items"] if thread_id in each["sk"]["S"]]
        answer["Items"].remove(of_thread[0])
        return status, msgspec.json.encode(answer)

    return meet
