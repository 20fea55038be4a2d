"""Checks the lists of pair threads, the two items of each block, and old outbox records."""

from greenroom.conversations.dynamodb.changes.blocks import PREFIX as BLOCK_NOTE
from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import (
    Change,
    OutboxRecord,
    Write,
    decode_record,
)
from greenroom.conversations.dynamodb.changes.projection import pause
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    block_keys,
    blocks_partition,
    blocks_version_key,
    pair_key,
    pair_partition,
    row_key,
)
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.dynamodb.reads.paging import pages_of
from greenroom.conversations.dynamodb.upkeep.feed import SETTLED_MS
from greenroom.conversations.dynamodb.upkeep.recount import FAULTS_AT_ONCE
from greenroom.conversations.upkeep import Fault
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.dynamodb.errors import Cancelled
from greenroom.platform.dynamodb.table import UNLESS_THERE, Check, Delete, Key, Put, Update
from greenroom.platform.dynamodb.values import Item

ATTEMPTS = 5
LISTED = "T#"
OUTBOX = "OUTBOX#"


class PairCheck:
    """Finds threads in the list of two people that do not belong there. A thread that is missing in
    the list is found by `ThreadCheck`."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table

    async def faults(self, pair: str) -> list[Fault]:
        return [
            Fault("pair_stray", item["th"], None, f"in the list of {pair}", "not in it")
            for item in await self._strays(pair)
        ]

    async def mend(self, pair: str, _: list[Fault]) -> None:
        for item in await self._strays(pair):
            await self._unlist(item)

    async def _strays(self, pair: str) -> list[Item]:
        """List entries change in the same transaction as their thread. An entry that exists before
        and after the thread was read existed when it was read."""
        strays: list[Item] = []
        one, _, other = pair.partition(",")
        async for page in pages_of(self._table, pair_partition(one, other), prefix=LISTED):
            strays += [item for item in page if not await self._is_right(item)]
        found = await self._table.get_many([_key(item) for item in strays])
        return [item for item in strays if _key(item) in found][:FAULTS_AT_ONCE]

    async def _is_right(self, item: Item) -> bool:
        return _lists(item, await self._threads.read(item["th"]))

    async def _unlist(self, item: Item) -> None:
        gone = Delete(_key(item), "th = :th", {":th": item["th"]})

        async def decide(change: Change) -> None:
            if not _lists(item, change.state):
                change.writes.append(gone)

        self._threads.uncache(item["th"])
        try:
            await self._threads.change(item["th"], decide)
        except ThreadNotFound:
            await self._table.write(gone)


class BlockCheck:
    """A block has an item with each of the two people. The blocker's item is authoritative."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._table = threads.table
        self._blocks = blocks

    async def faults(self, user_id: str) -> list[Fault]:
        halves = await self._halves(user_id)
        return [
            Fault("block_half", None, user_id, f"{one} blocks {other} on one side", "on both")
            for one, other in halves
        ][:FAULTS_AT_ONCE]

    async def mend(self, user_id: str, _: list[Fault]) -> None:
        for blocker, blocked in await self._halves(user_id):
            if await self._make_agree(blocker, blocked):
                await self._blocks.settle(blocker, blocked)

    async def _halves(self, user_id: str) -> list[tuple[str, str]]:
        """Blocks that have only one of their two items, at one version of the user's blocks."""
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            before = await self._table.get(blocks_version_key(user_id))
            halves: list[tuple[str, str]] = []
            async for page in pages_of(self._table, blocks_partition(user_id)):
                halves += await self._unknown_to_others(user_id, page)
            if not halves or before == await self._table.get(blocks_version_key(user_id)):
                return halves
        return []

    async def _unknown_to_others(self, user_id: str, page: list[Item]) -> list[tuple[str, str]]:
        other_side: dict[Key, tuple[str, str]] = {}
        for item in page:
            kind, _, other = item["sk"].partition("#")
            if kind == "OUT":
                other_side[block_keys(user_id, other)[1]] = (user_id, other)
            elif kind == "IN":
                other_side[block_keys(other, user_id)[0]] = (other, user_id)
        found = await self._table.get_many(other_side)
        return [pair for key, pair in other_side.items() if key not in found]

    async def _make_agree(self, blocker: str, blocked: str) -> bool:
        """Make the other item like the blocker's. False if the blocker's item changes meanwhile."""
        outgoing, incoming = block_keys(blocker, blocked)
        item = await self._table.get(outgoing)
        agreement: list[Write] = [Check(outgoing, UNLESS_THERE), Delete(incoming)]
        if item is not None:
            pk, sk = incoming
            agreement = [
                Check(outgoing, "attribute_exists(pk)"),
                Put({"pk": pk, "sk": sk, "at": item["at"]}),
            ]
        versions = [
            Update(blocks_version_key(user), "ADD v :one", values={":one": 1})
            for user in (blocker, blocked)
        ]
        try:
            await self._table.transact([*agreement, *versions])
        except Cancelled:
            return False
        return True


class OutboxCheck:
    """Finds changes that were committed more than a minute ago and are not projected to every inbox
    and feed. A projected record that was not deleted yet is no fault."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table

    async def faults(self, shard: str) -> list[Fault]:
        faults = []
        for item in await self._left_over(shard):
            is_note = item["sk"].startswith(BLOCK_NOTE)
            thread_id = None if is_note else item["sk"].partition("#")[0]
            found, right = f"{item['sk']} is not finished", "finished within seconds"
            faults.append(Fault("unfinished", thread_id, None, found, right))
        return faults

    async def mend(self, shard: str, _: list[Fault]) -> None:
        for item in await self._left_over(shard):
            if item["sk"].startswith(BLOCK_NOTE):
                await self._blocks.settle_note(item["sk"])
            else:
                await self._threads.projector.project(decode_record(item["record"]))

    async def _left_over(self, shard: str) -> list[Item]:
        before_ms = self._threads.clock() - SETTLED_MS
        left: list[Item] = []
        async for page in pages_of(self._table, OUTBOX + shard):
            for item in page:
                if item["at"] <= before_ms and await self._is_unfinished(item):
                    left.append(item)
                if len(left) == FAULTS_AT_ONCE:
                    return left
        return left

    async def _is_unfinished(self, item: Item) -> bool:
        if item["sk"].startswith(BLOCK_NOTE):
            return await self._table.get(_key(item)) is not None
        record = decode_record(item["record"])
        if await self._is_projected(record):
            return False
        # The record may have been projected and deleted meanwhile.
        return await self._table.get(_key(item)) is not None

    async def _is_projected(self, record: OutboxRecord) -> bool:
        keys = [row_key(record.thread_id, user) for user in record.users()]
        rows = await self._table.get_many(keys)
        return all(rows.get(key, {}).get("ver", 0) >= record.ver for key in keys)


def _lists(item: Item, state: StoredThread | None) -> bool:
    pair = None if state is None else state.pair()
    return state is not None and pair is not None and pair_key(*pair, state.started_n) == _key(item)


def _key(item: Item) -> Key:
    return item["pk"], item["sk"]
