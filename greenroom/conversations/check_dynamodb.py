"""Recounting everything derived, and setting right what can be.

The walk goes along the whole table once and looks closely at each partition that it comes upon, so
all in all everything is read about twice. There is no telling beforehand how much there is.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.check_links_dynamodb import BlockCheck, OutboxCheck, PairCheck
from greenroom.conversations.check_thread_dynamodb import ThreadLooks
from greenroom.conversations.feed_upkeep_dynamodb import FeedUpkeep
from greenroom.conversations.mend_thread_dynamodb import ThreadMending
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.upkeep import Fault, Progress
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.values import Item

ITEMS_AT_ONCE = 1000
PARTITIONS_AT_ONCE = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Examiner:
    """Looks at one kind of partition, and mends it."""

    prefix: str
    faults: Callable[[str], Awaitable[list[Fault]]]
    mend: Callable[[str, list[Fault]], Awaitable[None]]


class Check:
    """One run over everything."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._table = threads.table
        self._projector = threads.projector
        looks, feeds = ThreadLooks(threads, blocks), FeedUpkeep(threads)
        mending, outbox = ThreadMending(threads, blocks, looks), OutboxCheck(threads, blocks)
        pairs, halves = PairCheck(threads), BlockCheck(threads, blocks)
        self._examiners = (
            Examiner("THR#", looks.faults, mending.mend),
            Examiner("FEED#", feeds.look, lambda user_id, _: feeds.mend(user_id)),
            Examiner("PAIR#", pairs.faults, pairs.mend),
            Examiner("BLK#", halves.faults, halves.mend),
            Examiner("OUTBOX#", outbox.faults, outbox.mend),
        )

    async def run(self, *, repair: bool, progress: Progress) -> AsyncIterator[Fault]:
        await self._projector.drain()
        start: Item | None = None
        done, last = 0, ""
        while True:
            items, start = await self._table.scan(start=start, limit=ITEMS_AT_ONCE)
            # A partition's items follow each other, across pages as well.
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
        """The faults of one partition as of one moment; then, if asked for, mended."""
        for examiner in self._examiners:
            if partition.startswith(examiner.prefix):
                of = partition.removeprefix(examiner.prefix)
                faults = await examiner.faults(of)
                return await self._mend(examiner, of, faults) if repair and faults else faults
        return []

    async def _mend(self, examiner: Examiner, of: str, faults: list[Fault]) -> list[Fault]:
        try:
            await examiner.mend(of, faults)
        except Unavailable:
            log.warning("could not be mended; it is too busy", extra={"event": of})
        await self._projector.drain()
        left = {(f.kind, f.thread_id, f.user_id) for f in await examiner.faults(of)}
        return [replace(f, is_mended=(f.kind, f.thread_id, f.user_id) not in left) for f in faults]
