"""History of another system: imported once, in order, with its own times, and news to nobody."""

import itertools
import json
import random
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from greenroom.commands.importing import _importer
from greenroom.conversations.history_store import AT_ONCE
from greenroom.conversations.importing.importer import Summary
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.ids import id_time_ms
from tests.support import IS_FULL
from tests.support.api import Api, Json, Person, answered

COUNT = 10_000 if IS_FULL else 1200
DAY_MS = 24 * 3600 * 1000
_numbers = itertools.count(1)


class Past:
    """A file of a marketplace that kept its conversations elsewhere."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.mark = f"x{next(_numbers)}"
        self.start_ms = api.clock() - 100 * DAY_MS
        self.ann, self.bob = (api.person(f"{name}.{self.mark}") for name in ("ann", "bob"))
        self.lines: list[Json] = []
        self.refused: dict[int, str] = {}

    @property
    def thread(self) -> str:
        return f"conv {self.mark}"

    def at(self, minutes: float) -> str:
        return rfc3339(self.start_ms + int(minutes * 60_000))

    def people(self) -> None:
        for person, name in ((self.ann, "Ann"), (self.bob, "Bob")):
            self.lines.append({"type": "person", "id": person.id, "display_name": name})

    def begin(self, **more: Any) -> None:
        pair = [{"user": self.ann.id, "role": "buyer"}, {"user": self.bob.id, "role": "seller"}]
        line = {"type": "thread", "id": self.thread, "created_at": self.at(0), "participants": pair}
        self.lines.append({**line, "subject": "Old lamp", **more})

    def say(self, name: str, author: Person | None, minutes: float, **more: Any) -> None:
        line = {
            "type": "message",
            "thread": self.thread,
            "id": name,
            "created_at": self.at(minutes),
        }
        by = None if author is None else author.id
        self.lines.append({**line, "author": by, "body": f"This is {name}", **more})

    def read(self, person: Person, name: str, minutes: float) -> None:
        line = {"type": "read", "thread": self.thread, "user": person.id, "message": name}
        self.lines.append({**line, "at": self.at(minutes)})

    def usual(self) -> None:
        self.people()
        self.begin()
        self.say("m1", self.ann, 1)
        self.say("m2", self.bob, 2, reply_to="m1", edited_at=self.at(3))
        self.say("m3", None, 4, code="listing.sold")
        self.say("m4", self.bob, 5, deleted_at=self.at(6))
        self.say("m5", self.bob, 7)
        self.read(self.ann, "m3", 8)

    async def run(self, *, is_dry: bool = False, upto: int | None = None) -> Summary:
        self.refused = {}
        lines = [(n, json.dumps(line).encode()) for n, line in enumerate(self.lines, start=1)]
        importer = _importer(self.api.rooms, self.refused.__setitem__, is_dry=is_dry)
        return await importer.run(lines[:upto])

    async def thread_id(self) -> str:
        path = f"/v1/threads/by/{self.thread.replace(' ', '%20')}"
        found: str = answered(await self.api.backend.get(path), 200)["thread"]["id"]
        return found

    async def shown(self) -> Json:
        """All that both see of the thread, without their feeds."""
        thread_id = await self.thread_id()
        return {
            person.id: {
                "messages": await person.messages(thread_id),
                "thread": {**await person.thread(thread_id), "sync_cursor": ""},
                "counts": (await person.inbox())["counts"],
            }
            for person in (self.ann, self.bob)
        }


@pytest.fixture
def past(api: Api) -> Past:
    return Past(api)


async def faults(api: Api) -> list[Any]:
    found = api.rooms.upkeep.check(repair=False, progress=lambda *_: None)
    async with aclosing(found):
        return [fault async for fault in found]


async def test_history_comes_with_its_own_times_authors_and_marks(past: Past) -> None:
    past.usual()
    summary = await past.run()
    assert past.refused == {}
    assert summary.new == {"person": 2, "thread": 1, "message": 5, "read": 1}
    thread_id = await past.thread_id()
    assert id_time_ms(thread_id) == past.start_ms
    messages = await past.bob.messages(thread_id)
    assert [each["seq"] for each in messages] == [1, 2, 3, 4, 5]
    assert [each["created_at"] for each in messages] == [past.at(n) for n in (1, 2, 4, 5, 7)]
    assert all(rfc3339(id_time_ms(each["id"])) == each["created_at"] for each in messages)
    first, second, notice, deleted, _ = messages
    assert (first["author_id"], first["body_html"]) == (past.ann.id, "<p>This is m1</p>")
    assert (second["reply_to"], second["edited_at"]) == (first["id"], past.at(3))
    assert notice["author_id"] is None
    assert notice["system"]["params"] == {"code": "listing.sold", "text": "This is m3"}
    assert (deleted["body"], deleted["deleted_at"]) == ("", past.at(6))
    ann, bob = [await each.row(thread_id) for each in (past.ann, past.bob)]
    assert (ann["unread_count"], ann["last_read"]["message_id"]) == (1, notice["id"])
    assert (bob["unread_count"], bob["last_read"]) == (2, None)
    assert ann["last_message_at"] == past.at(7)
    assert (await past.ann.inbox())["counts"]["all"] == 1
    assert await faults(past.api) == []


@pytest.mark.parametrize("is_dry", [True, False])
async def test_messages_that_the_server_will_not_keep_are_counted(past: Past, is_dry: bool) -> None:
    past.start_ms -= 500 * DAY_MS
    past.usual()
    past.say("m6", past.ann, 120 * 24 * 60)
    summary = await past.run(is_dry=is_dry)
    assert (past.refused, summary.past_retention) == ({}, 5)


async def test_nobody_is_told_of_the_past(past: Past) -> None:
    past.usual()
    await past.run()
    types = [event["type"] for event in await past.bob.sync()]
    assert types == ["thread.changed", "inbox.changed", "inbox.changed"][: len(types)]
    assert len(types) >= 2
    await past.api.rooms.collector.drain()
    thread_id = await past.thread_id()
    assert await past.api.rooms.events.of_thread(thread_id, 0, 10) == []


async def test_a_second_run_changes_nothing(past: Past) -> None:
    past.usual()
    await past.run()
    before, cursor = await past.shown(), await past.bob.cursor()
    summary = await past.run()
    assert (past.refused, summary.new) == ({}, {})
    assert summary.known == {"person": 2, "thread": 1, "message": 5, "read": 1}
    assert await past.shown() == before
    assert await past.bob.sync(cursor) == []


async def test_an_import_that_was_killed_goes_on_where_it_was(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    past.people()
    past.begin()
    for n in range(3 * AT_ONCE):
        past.say(f"m{n}", (past.ann, past.bob)[n % 2], n)
    past.read(past.ann, f"m{2 * AT_ONCE}", 3 * AT_ONCE)
    history, calls = past.api.rooms.history, 0
    append = history.import_messages

    async def dies(*args: Any) -> list[str]:
        nonlocal calls
        calls += 1
        if calls == 2:
            # It is done, but nobody hears of it any more.
            await append(*args)
            raise Unavailable
        return await append(*args)

    with monkeypatch.context() as patch:
        patch.setattr(history, "import_messages", dies)
        with pytest.raises(Unavailable):
            await past.run()
    summary = await past.run()
    assert past.refused == {}
    assert (summary.known["message"], summary.new["message"]) == (2 * AT_ONCE, AT_ONCE)
    thread_id = await past.thread_id()
    row = await past.ann.row(thread_id)
    assert row["unread_count"] == AT_ONCE // 2
    page = await past.ann.messages(thread_id)
    assert [each["seq"] for each in page] == list(range(3 * AT_ONCE - 49, 3 * AT_ONCE + 1))
    assert await faults(past.api) == []


async def test_what_cannot_be_imported_is_named_with_its_line(past: Past) -> None:
    past.usual()
    good = len(past.lines)
    other = past.api.person("somebody.else")
    past.say("m6", other, 9)
    past.say("m7", past.ann, 9, body="x" * 2001)
    past.say("m8", past.ann, 1)
    past.say("m9", past.ann, 9, created_at=rfc3339(past.api.clock() + 60_000))
    past.say("m10", past.ann, 9, bdoy="misspelt")
    past.say("m11", past.ann, 9, thread="nowhere")
    past.read(past.bob, "m99", 9)
    past.lines.append({"type": "thread", "id": "t", "created_at": past.at(0), "participants": []})
    past.lines.append({"type": "wish"})
    past.begin(kind="invite")
    summary = await past.run()
    reasons = [past.refused[n] for n in sorted(past.refused)]
    assert sorted(past.refused) == list(range(good + 1, len(past.lines) + 1))
    for reason, words in zip(
        reasons,
        (
            *("is not in the thread", "2001 characters", "before the thread's last message"),
            *("in the future", "bdoy", "no such thread", "no such message", "2–50 participants"),
            *("wish", "another kind"),
        ),
        strict=True,
    ):
        assert words in reason
    assert summary.refused == len(reasons)
    assert len(await past.ann.messages(await past.thread_id())) == 5


async def test_a_dry_run_says_the_same_and_stores_nothing(past: Past) -> None:
    past.usual()
    past.say("m6", past.ann, 1)
    summary = await past.run(is_dry=True)
    assert summary.new == {"person": 2, "thread": 1, "message": 5, "read": 1}
    assert list(past.refused) == [len(past.lines)]
    refusal = await past.api.backend.refusal("GET", f"/v1/users/{past.ann.id}/threads")
    assert refusal == (404, "USER_NOT_FOUND")


async def test_times_strictly_grow_also_where_the_past_had_them_equal(past: Past) -> None:
    past.people()
    past.begin()
    for n in range(5):
        past.say(f"m{n}", past.ann, 1)
    await past.run()
    times = [each["created_at"] for each in await past.bob.messages(await past.thread_id())]
    first_ms = past.start_ms + 60_000
    assert times == [rfc3339(first_ms + n) for n in range(5)]
    assert past.refused == {}


async def test_people_go_on_talking_after_the_past(past: Past) -> None:
    past.usual()
    await past.run()
    thread_id = await past.thread_id()
    sent = await past.ann.send(thread_id, "Is it still there?")
    assert sent["seq"] == 6
    assert (await past.bob.row(thread_id))["unread_count"] == 3
    past.say("late", past.bob, 8)
    await past.run()
    assert list(past.refused.values()) == ["created_at is before the thread's last message"]


async def test_somebody_who_joined_later_sees_it_all_and_who_left_sees_nothing(past: Past) -> None:
    past.usual()
    carl, dora = (past.api.person(f"{name}.{past.mark}") for name in ("carl", "dora"))
    for person, left in ((carl, False), (dora, True)):
        past.lines.append({"type": "person", "id": person.id})
        line = {"type": "participant", "thread": past.thread, "user": person.id, "role": "host"}
        past.lines.append({**line, "joined_at": past.at(6), "left": left})
    past.say("m6", dora, 9)
    await past.run()
    assert past.refused == {}
    thread_id = await past.thread_id()
    assert len(await carl.messages(thread_id)) == 6
    assert (await carl.row(thread_id))["unread_count"] == 5
    assert (await dora.inbox())["items"] == []
    assert await faults(past.api) == []


async def test_many_lines_need_no_more_memory_than_a_window(past: Past) -> None:
    """Lines of many threads, mixed as a log has them. Only the window's lines are held."""
    chosen, threads = random.Random(7), 8
    held, most = 0, 0

    def lines() -> Iterator[tuple[int, bytes]]:
        nonlocal held, most
        for n, line in enumerate(generated(), start=1):
            held += 1
            most = max(most, held)
            yield n, json.dumps(line).encode()

    def generated() -> Iterator[Json]:
        mark = past.mark
        for n in range(threads):
            yield {"type": "person", "id": f"s{n}.{mark}"}
        yield {"type": "person", "id": past.ann.id}
        for n in range(threads):
            pair = [
                {"user": past.ann.id, "role": "buyer"},
                {"user": f"s{n}.{mark}", "role": "seller"},
            ]
            thread = {"type": "thread", "id": f"{mark}-{n}", "created_at": past.at(0)}
            yield {**thread, "participants": pair}
        for n in range(COUNT):
            of = chosen.randrange(threads)
            message = {"type": "message", "thread": f"{mark}-{of}", "id": f"m{n}"}
            author = past.ann.id if n % 2 else f"s{of}.{mark}"
            yield {**message, "author": author, "created_at": past.at(n / 100), "body": f"{n}"}

    def done(_: int) -> None:
        nonlocal held
        held = 0

    importer = _importer(past.api.rooms, past.refused.__setitem__, is_dry=False)
    summary = await importer.run(lines(), done)
    assert past.refused == {}
    assert summary.new["message"] == COUNT
    assert most <= past.api.rooms.settings.limits.import_window
    counts = (await past.ann.inbox(limit=100))["items"]
    assert sum(each["inbox"]["unread_count"] for each in counts) == COUNT // 2
