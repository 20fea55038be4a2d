"""`ConversationUpkeep` on DynamoDB. Each other file of this folder does one of its tasks."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import thread_key
from greenroom.conversations.dynamodb.items.threads import state_from
from greenroom.conversations.dynamodb.upkeep.check import Check
from greenroom.conversations.dynamodb.upkeep.erase import Erasure
from greenroom.conversations.dynamodb.upkeep.export import Export
from greenroom.conversations.dynamodb.upkeep.retention import Retention
from greenroom.conversations.upkeep import Erased, Fault, Progress
from greenroom.platform.dynamodb.metering import metered


class DynamoUpkeep:
    """Its guarantees are those of `ConversationUpkeep`. In a process that also runs the store it
    must get the store's own `Threads`, so that both use the same locks."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._check = Check(threads, blocks)
        self._export = Export(threads)
        self._erasure = Erasure(threads, blocks)
        self._retention = Retention(threads)

    def check(self, *, repair: bool, progress: Progress) -> AsyncGenerator[Fault, None]:
        return self._check.run(repair=repair, progress=progress)

    def export(self, user_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        return self._export.run(user_id)

    async def check_may_erase(self, user_id: str) -> None:
        await self._erasure.check_allowed(user_id)

    def erase(self, user_id: str) -> AsyncGenerator[Erased, None]:
        return self._erasure.run(user_id)

    @metered
    async def hold(self, thread_id: str, reason: str) -> None:
        async def decide(change: Change) -> None:
            since_ms = change.now_ms if change.state.hold_ms is None else change.state.hold_ms
            if (change.state.hold_ms, change.state.hold_reason) != (since_ms, reason):
                change.state = replace(change.state, hold_ms=since_ms, hold_reason=reason)

        await self._threads.change(thread_id, decide)

    @metered
    async def release(self, thread_id: str) -> None:
        async def decide(change: Change) -> None:
            if change.state.hold_ms is not None:
                change.state = replace(change.state, hold_ms=None, hold_reason=None)

        await self._threads.change(thread_id, decide)

    @metered
    async def held(self, thread_ids: Sequence[str]) -> frozenset[str]:
        keys = [thread_key(each) for each in set(thread_ids)]
        found = await self._threads.table.get_many(keys)
        states = map(state_from, found.values())
        return frozenset(state.id for state in states if state.hold_ms is not None)

    @metered
    async def prune_messages(self) -> dict[str, int]:
        return {"message": await self._retention.prune()}
