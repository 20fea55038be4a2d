"""Loads on DynamoDB: what they leave behind item by item, and what becomes of those cut short."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.items.keys import client_id_key
from greenroom.conversations.dynamodb.items.rows import Row
from greenroom.conversations.model import Draft, Role, ThreadDraft, ThreadKind
from greenroom.conversations.store import ConversationStore, Send
from greenroom.demo import cues as cues_module
from greenroom.demo.bulk import load_bulk
from greenroom.demo.bulk_dynamodb import Writing, people_items, survey_of, thread_items
from greenroom.demo.crowd import Body, Bulk, Crowd, Talk, client_id
from greenroom.demo.cues import Cue, said_cues
from greenroom.demo.loading_dynamodb import DynamoLoading
from greenroom.demo.sample import load_sample
from greenroom.demo.script import latest_day, scenes
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Check, Delete, Put, Table, Update
from greenroom.platform.dynamodb.values import Item
from tests.support import REPOSITORY

from .places import (
    DAY_MS,
    HOUR_MS,
    NOW_MS,
    NewPlace,
    Place,
    all_items,
    clock,
    without_chance,
)

PATIENCE_S = 120

# All kinds of steps are in these.
FEW_SCENES = ("beauty-test", "studio-day", "test-shoot")
LOAD = """
import asyncio, os
from greenroom.demo import cues, script
from greenroom.demo.sample import load_sample
from greenroom.settings import load_settings
cues.scenes = lambda: [scene for scene in script.scenes() if scene.key in {few}]
asyncio.run(load_sample(load_settings(), os.environ["GREENROOM_DATABASE_URL"], clock=lambda: {now}))
"""

BROKEN = Bulk(6, 420, 210)

# What stays of a change that is not the change itself: limits, and marks of what was decided.
PASSING = ("RATE#", "DEC#", "META")


class Stage:
    """Plays a crowd through the store itself, at its own times and with its own ids."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        self._bodies = bodies
        self.now_ms = 0
        self.chance = ""

    async def play(self, store: ConversationStore, talks: Sequence[Talk]) -> None:
        moments = [moment for talk in talks for moment in _moments(talk)]
        for at_ms, _, talk, at, reader in sorted(moments, key=lambda each: each[:2]):
            self.now_ms = at_ms
            if reader is not None:
                await store.mark_read(reader, talk.thread_id, talk.ids[at])
                continue
            self.chance = talk.ids[at][16:]
            await self._say(store, talk, at)

    async def _say(self, store: ConversationStore, talk: Talk, at: int) -> None:
        sender = talk.senders[at]
        if sender is None:
            await store.promote(talk.thread_id, group_id=None, leg_id=talk.leg_id)
            return
        body = self._bodies[talk.bodies[at]]
        sent = talk.sent_before + 1 + at - (0 <= talk.promoted_at < at)
        draft = Draft(client_id(sent), body.text, body.html)
        if at:
            await store.append(Send(talk.thread_id, sender, draft, cost_ms=0))
            return
        thread = ThreadDraft(
            talk.thread_id,
            ThreadKind.INQUIRY if talk.promoted_at > 0 else talk.kind,
            talk.buyer,
            {talk.buyer: Role.BUYER, talk.seller: Role.SELLER},
            talk.subject,
            talk.trade,
        )
        await store.start_thread(thread, draft, ())


def _moments(talk: Talk) -> Iterator[tuple[int, int, Talk, int, str | None]]:
    """When, what comes first of what comes at once, and who reads if nobody writes."""
    for at, at_ms in enumerate(talk.times):
        yield at_ms, 1, talk, at, None
    for reading in talk.readings:
        if reading.read_ms is not None:
            yield reading.read_ms, 2, talk, reading.read_at, reading.user_id


def talks_of(crowd: Crowd) -> list[Talk]:
    """Without cities, which no verb of the product sets."""
    deque(crowd.people(), maxlen=0)
    talks = list(crowd.talks())
    for talk in talks:
        talk.city = ""
    return talks


async def test_a_crowd_leaves_behind_what_its_own_sends_would_have(new_place: NewPlace) -> None:
    bulk = Bulk(5, 160, 8)
    crowd = Crowd(bulk, NOW_MS)
    talks = talks_of(crowd)
    assert all(talk.promoted_at > 0 for talk in talks if talk.kind == ThreadKind.PROJECT)
    assert any(talk.promoted_at > 0 for talk in talks)
    place, stage = await new_place("dynamodb"), Stage(crowd.bodies)
    async with Rooms(
        place.settings, place.url, clock=lambda: stage.now_ms, randomness=lambda: stage.chance
    ) as rooms:
        await stage.play(rooms.store, talks)
        await rooms.collector.drain()
    async with place.table() as table:
        found = _comparable((await all_items(table)).values())
    survey = survey_of(Crowd(bulk, NOW_MS))
    items = [item for talk in talks for item in thread_items(talk, crowd.bodies, survey)]
    other = await new_place("dynamodb")
    async with other.table() as table:
        writing = Writing(table, is_aws=True)
        for item in (*items, *people_items(survey)):
            await writing.add(item)
        await writing.flush()
        written = _comparable((await all_items(table)).values())
    assert set(written) == set(found)
    for key, item in written.items():
        assert _with_known_numbers(item, survey.numbers) == _with_known_numbers(
            found[key], survey.numbers
        )


