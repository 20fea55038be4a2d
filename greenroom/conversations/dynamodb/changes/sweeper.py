"""The sweeper: projects changes that a crashed process left, and delivers domain events.

Both read the outbox records. `settle` and `hand_over` of the store call it.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Sequence

from greenroom.conversations.dynamodb.changes.blocks import PREFIX as BLOCK_NOTE
from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import OutboxRecord, decode_record
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import outbox_shard
from greenroom.conversations.store import Deliver, DomainEvent, HandedOver
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.ids import RANDOM_BITS, encode_random, make_id
from greenroom.platform.dynamodb.table import Delete, Key
from greenroom.platform.dynamodb.values import Item

RECORDS_AT_ONCE = 1000
RECORDS_DELIVERED = 200

Ready = tuple[Key, OutboxRecord]

log = logging.getLogger(__name__)


class Sweeper:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table
        self._seen: set[Key] = set()
        self._projected: set[Key] = set()
        """Keys of records that are projected and stay only until their events are delivered."""
        self._positions: dict[int, str] = {}
        """By shard, the sort key where the next call continues, unless the end was reached."""

    async def settle(self) -> int:
        """Project the records that are older than `unsettled_s`, which no living process would
        leave. One that fails does not stop the others."""
        before_ms = self._threads.clock() - self._threads.limits.unsettled_s * 1000
        settled, projected = 0, set()
        for shard in range(self._threads.limits.outbox_shards):
            for item in await self._next_records(shard):
                key = item["pk"], item["sk"]
                if key in self._projected:
                    projected.add(key)
                elif item["at"] <= before_ms and not self._is_in_progress(key):
                    if await self._try_to_project(item):
                        projected.add(key)
                    settled += 1
        self._projected = projected
        return settled

    async def _next_records(self, shard: int) -> list[Item]:
        """A bounded number per call: many records wait while domain events cannot be delivered."""
        items = await self._records(shard, after=self._positions.pop(shard, None))
        if len(items) == RECORDS_AT_ONCE:
            self._positions[shard] = items[-1]["sk"]
        return items

    async def _try_to_project(self, item: Item) -> bool:
        """Returns whether the record is projected and still there."""
        try:
            if item["sk"].startswith(BLOCK_NOTE):
                await self._blocks.settle_note(item["sk"])
                return False
            return await self._threads.projector.settle(decode_record(item["record"]))
        except Unavailable:
            log.warning(
                "a change could not be projected; the sweeper will retry",
                extra={"event": item["sk"]},
            )
        except Exception:
            log.exception(
                "a change could not be projected; the sweeper will retry",
                extra={"event": item["sk"]},
            )
        return False

    async def hand_over(self, deliver: Deliver) -> HandedOver:
        """Deliver the records that the previous call has seen as well. Of two records of one
        thread, the earlier can become readable after the later; waiting for one more call keeps
        their order. A record that is not delivered yet holds back the later ones of its thread."""
        shards = range(self._threads.limits.outbox_shards)
        pages = await asyncio.gather(*(self._records(shard) for shard in shards))
        items = [item for page in pages for item in page]
        seen = {(item["pk"], item["sk"]) for item in items}
        has_new = not seen <= self._seen
        ready = await self._ready_records(items)
        self._seen = seen
        handed = 0
        for some in _chunks(ready):
            events = [event for _, record in some for event in domain_events(record)]
            await deliver(events)
            await self._table.write_many([Delete(key) for key, _ in some])
            self._seen.difference_update(key for key, _ in some)
            handed += len(events)
        is_cut = any(len(page) == RECORDS_AT_ONCE for page in pages)
        return HandedOver(handed, has_more=has_new or (is_cut and handed > 0))

    async def _ready_records(self, items: Sequence[Item]) -> list[Ready]:
        ready: list[Ready] = []
        held: set[str] = set()
        for item in items:
            thread_id = item["sk"].partition("#")[0]
            if "record" not in item or thread_id in held:
                continue
            record = await self._ready_record(item)
            if record is None:
                held.add(thread_id)
            else:
                ready.append(((item["pk"], item["sk"]), record))
        return ready

    async def _ready_record(self, item: Item) -> OutboxRecord | None:
        """None if the record is not ready or cannot be read."""
        key = item["pk"], item["sk"]
        try:
            record = decode_record(item["record"])
            is_ready = key in self._seen and await self._is_projected(key, record)
        except Unavailable:
            raise
        except Exception:
            log.exception("domain events cannot be delivered", extra={"event": item["sk"]})
            return None
        return record if is_ready else None

    async def _is_projected(self, key: Key, record: OutboxRecord) -> bool:
        projector = self._threads.projector
        return not self._is_in_progress(key) and await projector.project_fully(record)

    async def _records(self, shard: int, *, after: str | None = None) -> list[Item]:
        return await self._table.query(outbox_shard(shard), after=after, limit=RECORDS_AT_ONCE)

    def _is_in_progress(self, key: Key) -> bool:
        return self._threads.projector.is_in_progress(key)


def domain_events(record: OutboxRecord) -> list[DomainEvent]:
    return [
        DomainEvent(
            _event_id(record, index, event.at_ms),
            event.event,
            event.at_ms,
            event.actor,
            record.thread_id,
            event.message_id,
            event.data,
        )
        for index, event in enumerate(record.events)
    ]


def _event_id(record: OutboxRecord, index: int, at_ms: int) -> str:
    """The same whoever makes it: of the change there is one, and its events have places."""
    place = f"{record.thread_id}#{record.ver}#{index}".encode()
    bits = int.from_bytes(hashlib.sha256(place).digest()) >> (256 - RANDOM_BITS)
    return make_id("evt", at_ms, encode_random(bits))


def _chunks(ready: Sequence[Ready]) -> Iterator[Sequence[Ready]]:
    for start in range(0, len(ready), RECORDS_DELIVERED):
        yield ready[start : start + RECORDS_DELIVERED]
