"""Indexes and copies that lag behind their table, as DynamoDB's do.

Each is a table of its own that gets what was written to the real one, by chance and late: what is
in one partition in the order of its writes, and partitions independently of each other. Reads that
do not ask for consistency are answered from there.
"""

import asyncio
import random
from collections import defaultdict
from typing import Any

import msgspec

from greenroom.platform.dynamodb.client import Send
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.transport import open_client

from .faults import WRITES, Answer, Json
from .world import WildClock

COPIES = ("copy", "GSI1", "GSI2")
MOST_LAG_MS = 30_000
AT_ONCE = 25

Written = tuple[int, Json, Json | None]
"""When, which item, and what it was from then on; None: it was deleted."""


async def make_copies(access: Access, table_name: str) -> None:
    client = open_client(access)
    for copy in COPIES:
        await create_table(client, f"{table_name}-{copy}")
    await client.close()


class Lagging:
    """What requests meet on the way to a table of which `make_copies` has made copies."""

    hits = 0
    """Nothing fails here."""

    def __init__(self, table_name: str, clock: WildClock, choose: random.Random) -> None:
        self._table_name = table_name
        self._clock = clock
        self._choose = choose
        self._pending: dict[str, dict[str, list[Written]]] = {
            copy: defaultdict(list) for copy in COPIES
        }
        # One at a time: what was written first must not arrive last, nor a read get ahead of it.
        self._catching_up = {copy: asyncio.Lock() for copy in COPIES}
        self.still: set[str] = set()
        """Copies that get nothing for the time being."""
        self.prompt: set[str] = set()
        """Copies that have everything at once."""

    def end(self) -> None:
        """It goes on: copies always lag."""

    async def __call__(self, send: Send, action: str, body: bytes) -> Answer:
        request: Json = msgspec.json.decode(body)
        if action in WRITES:
            answer = await send(action, body)
            await self._note(send, action, request)
            return answer
        copy = self._copy_for(action, request)
        if copy is None:
            return await send(action, body)
        if copy not in self.still:
            async with self._catching_up[copy]:
                await self._catch_up(send, copy)
        return await self._read(send, action, request, f"{self._table_name}-{copy}")

    def _copy_for(self, action: str, request: Json) -> str | None:
        """None: this read is consistent."""
        if "IndexName" in request:
            return str(request["IndexName"])
        if action == "BatchGetItem":
            [request] = request["RequestItems"].values()
        return None if request.get("ConsistentRead") else "copy"

    async def _note(self, send: Send, action: str, request: Json) -> None:
        keys = [{"pk": key["pk"], "sk": key["sk"]} for key in _written(action, request)]
        wanted = {self._table_name: {"Keys": keys, "ConsistentRead": True}}
        _, body = await send("BatchGetItem", msgspec.json.encode({"RequestItems": wanted}))
        found = msgspec.json.decode(body)["Responses"].get(self._table_name, [])
        items = {(item["pk"]["S"], item["sk"]["S"]): item for item in found}
        for key in keys:
            item = items.get((key["pk"]["S"], key["sk"]["S"]))
            for copy in COPIES:
                self._pending[copy][key["pk"]["S"]].append((self._clock.now_ms, key, item))

    async def _catch_up(self, send: Send, copy: str) -> None:
        items: dict[tuple[str, str], Json] = {}
        for written in self._pending[copy].values():
            ages = [abs(self._clock.now_ms - at_ms) for at_ms, _, _ in written]
            due = max((n for n, age in enumerate(ages, start=1) if age > MOST_LAG_MS), default=0)
            if copy in self.prompt:
                due = len(written)
            cut = self._choose.randint(due, len(written))
            for _, key, item in written[:cut]:
                change = {"PutRequest": {"Item": item}} if item else {"DeleteRequest": {"Key": key}}
                items[key["pk"]["S"], key["sk"]["S"]] = change
            del written[:cut]
        changes = list(items.values())
        for at in range(0, len(changes), AT_ONCE):
            wanted = {f"{self._table_name}-{copy}": changes[at : at + AT_ONCE]}
            await send("BatchWriteItem", msgspec.json.encode({"RequestItems": wanted}))

    async def _read(self, send: Send, action: str, request: Json, name: str) -> Answer:
        if action != "BatchGetItem":
            return await send(action, msgspec.json.encode({**request, "TableName": name}))
        wanted = {name: request["RequestItems"][self._table_name]}
        status, body = await send(action, msgspec.json.encode({**request, "RequestItems": wanted}))
        answer = msgspec.json.decode(body)
        found = {self._table_name: answer["Responses"].get(name, [])}
        return status, msgspec.json.encode({**answer, "Responses": found})


def _written(action: str, request: Json) -> list[Any]:
    """The keys, or items, that a write names."""
    if action == "TransactWriteItems":
        parts = [part for entry in request["TransactItems"] for part in entry.values()]
    elif action == "BatchWriteItem":
        [entries] = request["RequestItems"].values()
        parts = [part for entry in entries for part in entry.values()]
    else:
        parts = [request]
    return [part.get("Item") or part["Key"] for part in parts]
