"""Loads the sample: the scenes are played through the product's own verbs, in the order of time.

Played, not written into tables: whatever a send or a read leaves behind, it leaves behind here too.
"""

import heapq
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from urllib.parse import urlencode, urlsplit

from greenroom.bootstrap import Rooms
from greenroom.conversations.model import Message, Role, ThreadKind
from greenroom.conversations.store import InboxChanges
from greenroom.demo.people import PEOPLE
from greenroom.demo.script import Scene, Step, latest_day, moment_ms, scenes, with_dates
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import Internal
from greenroom.kernel.ids import RANDOM_BITS, encode_random, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept
from greenroom.platform.postgres import Session, open_pool
from greenroom.settings import Settings

SECOND_MS = 1000
DAY_MS = 24 * 60 * 60 * SECOND_MS
LOADING_LOCK = 7235922
MEMBER_DAYS = 400

# Waiting for the disk is worth it at the end only: a load that a crash cuts short goes on later.
_UNHURRIED = {"synchronous_commit": "off"}

MESSAGE_TIME = "select created_at from message where sender_user = $1 and client_id = $2"
PUT_PERSON = """
insert into app_user (user_id, display_name, avatar_url, roles, timezone, locale, verified,
                      age_verified, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, true, $7, $8, $8)
on conflict (user_id) do update set display_name = excluded.display_name,
    avatar_url = excluded.avatar_url, roles = excluded.roles, timezone = excluded.timezone,
    locale = excluded.locale, verified = true, age_verified = excluded.age_verified
"""
SET_CITY = "update thread set city = $2 where thread_id = $1"
TOUCH_PERSON = "update app_user set updated_at = updated_at where user_id = $1"


@dataclass(frozen=True, slots=True)
class Cue:
    """One step of one scene at its moment. `number` counts what is said in the scene."""

    at_ms: int
    scene: Scene
    step: Step
    number: int

    @property
    def client_id(self) -> str:
        return f"sample-{self.scene.key}-{self.number}"


async def load_sample(
    settings: Settings, database_url: str, *, seed: int = 1, clock: Clock = system_clock
) -> bool:
    """Puts the sample into the database; says whether there was something to do.

    Loading again changes nothing, also days later and whatever people did with it since. A load
    that was cut short is taken up where it stopped, at the times it had begun with.
    """
    pool = await open_pool(database_url, min_size=1, max_size=1, statement_timeout_ms=0)
    try:
        async with pool.acquire() as conn, loading_alone(conn):
            last_day = await _day_to_load(conn, seed, clock())
            if last_day is None:
                return False
            await _put_people(conn, last_day)
            await Play(settings, database_url, conn, seed, last_day).run(clock())
            return True
    finally:
        await pool.close()


@asynccontextmanager
async def loading_alone(conn: Session) -> AsyncIterator[None]:
    """One load at a time, however many start together."""
    await conn.execute("select pg_advisory_lock($1)", LOADING_LOCK)
    try:
        yield
    finally:
        await conn.execute("select pg_advisory_unlock($1)", LOADING_LOCK)


async def _day_to_load(conn: Session, seed: int, now_ms: int) -> date | None:
    """The sample's last day; None when all of it is there. The first message tells a begun one."""
    today = latest_day(now_ms)
    said = [cue for cue in cues(seed, today) if cue.step.verb in ("says", "replies")]
    if await conn.fetchval(MESSAGE_TIME, said[-1].step.who, said[-1].client_id) is not None:
        return None
    first = said[0]
    begun_ms = await conn.fetchval(MESSAGE_TIME, first.step.who, first.client_id)
    if begun_ms is None:
        return today
    begun = datetime.fromtimestamp(begun_ms / 1000, first.scene.zone).date()
    return date.fromordinal(begun.toordinal() - first.step.day)


async def _put_people(conn: Session, last_day: date) -> None:
    midnight = datetime(last_day.year, last_day.month, last_day.day, tzinfo=UTC)
    at_ms = int(midnight.timestamp()) * 1000 - MEMBER_DAYS * DAY_MS
    for place, person in enumerate(PEOPLE.values()):
        await conn.execute(
            PUT_PERSON,
            person.user_id,
            person.display_name,
            person.avatar_url,
            [person.role],
            person.timezone,
            person.locale,
            person.age_verified,
            at_ms + place * DAY_MS,
        )


def cues(seed: int, last_day: date) -> list[Cue]:
    """Every step of every scene in the order of time; the seed moves each within its minute."""
    return list(heapq.merge(*(_cues(scene, seed, last_day) for scene in scenes()), key=_at_ms))


def _at_ms(cue: Cue) -> int:
    return cue.at_ms


def _cues(scene: Scene, seed: int, last_day: date) -> Iterator[Cue]:
    """Whoever says something has first read what the others said, as a client would mark it."""
    dice = random.Random(f"{seed}/{scene.key}")  # noqa: S311 (a sample, not a secret)
    earliest_ms, number, last_author = 0, 0, None
    has_read: dict[str, int] = {}
    for step in scene.steps:
        at_ms = moment_ms(scene, step, last_day) + dice.randrange(20, 60) * SECOND_MS
        at_ms = max(at_ms, earliest_ms)
        if step.verb in ("says", "replies") and step.who is not None:
            if number and last_author != step.who and has_read.get(step.who) != number:
                reading = replace(step, verb="reads", args=(), text="")
                yield Cue(max(earliest_ms, at_ms - 15 * SECOND_MS), scene, reading, number)
            number += 1
            last_author = step.who
            has_read[step.who] = number
        elif step.verb == "reads" and step.who is not None:
            has_read[step.who] = number
        yield Cue(at_ms, scene, step, number)
        earliest_ms = at_ms + SECOND_MS


