"""Any history of `test_any_history`, by two processes whose database fails them now and then, or
shows them what was there a moment ago.

Each step is done by either process. What is answered with `Unavailable` is tried again, as clients
do; whatever a failure has left half done is settled before anybody looks. Then all that holds
without failures must hold as well.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import initialize, invariant, run_state_machine_as_test

from greenroom.conversations.dynamodb.items.keys import client_id_key
from greenroom.conversations.store import Send, Sent, Started
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound, Unavailable, UserNotFound
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.postgres.pool import new_pool

from .audit import differences, open_books
from .faults import Fault, FaultRig, Storm, conflicting, throttled, unanswered
from .lagging import Lagging, make_copies
from .test_any_history import History
from .world import IS_FULL, ROOMY, OpenStore, WildClock

PATIENCE = 30
LOOKS_EVERY = 4
SETTINGS = settings(
    max_examples=200 if IS_FULL else 2,
    stateful_step_count=60 if IS_FULL else 20,
    deadline=None,
    # Making a failed history shorter takes minutes: only where there are minutes.
    phases=list(Phase) if IS_FULL else [Phase.reuse, Phase.generate],
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


Weather = Storm | Lagging
MakeWeather = Callable[[WildClock, random.Random], Weather]


class Shaken:
    """A store's face before two processes in bad weather, and one that is spared."""

    def __init__(
        self, rig: FaultRig, wake: Callable[[Iterable[str]], None], make: MakeWeather
    ) -> None:
        self._site = rig
        self._calm = rig.process(wake=wake)
        self._pair = [rig.process(wake=wake) for _ in range(2)]
        self._choose = random.Random(0)
        self._weather = make(rig.clock, self._choose)
        for process in self._pair:
            process.line.meet = self._weather

    def shake(self, number: int) -> None:
        self._choose.seed(number)

    async def calm_down(self) -> None:
        self._weather.end()
        await self._settle()

    async def found_wrong(self, people: Sequence[str]) -> list[str]:
        return differences(await open_books(self._calm.table, people))

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **more: Any) -> Any:
            before = self._weather.hits
            try:
                return await self._try(name, args, more)
            finally:
                if self._weather.hits > before:
                    await self._settle()

        return call

    async def _try(self, name: str, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        for attempt in range(PATIENCE):
            process = self._choose.choice(self._pair)
            try:
                return await getattr(process.store, name)(*args, **more)
            except Unavailable:
                assert attempt < PATIENCE - 1, f"{name} never gets through"
        return None

    async def append(self, send: Send) -> Sent:
        """A repeat only to those who did not send it just now."""
        was_sent = await self._is_used(send.author_id, send.draft.client_id)
        sent: Sent = await self.__getattr__("append")(send)
        return replace(sent, is_repeat=was_sent)

    async def start_thread(self, draft: Any, first: Any, *more: Any) -> Started:
        was_sent = await self._is_used(draft.opened_by, first.client_id)
        started: Started = await self.__getattr__("start_thread")(draft, first, *more)
        return replace(started, is_new=not was_sent)

    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        """Who is out because of an attempt that was not answered has been removed."""
        was_there = await self._is_there(thread_id, user_id)
        try:
            await self.__getattr__("remove_participant")(by, thread_id, user_id)
        except (ThreadNotFound, UserNotFound):
            if not was_there or await self._is_there(thread_id, user_id):
                raise

    async def _is_used(self, author: str, client_id: str) -> bool:
        return await self._calm.table.get(client_id_key(author, client_id)) is not None

    async def _is_there(self, thread_id: str, user_id: str) -> bool:
        state = await self._calm.store._threads.read(thread_id)
        return state is not None and user_id in state.active()

    async def _settle(self) -> None:
        for process in self._pair:
            await process.rest()
        await self._site.settle(self._calm)


class ShakenHistory(History):
    store: Shaken
    steps: int = 0

    @initialize(number=st.integers(0, 2**32))
    def a_storm_begins(self, number: int) -> None:
        self.store.shake(number)

    def teardown(self) -> None:
        self.run(self.store.calm_down())
        assert self.run(self.store.found_wrong(self.people)) == []
        self.run(self.check_all())
        super().teardown()

    @invariant()
    def whoever_has_news_was_woken(self) -> None:
        """Or not: a wake-up is a hint, and the answer that would have led to it may be lost."""
        self.heads = self.run(self.store.heads(self.people))

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        """Their inboxes not after every step: most is to be learned from what comes later."""
        self.steps += 1
        if self.steps % LOOKS_EVERY == 0:
            super().everybody_sees_what_the_model_says()
        else:
            self.run(self.check_touched())

    async def check_touched(self) -> None:
        for thread_id in sorted(self.touched):
            await asyncio.gather(*(self.check_thread(each, thread_id) for each in self.people))


@pytest.fixture(scope="module")
async def copied_table(dynamodb_access: Access, dynamodb_table: str) -> str:
    await make_copies(dynamodb_access, dynamodb_table)
    return dynamodb_table


def shaken_by(make: MakeWeather, access: Access, table_name: str, ledger_url: str) -> OpenStore:
    @asynccontextmanager
    async def open_store(
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits = ROOMY,
        wake: Callable[[Iterable[str]], None] = lambda _: None,
    ) -> AsyncIterator[Any]:
        assert isinstance(clock, WildClock)
        pool = await new_pool(ledger_url, min_size=0, max_size=2, statement_timeout_ms=15_000)
        limits = replace(limits, outbox_shards=1)
        rig = FaultRig(access, table_name, pool, clock=clock, randomness=randomness, limits=limits)
        yield Shaken(rig, wake, make)
        await rig.close()
        await pool.close()

    return open_store


def run_history(open_store: OpenStore) -> None:
    loop = asyncio.new_event_loop()
    members = {"loop": loop, "open_store": staticmethod(open_store)}
    try:
        run_state_machine_as_test(type("Machine", (ShakenHistory,), members), settings=SETTINGS)
    finally:
        loop.close()


@pytest.mark.parametrize("fault", [throttled, conflicting, unanswered])
def test_any_history_by_processes_whose_database_fails_them(
    dynamodb_access: Access, dynamodb_table: str, database_url: str, fault: Fault
) -> None:
    def storm(_clock: WildClock, choose: random.Random) -> Storm:
        return Storm(fault, choose, often=0.02, most=15)

    run_history(shaken_by(storm, dynamodb_access, dynamodb_table, database_url))


def test_any_history_by_processes_whose_database_shows_them_the_past(
    dynamodb_access: Access, copied_table: str, database_url: str
) -> None:
    def lagging(clock: WildClock, choose: random.Random) -> Lagging:
        return Lagging(copied_table, clock, choose)

    run_history(shaken_by(lagging, dynamodb_access, copied_table, database_url))
