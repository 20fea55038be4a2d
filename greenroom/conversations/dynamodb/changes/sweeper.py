"""The sweeper: projects changes that a crashed process left, and delivers domain events.

Both read the outbox records. `settle` and `hand_over` of the store call it.
"""

import logging

from greenroom.conversations.dynamodb.changes.blocks import PREFIX as BLOCK_NOTE
from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import OutboxRecord, decode_record
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import outbox_shard
from greenroom.conversations.store import Deliver, DomainEvent
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.table import Delete, Key
from greenroom.platform.dynamodb.values import Item

RECORDS_AT_ONCE = 1000

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

    async def hand_over(self, deliver: Deliver) -> int:
        """Deliver the records that the previous call has seen as well. Of two records of one
        thread, the earlier can become readable after the later; waiting for one more call keeps
        their order. A record that is not delivered yet holds back the later ones of its thread."""
        handed, seen, held = 0, set(), set()
        for shard in range(self._threads.limits.outbox_shards):
            for item in await self._records(shard):
                key, thread_id = (item["pk"], item["sk"]), item["sk"].partition("#")[0]
                seen.add(key)
                if "record" not in item or thread_id in held:
                    continue
                record = await self._ready_record(item)
                if record is None:
                    held.add(thread_id)
                    continue
                await deliver(_events(record))
                await self._table.write(Delete(key))
                seen.discard(key)
                handed += len(record.events)
        self._seen = seen
        return handed

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


def _events(record: OutboxRecord) -> list[DomainEvent]:
    return [
        DomainEvent(
            event.event, event.at_ms, event.actor, record.thread_id, event.message_id, event.data
        )
        for event in record.events
    ]