class Play:
    def __init__(
        self, settings: Settings, database_url: str, conn: Session, seed: int, last_day: date
    ) -> None:
        self._conn = conn
        self._seed = seed
        self._last_day = last_day
        self._now_ms = 0
        self._dice = random.Random(seed)  # noqa: S311
        self._threads: dict[str, str] = {}
        self._messages: dict[tuple[str, int], str] = {}
        self._last_of: dict[tuple[str, str | None], str] = {}
        # The scenes keep to the limits that we ship, not to those that somebody is trying out.
        settings = replace(settings, limits=Limits(), require_job=False)
        self._rooms = Rooms(
            settings,
            _with_settings(database_url, _UNHURRIED),
            clock=lambda: self._now_ms,
            randomness=lambda: encode_random(self._dice.getrandbits(RANDOM_BITS)),
        )

    async def run(self, now_ms: int) -> None:
        async with self._rooms:
            for place, cue in enumerate(cues(self._seed, self._last_day)):
                self._now_ms = cue.at_ms
                # A load that goes on after a crash throws as the first one would have.
                self._dice.seed(f"{self._seed}/{place}")
                await self._act(cue)
            # As a server that had run all the while would have forgotten.
            self._now_ms = now_ms
            while (await self._rooms.store.prune()).get("feed"):
                pass
        # This commit waits for the disk, and with it everything before it.
        await self._conn.execute(TOUCH_PERSON, next(iter(PEOPLE)))

    async def _act(self, cue: Cue) -> None:
        who, thread_id = cue.step.who, self._threads.get(cue.scene.key)
        if who is None:
            await self._book(cue)
        elif thread_id is None:
            await self._start(cue, who)
        elif cue.step.verb in ("says", "replies"):
            await self._say(cue, who, thread_id)
        elif cue.step.verb in ("edits", "deletes"):
            await self._amend(cue, who, thread_id)
        elif cue.step.verb == "reads":
            await self._read(cue, who, thread_id)
        elif cue.step.verb == "adds":
            newcomer, _, role = cue.step.args
            await self._rooms.conversations.add_participant(who, thread_id, newcomer, Role(role))
        else:
            changes = _ROW_CHANGES[cue.step.verb]
            await self._rooms.conversations.set_inbox_row(who, thread_id, changes)

    async def _start(self, cue: Cue, who: str) -> None:
        scene = cue.scene
        started = await self._rooms.conversations.start_thread(
            who,
            kind=ThreadKind(scene.kind),
            to=[scene.to],
            client_id=cue.client_id,
            body=self._text(cue),
            subject=scene.subject,
            role_context=scene.role_context,
        )
        if isinstance(started, Kept):
            raise Internal
        self._threads[scene.key] = started.thread.id
        await self._conn.execute(SET_CITY, started.thread.id, scene.city)
        self._note(cue, started.message)

    async def _say(self, cue: Cue, who: str, thread_id: str) -> None:
        reply_to = None
        if cue.step.verb == "replies":
            reply_to = self._messages[cue.scene.key, int(cue.step.args[0])]
        sent = await self._rooms.conversations.send(
            who, thread_id, client_id=cue.client_id, body=self._text(cue), reply_to=reply_to
        )
        self._note(cue, sent.message)

    def _note(self, cue: Cue, message: Message) -> None:
        self._messages[cue.scene.key, cue.number] = message.id
        self._last_of[cue.scene.key, cue.step.who] = message.id

    async def _read(self, cue: Cue, who: str, thread_id: str) -> None:
        """Up to what was said by then: in a load that goes on, more may be there already."""
        conversations = self._rooms.conversations
        until = make_id("msg", cue.at_ms, "")
        page = await conversations.access_messages(who, thread_id, before=until, limit=1)
        await conversations.mark_read(who, thread_id, page.items[-1].id)

    async def _amend(self, cue: Cue, who: str, thread_id: str) -> None:
        message_id = self._last_of[cue.scene.key, who]
        conversations = self._rooms.conversations
        if cue.step.verb == "edits":
            await conversations.edit_message(who, thread_id, message_id, self._text(cue))
        else:
            await conversations.delete_message(who, thread_id, message_id)

    async def _book(self, cue: Cue) -> None:
        [leg_id] = cue.step.args
        thread_id = self._threads[cue.scene.key]
        await self._rooms.conversations.promote(thread_id, group_id=None, leg_id=leg_id)

    def _text(self, cue: Cue) -> str:
        return with_dates(cue.step.text, self._last_day)


_ROW_CHANGES = {
    "stars": InboxChanges(starred=True),
    "pins": InboxChanges(pinned=True),
    "archives": InboxChanges(archived=True),
}


def _with_settings(database_url: str, settings: dict[str, str]) -> str:
    parts = urlsplit(database_url)
    query = "&".join(filter(None, (parts.query, urlencode(settings))))
    return parts._replace(query=query).geturl()
