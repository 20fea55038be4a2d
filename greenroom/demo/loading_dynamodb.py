"""Loads the sample into DynamoDB, which has no transaction for a whole sample.

The progress is therefore kept in items of the same table. A row in PostgreSQL would be wrong after
the table was deleted or another one was configured.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.projection import Projector
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    ENTRIES,
    client_id_key,
    feed_partition,
    thread_key,
    user_partition,
)
from greenroom.conversations.people import Profile
from greenroom.demo.accounts import list_ungenerated, put_crowd, wait_for_disk
from greenroom.demo.bulk_dynamodb import Writing, write_crowd
from greenroom.demo.crowd import DAY_MS, Bulk, Crowd
from greenroom.demo.loading import Begun, Contents
from greenroom.demo.people import PEOPLE
from greenroom.demo.progress import Progress
from greenroom.kernel.ids import system_randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.table import Delete, Key, Put, Table, Update
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.postgres.pool import Session

SAMPLE: Key = ("META", "SAMPLE")
BULKS = "BULK#"

PEOPLE_COUNTED = 10_000
QUERIES_AT_ONCE = 16
THREADS_AT_ONCE = 1000


class DynamoLoading:
    def __init__(self, accounts: Session, table: Table, *, is_aws: bool) -> None:
        self.accounts = accounts
        self._table = table
        self._is_aws = is_aws
        self._now_ms = 0
        limits = Limits()
        self._projector = Projector(
            table, clock=self._clock, limits=limits, wake=_nobody, keeps_records=False
        )
        self._threads = Threads(
            table,
            self._projector,
            _nameless,
            clock=self._clock,
            randomness=system_randomness,
            limits=limits,
        )

    def _clock(self) -> int:
        return self._now_ms

    async def begin(self, seed: int, today: date) -> Begun:
        mark = await self._table.get(SAMPLE)
        if mark is None:
            mark = {**_item(SAMPLE), "seed": seed, "day": today.isoformat(), "whole": False}
            await self._table.write(Put(mark))
        return Begun(mark["seed"], date.fromisoformat(mark["day"]), mark["whole"])

    async def set_city(self, thread_id: str, city: str, at_ms: int) -> None:
        """An ordinary change of the thread, so that the projection updates people's inbox rows."""

        async def decide(change: Change) -> None:
            if change.state.city != city:
                change.state = replace(change.state, city=city)
                change.notify_all(None)

        self._now_ms = at_ms
        await self._threads.change(thread_id, decide)
        await self._projector.drain()

    async def finish(self, now_ms: int) -> None:
        for user_id in PEOPLE:
            await self._forget_old_events(user_id, now_ms)
        # Bookings are in PostgreSQL.
        await wait_for_disk(self.accounts)
        names, values = {"#whole": "whole"}, {":true": True}
        await self._table.write(Update(SAMPLE, "SET #whole = :true", values=values, names=names))

    async def _forget_old_events(self, user_id: str, now_ms: int) -> None:
        """DynamoDB expires items by its own clock, which did not follow the sample's times."""
        before_ms = now_ms - Limits().feed_kept_days * DAY_MS
        entries = await self._table.query(feed_partition(user_id), prefix=ENTRIES)
        await self._table.write_many(
            [Delete((each["pk"], each["sk"])) for each in entries if each["at"] < before_ms]
        )

    async def load_bulk(self, bulk: Bulk, now_ms: int) -> bool:
        """An interrupted load continues with the size and the time of its beginning."""
        key = ("META", f"{BULKS}{bulk.seed}")
        mark = await self._table.get(key)
        if mark is None:
            sizes = {"messages": bulk.messages, "threads": bulk.threads}
            mark = {**_item(key), **sizes, "at": now_ms, "done": 0, "whole": False}
            await self._table.write(Put(mark))
        if mark["whole"]:
            return False
        begun, at_ms = Bulk(bulk.seed, mark["messages"], mark["threads"]), mark["at"]

        async def note(done: int) -> None:
            await self._table.write(Put({**mark, "done": done}))

        await put_crowd(self.accounts, Crowd(begun, at_ms).people())
        await write_crowd(
            Writing(self._table, is_aws=self._is_aws),
            lambda: Crowd(begun, at_ms),
            done=mark["done"],
            note=note,
            progress=Progress(begun.messages, "messages"),
        )
        await self._table.write(Put({**mark, "done": begun.threads, "whole": True}))
        return True

    async def thread_of(self, author: str, client_id: str) -> str | None:
        item = await self._table.get(client_id_key(author, client_id))
        return None if item is None else item["th"]

    async def count(self) -> Contents:
        """Counts the threads of the sample's people. A table does not know its number of threads,
        and reading a large one takes as long as loading it, so generated threads are counted as of
        their load."""
        contents = await self._count_threads(await self._threads_of_people())
        bulks = await self._table.query("META", prefix=BULKS)
        return Contents(
            contents.threads + sum(mark["threads"] for mark in bulks if mark["whole"]),
            contents.messages + sum(mark["messages"] for mark in bulks if mark["whole"]),
        )

    async def _threads_of_people(self) -> list[str]:
        people = await list_ungenerated(self.accounts, PEOPLE_COUNTED)
        found: set[str] = set()
        for at in range(0, len(people), QUERIES_AT_ONCE):
            pages = await asyncio.gather(
                *(
                    self._table.query(user_partition(user_id), prefix="THR#")
                    for user_id in people[at : at + QUERIES_AT_ONCE]
                )
            )
            found |= {item["sk"].removeprefix("THR#") for page in pages for item in page}
        return sorted(found)

    async def _count_threads(self, thread_ids: Sequence[str]) -> Contents:
        threads = messages = 0
        for at in range(0, len(thread_ids), THREADS_AT_ONCE):
            some = thread_ids[at : at + THREADS_AT_ONCE]
            items = await self._table.get_many([thread_key(each) for each in some])
            threads += len(items)
            messages += sum(item["lastSeq"] for item in items.values())
        return Contents(threads, messages)


def _nobody(_user_ids: Iterable[str]) -> None:
    """No wake-ups: nobody follows a feed during the load."""


async def _nameless(_user_ids: Sequence[str]) -> dict[str, Profile]:
    """No names: threads are not shown to anybody here."""
    return {}


def _item(key: Key) -> Item:
    return {"pk": key[0], "sk": key[1]}
