"""Blocks on DynamoDB: kept with the two people, and copied onto every thread that they share.

A send looks at the copy only. So that none can slip in between, whatever brings two people together
is conditional on the version of their blocks, and a block looks for their threads after it has
raised that version: one of the two sees the other.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

from greenroom.conversations.keys_dynamodb import (
    block_keys,
    blocks_partition,
    blocks_version_key,
    outbox_shard,
    user_partition,
)
from greenroom.conversations.projection_dynamodb import pause
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.threads_dynamodb import ATTEMPTS, Threads
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.table import Check, Delete, Put, Update
from greenroom.platform.idempotency import Kept, Once

PREFIX = "block#"


@dataclass(frozen=True, slots=True)
class Known:
    """The blocks of one person with some others, as of a version."""

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

    async def around(self, user: str, others: Iterable[str]) -> Known:
        ver, pairs = 0, set()
        for item in await self._table.query(blocks_partition(user)):
            kind, _, other = item["sk"].partition("#")
            if kind == "V":
                ver = item["v"]
            else:
                pairs.add((user, other) if kind == "OUT" else (other, user))
        wanted = {user, *others}
        return Known(user, ver, frozenset(pair for pair in pairs if wanted.issuperset(pair)))

    async def block(self, blocker: str, blocked: str, once: Once | None) -> Kept | None:
        outgoing, incoming = block_keys(blocker, blocked)
        at = {"at": self._threads.clock()}
        ops: list[Put | Delete] = [
            Put({"pk": key[0], "sk": key[1], **at}) for key in (outgoing, incoming)
        ]
        note = self._threads.randomness()
        kept = await self._write(blocker, blocked, ops, note, once)
        if kept is None:
            await self.settle(blocker, blocked)
            await self._forget_note(blocker, blocked, note)
        return kept

    async def unblock(self, blocker: str, blocked: str) -> None:
        outgoing, _ = block_keys(blocker, blocked)
        if await self._table.get(outgoing) is None:
            # Nor is anything else looked at: how long it takes tells nothing of shared threads.
            return
        ops: list[Put | Delete] = [Delete(key) for key in block_keys(blocker, blocked)]
        note = self._threads.randomness()
        await self._write(blocker, blocked, ops, note, None)
        await self.settle(blocker, blocked)
        await self._forget_note(blocker, blocked, note)

    async def _write(
        self, blocker: str, blocked: str, ops: list[Put | Delete], note: str, once: Once | None
    ) -> Kept | None:
        """With a note in the outbox, so that the threads follow even if this process does not."""
        pk, sk = note_key(blocker, blocked)
        noted = Put({"pk": pk, "sk": sk, "at": self._threads.clock(), "id": note})
        versions = [
            Update(blocks_version_key(user), "ADD v :one", values={":one": 1})
            for user in sorted({blocker, blocked})
        ]
        answer = [] if once is None else [self._threads.keeping(once, once.answer(None))]
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
        """Let every thread of the two say what their blocks say."""
        for thread_id in await self._shared_threads(blocker, blocked):
            await self._settle_thread(thread_id, blocker, blocked)

    async def settle_note(self, sort: str) -> None:
        """What somebody has noted and may not live to do."""
        item = await self._table.get((outbox_shard(0), sort))
        if item is not None:
            blocker, _, blocked = sort.removeprefix(PREFIX).partition("#")
            await self.settle(blocker, blocked)
            await self._forget_note(blocker, blocked, item["id"])

    async def _forget_note(self, blocker: str, blocked: str, note: str) -> None:
        """The one that was there before the threads were looked at: another is of a change that
        they may not have."""
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
            known = await self.around(blocker, [blocked])
            pair = (blocker, blocked)
            blocks = state.blocks | {pair} if pair in known.pairs else state.blocks - {pair}
            if blocks != state.blocks:
                change.state = replace(state, blocks=blocks)
                change.writes.append(known.unchanged())

        try:
            await self._threads.change(thread_id, decide)
        except ThreadNotFound:
            # Announced by a start that did not happen, or has yet to: that one looks again.
            return


def note_key(blocker: str, blocked: str) -> tuple[str, str]:
    return outbox_shard(0), f"{PREFIX}{blocker}#{blocked}"
