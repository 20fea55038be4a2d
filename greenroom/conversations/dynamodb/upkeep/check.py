"""Checks all derived values in the table, and repairs those that can be repaired.

It scans the whole table once and checks each partition that it finds, so everything is read about
twice. The total is not known in advance.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace

from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.upkeep.check_links import BlockCheck, OutboxCheck, PairCheck
from greenroom.conversations.dynamodb.upkeep.check_thread import ThreadCheck
from greenroom.conversations.dynamodb.upkeep.feed import FeedUpkeep
from greenroom.conversations.dynamodb.upkeep.mend_thread import ThreadMending
from greenroom.conversations.upkeep import Fault, Progress
from greenroom.kernel.errors import Unavailable, Unreadable
from greenroom.kernel.kept import NOT_UNDERSTOOD
from greenroom.platform.dynamodb.values import Item

ITEMS_AT_ONCE = 1000
PARTITIONS_AT_ONCE = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Examiner:
    """Checks one kind of partition, and repairs it."""

    prefix: str
    faults: Callable[[str], Awaitable[list[Fault]]]
    mend: Callable[[str, list[Fault]], Awaitable[None]]


class Check:
    """Runs over the whole table."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._table = threads.table
        self._projector = threads.projector
        thread_check, feeds = ThreadCheck(threads, blocks), FeedUpkeep(threads)
        mending, outbox = ThreadMending(threads, blocks, thread_check), OutboxCheck(threads, blocks)
        pairs, halves = PairCheck(threads), BlockCheck(threads, blocks)
        self._examiners = (
            Examiner("THR#", thread_check.faults, mending.mend),
            Examiner("FEED#", feeds.faults, lambda user_id, _: feeds.mend(user_id)),
            Examiner("PAIR#", pairs.faults, pairs.mend),
            Examiner("BLK#", halves.faults, halves.mend),
            Examiner("OUTBOX#", outbox.faults, outbox.mend),
        )

    async def run(self, *, repair: bool, progress: Progress) -> AsyncGenerator[Fault, None]:
        await self._projector.drain()
        start: Item | None = None
        done, last = 0, ""
        while True:
            items, start = await self._table.scan(start=start, limit=ITEMS_AT_ONCE)
            # The items of a partition are adjacent, also across pages.
            partitions = [each for each in dict.fromkeys(i["pk"] for i in items) if each != last]
            for place in range(0, len(partitions), PARTITIONS_AT_ONCE):
                some = partitions[place : place + PARTITIONS_AT_ONCE]
                for faults in await asyncio.gather(*(self._examine(p, repair) for p in some)):
                    for fault in faults:
                        yield fault
                done += len(some)
                progress(done, 0)
            last = partitions[-1] if partitions else last
            if start is None:
                return

    async def _examine(self, partition: str, repair: bool) -> list[Fault]:
        """The faults of one partition; with `repair` they are repaired."""
        for examiner in self._examiners:
            if partition.startswith(examiner.prefix):
                of = partition.removeprefix(examiner.prefix)
                try:
                    faults = await examiner.faults(of)
                    return await self._mend(examiner, of, faults) if repair and faults else faults
                except (*NOT_UNDERSTOOD, Unreadable):
                    log.exception("a partition cannot be checked", extra={"event": partition})
                    found, right = "what cannot be understood", "an item of ours: see the log"
                    is_thread = examiner.prefix == "THR#"
                    return [Fault("unreadable", of if is_thread else None, None, found, right)]
        return []

    async def _mend(self, examiner: Examiner, of: str, faults: list[Fault]) -> list[Fault]:
        try:
            await examiner.mend(of, faults)
        except Unavailable:
            log.warning(
                "not repaired because it changes too often; run the check again",
                extra={"event": of},
            )
        await self._projector.drain()
        left = {(f.kind, f.thread_id, f.user_id) for f in await examiner.faults(of)}
        return [replace(f, is_mended=(f.kind, f.thread_id, f.user_id) not in left) for f in faults]
