"""What a process left half done when it died, finished by whoever comes by; and domain events."""

import logging

from greenroom.conversations.blocks_dynamodb import PREFIX as BLOCK_NOTE
from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.keys_dynamodb import outbox_shard
from greenroom.conversations.records_dynamodb import Record, decode_record
from greenroom.conversations.store import Deliver, DomainEvent
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.table import Delete, Key
from greenroom.platform.dynamodb.values import Item

RECORDS_AT_ONCE = 1000

log = logging.getLogger(__name__)


class Sweeping:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table
        self._seen: set[Key] = set()
        self._whole: set[Key] = set()
        """Records that are there for their events only: everybody has what they tell of."""
        self._places: dict[int, str] = {}
        """Where in each shard the next look begins, if the last one did not come to its end."""

    async def settle(self) -> int:
        """Finish what has lain in the outbox for longer than a living process would let it. What
        cannot be finished keeps nothing else up."""
        before_ms = self._threads.clock() - self._threads.limits.unsettled_s * 1000
        settled, whole = 0, set()
        for shard in range(self._threads.limits.outbox_shards):
            for item in await self._next_records(shard):
                key = item["pk"], item["sk"]
                if key in self._whole:
                    whole.add(key)
                elif item["at"] <= before_ms and not self._is_under_way(key):
                    if await self._try_to_finish(item):
                        whole.add(key)
                    settled += 1
        self._whole = whole
        return settled

    async def _next_records(self, shard: int) -> list[Item]:
        """Some at a time, one look after the other: with listeners away, many may lie there."""
        items = await self._records(shard, after=self._places.pop(shard, None))
        if len(items) == RECORDS_AT_ONCE:
            self._places[shard] = items[-1]["sk"]
        return items

    async def _try_to_finish(self, item: Item) -> bool:
        """Whether nothing is left to do, though it stays."""
        try:
            if item["sk"].startswith(BLOCK_NOTE):
                await self._blocks.settle_note(item["sk"])
                return False
            return await self._threads.projector.settle(decode_record(item["record"]))
        except Unavailable:
            log.warning("a change is settled later", extra={"event": item["sk"]})
        except Exception:
            log.exception(
                "a change could not be settled; it will be tried again",
                extra={"event": item["sk"]},
            )
        return False

    async def hand_over(self, deliver: Deliver) -> int:
        """Only what an earlier look has seen as well: of one thread's records the earlier may show
        a moment later than the next, and order matters. So whatever waits holds up the rest of its
        thread."""
        handed, seen, held = 0, set(), set()
        for shard in range(self._threads.limits.outbox_shards):
            for item in await self._records(shard):
                key, thread_id = (item["pk"], item["sk"]), item["sk"].partition("#")[0]
                seen.add(key)
                if "record" not in item or thread_id in held:
                    continue
                record = decode_record(item["record"])
                if key not in self._seen or not await self._is_projected(key, record):
                    held.add(thread_id)
                    continue
                await deliver(_events(record))
                await self._table.write(Delete(key))
                seen.discard(key)
                handed += len(record.events)
        self._seen = seen
        return handed

    async def _is_projected(self, key: Key, record: Record) -> bool:
        projector = self._threads.projector
        return not self._is_under_way(key) and await projector.complete(record)

    async def _records(self, shard: int, *, after: str | None = None) -> list[Item]:
        return await self._table.query(outbox_shard(shard), after=after, limit=RECORDS_AT_ONCE)

    def _is_under_way(self, key: Key) -> bool:
        return self._threads.projector.is_under_way(key)


def _events(record: Record) -> list[DomainEvent]:
    return [
        DomainEvent(
            event.event, event.at_ms, event.actor, record.thread_id, event.message_id, event.data
        )
        for event in record.events
    ]
