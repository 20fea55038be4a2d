"""Upkeep on DynamoDB: one object in front of what each file beside it does."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.check_dynamodb import Check
from greenroom.conversations.erase_dynamodb import Erasure
from greenroom.conversations.export_dynamodb import Export
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.retention_dynamodb import Retention
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.upkeep import Erased, Fault, Progress
from greenroom.platform.dynamodb.metering import metered


class DynamoUpkeep:
    """Its promises are those of `ConversationUpkeep`. Where the store's process does upkeep too, it
    must be given the store's own `Threads`, which take one change of a thread at a time."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._check = Check(threads, blocks)
        self._export = Export(threads)
        self._erasure = Erasure(threads, blocks)
        self._retention = Retention(threads)

    def check(self, *, repair: bool, progress: Progress) -> AsyncIterator[Fault]:
        return self._check.run(repair=repair, progress=progress)

    def export(self, user_id: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        return self._export.run(user_id)

    async def check_may_erase(self, user_id: str) -> None:
        await self._erasure.check_allowed(user_id)

    def erase(self, user_id: str) -> AsyncIterator[Erased]:
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
    async def prune_messages(self) -> dict[str, int]:
        return {"message": await self._retention.prune()}
