"""Blocks on DynamoDB: stored with the two people, and copied to every thread that they share.

A send checks only the copy. To close the race between a block and a new shared thread, every
transaction that brings two people together is conditional on the version of their blocks, and a
block searches for shared threads after it has raised that version: one of the two sees the other.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from greenroom.conversations.dynamodb.changes.change import Change, Write
from greenroom.conversations.dynamodb.changes.projection import pause
from greenroom.conversations.dynamodb.changes.threads import ATTEMPTS, Threads
from greenroom.conversations.dynamodb.items.keys import (
    block_keys,
    blocks_partition,
    blocks_version_key,
    outbox_shard,
    user_partition,
)
from greenroom.conversations.people import NO_PROFILE
from greenroom.conversations.store import Block, BlockKey
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.table import Check, Delete, Put, Update
from greenroom.platform.idempotency import Kept, Once

PREFIX = "block#"
OUTGOING = "OUT#"


@dataclass(frozen=True, slots=True)
class KnownBlocks:
    """The blocks between one person and some others, read at a version."""

    user: str
    ver: int
    pairs: frozenset[tuple[str, str]]

    def unchanged(self) -> Check:
        key = blocks_version_key(self.user)
        if not self.ver:
            return Check(key, "attribute_not_exists(v)")
        return Check(key, "v = :v", {":v": self.ver})


class Blocks:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table

    async def known_blocks(self, user: str, others: Iterable[str]) -> KnownBlocks:
        ver, pairs = 0, set()
        for item in await self._table.query(blocks_partition(user)):
            kind, _, other = item["sk"].partition("#")
            if kind == "V":
                ver = item["v"]
            else:
                pairs.add((user, other) if kind == "OUT" else (other, user))
        wanted = {user, *others}
        return KnownBlocks(user, ver, frozenset(pair for pair in pairs if wanted.issuperset(pair)))

    async def page(self, blocker: str, *, after: BlockKey | None, limit: int) -> tuple[Block, ...]:
        """Newest first. Reads all blocks of the person and sorts them here; a start reads them all
        as well."""
        items = await self._table.query(blocks_partition(blocker), prefix=OUTGOING)
        places = sorted((item["at"], item["sk"].removeprefix(OUTGOING)) for item in items)
        places.reverse()
        if after is not None:
            places = [place for place in places if place < (after.at_ms, after.user_id)]
        page = places[:limit]
        profiles = await self._threads.profiles([user for _, user in page])
        return tuple(
            Block(user, *profiles.get(user, NO_PROFILE), created_at_ms=at_ms)
            for at_ms, user in page
        )

    async def block(self, blocker: str, blocked: str, once: Once | None) -> Kept | None:
        outgoing, incoming = block_keys(blocker, blocked)
        # A repeated block keeps the time of the first one.
        first, at = "SET #at = if_not_exists(#at, :at)", {":at": self._threads.clock()}
        ops: list[Write] = [
            Update(key, first, values=at, names={"#at": "at"}) for key in (outgoing, incoming)
        ]
        note = self._threads.randomness()
        kept = await self._write(blocker, blocked, ops, note, once)
        if kept is None:
            await self.settle(blocker, blocked)
            await self._delete_note(blocker, blocked, note)
        return kept

    async def unblock(self, blocker: str, blocked: str) -> None:
        outgoing, _ = block_keys(blocker, blocked)
        if await self._table.get(outgoing) is None:
            # Return at once, so that the time taken does not depend on shared threads.
            return
        ops: list[Write] = [Delete(key) for key in block_keys(blocker, blocked)]
        note = self._threads.randomness()
        await self._write(blocker, blocked, ops, note, None)
        await self.settle(blocker, blocked)
        await self._delete_note(blocker, blocked, note)

    async def _write(
        self, blocker: str, blocked: str, ops: list[Write], note: str, once: Once | None
    ) -> Kept | None:
        """Write the block with a note in the outbox, from which the sweeper updates the threads if
        this process crashes."""
        pk, sk = note_key(blocker, blocked)
        noted = Put({"pk": pk, "sk": sk, "at": self._threads.clock(), "id": note})
        versions = [
            Update(blocks_version_key(user), "ADD v :one", values={":one": 1})
            for user in sorted({blocker, blocked})
        ]
        answer = [] if once is None else [self._threads.put_answer(once, once.answer(None))]
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            try:
                await self._table.transact([*ops, noted, *versions, *answer])
            except Cancelled as cancelled:
                if cancelled.failed and once is not None:
                    return await self._threads.recall(once)
                continue
            return None
        raise Unavailable("Too many changes at once.", retry_after_s=1)

    async def settle(self, blocker: str, blocked: str) -> None:
        """Copy the blocks between the two to every thread that they share."""
        for thread_id in await self._shared_threads(blocker, blocked):
            await self._settle_thread(thread_id, blocker, blocked)

    async def settle_note(self, sort: str) -> None:
        """Do what a note in the outbox asks for, after a crash."""
        item = await self._table.get((outbox_shard(0), sort))
        if item is not None:
            blocker, _, blocked = sort.removeprefix(PREFIX).partition("#")
            await self.settle(blocker, blocked)
            await self._delete_note(blocker, blocked, item["id"])

    async def _delete_note(self, blocker: str, blocked: str, note: str) -> None:
        """Only this note: another one belongs to a later change that the threads may not have."""
        with suppress(ConditionFailed):
            await self._table.write(Delete(note_key(blocker, blocked), "id = :id", {":id": note}))

    async def _shared_threads(self, one: str, other: str) -> list[str]:
        mine, theirs = [
            {item["sk"] for item in await self._table.query(user_partition(user), prefix="THR#")}
            for user in (one, other)
        ]
        return sorted(sort.removeprefix("THR#") for sort in mine & theirs)

    async def _settle_thread(self, thread_id: str, blocker: str, blocked: str) -> None:
        async def decide(change: Change) -> None:
            state = change.state
            if blocker not in state.members or blocked not in state.members:
                return
            known = await self.known_blocks(blocker, [blocked])
            pair = (blocker, blocked)
            blocks = state.blocks | {pair} if pair in known.pairs else state.blocks - {pair}
            if blocks != state.blocks:
                change.state = replace(state, blocks=blocks)
                change.writes.append(known.unchanged())

        try:
            await self._threads.change(thread_id, decide)
        except ThreadNotFound:
            # The pointer of a start that failed or is not committed yet; a start reads blocks
            # again.
            return


def note_key(blocker: str, blocked: str) -> tuple[str, str]:
    return outbox_shard(0), f"{PREFIX}{blocker}#{blocked}"