def _comparable(items: Iterable[Item]) -> dict[tuple[str, str], Item]:
    """Without what passes, and without what a feed forgets."""
    feed_from_ms = NOW_MS - NOW_MS % HOUR_MS - 7 * DAY_MS
    return {
        (item["pk"], item["sk"]): {name: item[name] for name in item if name != "tats"}
        for item in items
        if not item["pk"].startswith(PASSING)
        and not (item["sk"].startswith("E#") and item["at"] < feed_from_ms)
    }


def _with_known_numbers(item: Item, numbers: dict[tuple[str, str], int]) -> Item:
    """What a feed has forgotten has no number that could be compared."""
    row = item.get("row")
    if not isinstance(row, Row) or (row.user_id, row.thread_id) in numbers:
        return item
    return {**item, "n": 0, "row": (row.ver, row.packed)}


class Dying(Table):
    """A table that answers no more after a number of writes."""

    writes_left = 0

    async def write_many(self, ops: Sequence[Put | Delete]) -> None:
        self._live()
        await super().write_many(ops)

    async def transact(
        self, ops: Sequence[Put | Update | Delete | Check], *, token: str | None = None
    ) -> None:
        self._live()
        await super().transact(ops, token=token)

    def _live(self) -> None:
        self.writes_left -= 1
        if self.writes_left < 0:
            raise Unavailable


@pytest.fixture(scope="module")
async def whole_crowd(new_place: NewPlace) -> dict[str, Any]:
    place = await new_place("dynamodb")
    assert await load_bulk(place.settings, place.url, BROKEN, clock=clock)
    return await place.contents()


@pytest.mark.parametrize(
    ("is_aws", "writes"),
    [(False, 0), (False, 7), (False, 20), (True, 0), (True, 80)],
    ids=["at once", "early", "late", "at once on AWS", "late on AWS"],
)
async def test_a_crowd_that_was_cut_short_is_finished_as_it_was_begun(
    new_place: NewPlace, whole_crowd: dict[str, Any], is_aws: bool, writes: int
) -> None:
    place = await new_place("dynamodb")
    async with place.client() as client, place.accounts() as conn:
        table = Dying(client, place.settings.dynamodb_table, Meter())
        table.writes_left = writes
        with pytest.raises(Unavailable):
            await DynamoLoading(conn, table, is_aws=is_aws).load_bulk(BROKEN, NOW_MS)
    assert await place.contents() != whole_crowd

    def later() -> int:
        return NOW_MS + DAY_MS

    assert await load_bulk(place.settings, place.url, Bulk(BROKEN.seed, 4, 2), clock=later)
    assert await place.contents() == whole_crowd
    assert not await load_bulk(place.settings, place.url, BROKEN, clock=later)


@pytest.fixture
def few_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [scene for scene in scenes() if scene.key in FEW_SCENES]
    monkeypatch.setattr(cues_module, "scenes", lambda: few)


@pytest.mark.usefixtures("few_scenes")
async def test_a_load_that_was_killed_is_finished_and_nothing_is_there_twice(
    new_place: NewPlace,
) -> None:
    seed = random.randrange(1 << 32)
    print(f"replay with seed {seed}")
    whole, place = await new_place("dynamodb"), await new_place("dynamodb")
    assert await load_sample(whole.settings, whole.url, clock=clock)
    expected = without_chance(await whole.contents())
    # Not of the last ones: it must not be done before it is killed.
    said = random.Random(seed).sample(said_cues(1, latest_day(NOW_MS))[:-10], 2)
    first, second = sorted(said, key=lambda cue: cue.at_ms)
    await _load_until(place, first, NOW_MS)
    # A day later; but what was begun goes on at its own times.
    await _load_until(place, second, NOW_MS + DAY_MS)
    assert without_chance(await place.contents()) != expected
    assert await load_sample(place.settings, place.url, seed=9, clock=clock)
    assert without_chance(await place.contents()) == expected


async def _load_until(place: Place, cue: Cue, now_ms: int) -> None:
    """Load in a process of its own, and kill that as soon as this has been said."""
    settings = place.settings
    process = subprocess.Popen(  # noqa: ASYNC220 (nothing else runs here)
        [sys.executable, "-c", LOAD.format(now=now_ms, few=FEW_SCENES)],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "GREENROOM_HOME": str(settings.home),
            "GREENROOM_DATABASE_URL": place.url,
            "GREENROOM_CONVERSATIONS": settings.conversations,
            "GREENROOM_DYNAMODB_ENDPOINT": settings.dynamodb_endpoint or "",
            "GREENROOM_DYNAMODB_TABLE": settings.dynamodb_table,
        },
        stderr=subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_S), place.table() as table:
            while await table.get(client_id_key(cue.step.who or "", cue.client_id)) is None:
                assert process.poll() is None, process.communicate()[1].decode()
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
