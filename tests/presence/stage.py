"""People and threads for tests that do not care which store there is."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING, Any, Protocol

from greenroom.platform.dynamodb.table import Put, Table
from greenroom.presence.dynamodb.store import DynamoPresence
from greenroom.presence.postgres.store import PostgresPresence
from tests.support.api import Api, Person

if TYPE_CHECKING:
    import asyncpg

    from greenroom.kernel.limits import Limits
    from greenroom.presence.store import PresenceStore


class Stage(Protocol):
    """What the rest of the product would do, in the way of one store."""

    def store(self, limits: Limits) -> PresenceStore: ...

    async def people(self, *names: str) -> list[Someone]:
        """New people whom nobody has met before."""
        ...

    async def start(self, starter: str, others: list[str]) -> str:
        """A thread of all of these."""
        ...

    async def add(self, thread_id: str, user: str) -> None: ...

    async def leave(self, thread_id: str, user: str) -> None: ...

    async def hide(self, thread_id: str, user: str) -> None:
        """They are in it, and it does not exist for them yet."""
        ...

    async def block(self, blocker: str, blocked: str) -> None: ...

    async def unblock(self, blocker: str, blocked: str) -> None: ...


class Someone:
    def __init__(self, stage: Stage, user_id: str) -> None:
        self.id = user_id
        self._stage = stage

    async def thread_with(self, *others: Someone) -> str:
        return await self._stage.start(self.id, [other.id for other in others])

    async def leave(self, thread_id: str) -> None:
        await self._stage.leave(thread_id, self.id)

    async def block(self, other: Someone) -> None:
        await self._stage.block(self.id, other.id)

    async def unblock(self, other: Someone) -> None:
        await self._stage.unblock(self.id, other.id)


class PostgresStage:
    """Through the running product."""

    def __init__(self, api: Api, pool: asyncpg.Pool) -> None:
        self._api = api
        self._pool = pool
        self._people: dict[str, Person] = {}

    def store(self, limits: Limits) -> PresenceStore:
        return PostgresPresence(self._pool, limits=limits)

    async def people(self, *names: str) -> list[Someone]:
        people = await self._api.people(*names)
        self._people |= {person.id: person for person in people}
        return [Someone(self, person.id) for person in people]

    async def start(self, starter: str, others: list[str]) -> str:
        return await self._people[starter].thread_with(*map(self._people.__getitem__, others))

    async def add(self, thread_id: str, user: str) -> None:
        await self._api.backend.add(thread_id, user, "host")

    async def leave(self, thread_id: str, user: str) -> None:
        await self._people[user].leave(thread_id)

    async def hide(self, thread_id: str, user: str) -> None:
        row = "delete from inbox_index where thread_id = $1 and user_id = $2"
        await self._pool.execute(row, thread_id, user)

    async def block(self, blocker: str, blocked: str) -> None:
        await self._people[blocker].block(self._people[blocked])

    async def unblock(self, blocker: str, blocked: str) -> None:
        await self._people[blocker].unblock(self._people[blocked])


class DynamoStage:
    """By the items that presence reads of a conversation."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._threads: dict[str, dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def store(self, limits: Limits) -> PresenceStore:
        return DynamoPresence(self._table, limits=limits)

    async def people(self, *names: str) -> list[Someone]:
        number = next(self._numbers)
        return [Someone(self, f"{name}.{number}") for name in names]

    async def start(self, starter: str, others: list[str]) -> str:
        thread_id = f"thr_{secrets.token_hex(13)}"
        self._threads[thread_id] = {
            "pk": f"THR#{thread_id}", "sk": "THR", "ver": 0, "members": {}, "blocks": [],
        }  # fmt: skip
        for user in (starter, *others):
            self._threads[thread_id]["members"][user] = {"r": "host", "s": "active", "k": True}
        await self._write(thread_id)
        return thread_id

    async def add(self, thread_id: str, user: str) -> None:
        self._threads[thread_id]["members"][user] = {"r": "host", "s": "active", "k": True}
        await self._write(thread_id)

    async def leave(self, thread_id: str, user: str) -> None:
        self._threads[thread_id]["members"][user]["s"] = "left"
        await self._write(thread_id)

    async def hide(self, thread_id: str, user: str) -> None:
        del self._threads[thread_id]["members"][user]["k"]
        await self._write(thread_id)

    async def block(self, blocker: str, blocked: str) -> None:
        for thread_id, item in self._threads.items():
            if {blocker, blocked} <= item["members"].keys():
                item["blocks"].append(f"{blocker} {blocked}")
                await self._write(thread_id)

    async def unblock(self, blocker: str, blocked: str) -> None:
        for thread_id, item in self._threads.items():
            if f"{blocker} {blocked}" in item["blocks"]:
                item["blocks"].remove(f"{blocker} {blocked}")
                await self._write(thread_id)

    async def _write(self, thread_id: str) -> None:
        self._threads[thread_id]["ver"] += 1
        await self._table.write(Put(self._threads[thread_id]))
