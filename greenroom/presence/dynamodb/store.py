"""Typing and presence on DynamoDB, in items with a TTL.

Typing of a device is stored at `TYP#{thread}`/`{user}#{device}`; the threads in which a connection
has typed at `DEV#{device}`/`{user}#{thread}`; presence at `PRS#{user}`/`PRS`. The thread's own item
decides who sees whom. DynamoDB deletes expired items up to two days late, so every expiry is
compared with the clock when it is read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from greenroom.conversations.dynamodb.items.keys import thread_key
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.metering import metered
from greenroom.platform.dynamodb.table import KEYS_PER_GET, Delete, Key, Put, Table
from greenroom.platform.dynamodb.values import Item
from greenroom.presence.model import Lifetimes, Pair, Snapshot, far_ms
from greenroom.presence.store import TypingEnded

REPEAT_MS = 1000
KEPT_S = 60
"""How long an item is kept after its expiry, because clocks differ."""
NOTED_S = 24 * 3600
"""The same for the item of a connection, which is written when typing starts and must outlive
it."""

PARALLEL_REQUESTS = 16
TYPING_READ = 1000
"""The most items that are read of a thread, including expired ones that are not deleted yet."""
NOTED_READ = 500
"""The most threads of a connection that are read; in others its typing expires by itself."""

# `until` is a reserved word in DynamoDB expressions.
UNTIL = {"#until": "until"}
IS_NO_REPEAT = "attribute_not_exists(pk) OR #until <= :repeat OR #until > :until"
IS_NOT_LATER = "#until <= :until"
IS_ONLINE_FOR_LESS = "#until > :now AND #until <= :far AND #until < :until"
IS_AWAY = "attribute_not_exists(pk) OR #until <= :now OR #until > :far"

Given = TypeVar("Given")
Result = TypeVar("Result")


class DynamoPresence:
    """`PresenceStore` in the table of the conversations, with items of its own.

    A write that is repeated after a lost response may find its own first attempt. If the two cannot
    be told apart, others get one event too many rather than none.
    """

    def __init__(self, table: Table, *, limits: Limits) -> None:
        self._table = table
        self._lifetimes = Lifetimes.of(limits)
        self._parallel = asyncio.Semaphore(PARALLEL_REQUESTS)

    @metered
    async def set_typing(
        self, user: str, thread_id: str, device: str, until_ms: int | None, now_ms: int
    ) -> bool:
        thread, key = thread_key(thread_id), _typing_key(thread_id, user, device)
        found = await self._table.get_many([thread, key])
        if thread not in found or not _Thread(found[thread]).is_known_to(user):
            raise ThreadNotFound
        known_ms: int = found[key]["until"] if key in found else 0
        if until_ms is None:
            return known_ms > now_ms and await self._stop(key)
        if until_ms - REPEAT_MS < known_ms <= until_ms:
            return False
        if device and known_ms <= now_ms:
            await self._note_device(device, user, thread_id, until_ms)
        return await self._type(key, until_ms)

    async def _stop(self, key: Key) -> bool:
        await self._table.write(Delete(key))
        return True

    async def _note_device(self, device: str, user: str, thread_id: str, until_ms: int) -> None:
        """Written before the typing item, so that this can always be found by its connection."""
        note = {"pk": _device_pk(device), "sk": f"{user}#{thread_id}"}
        await self._table.write(Put({**note, "ttl": _seconds(until_ms) + NOTED_S}))

    async def _type(self, key: Key, until_ms: int) -> bool:
        values = {":until": until_ms, ":repeat": until_ms - REPEAT_MS}
        there = await self._put_if(IS_NO_REPEAT, values, key, until_ms)
        return there is None or there.get("until") == until_ms

    async def _put_if(
        self, condition: str, values: Mapping[str, Any], key: Key, until_ms: int
    ) -> Item | None:
        """None if it was written; otherwise the existing item, empty if there is none."""
        pk, sk = key
        item = {"pk": pk, "sk": sk, "until": until_ms, "ttl": _seconds(until_ms) + KEPT_S}
        try:
            await self._table.write(Put(item, condition, dict(values), UNTIL))
        except ConditionFailed as failure:
            return failure.item or {}
        return None

    @metered
    async def end_typing(self, ended: Sequence[TypingEnded]) -> list[str]:
        ends_ms: dict[Pair, int] = {}
        for user, thread_id, until_ms in ended:
            ends_ms[user, thread_id] = max(until_ms, ends_ms.get((user, thread_id), 0))
        typed = await self._typed_in({thread_id for _, thread_id in ends_ms})
        over = [
            (item, ends_ms[pair])
            for thread_id, items in typed.items()
            for item in items
            if (pair := (_typist(item), thread_id)) in ends_ms and item["until"] <= ends_ms[pair]
        ]
        has_ended = await self._each(over, self._end)
        return sorted(
            {_typed_thread(item) for (item, _), yes in zip(over, has_ended, strict=True) if yes}
        )

    async def _end(self, over: tuple[Item, int]) -> bool:
        """Delete unless it was prolonged since it was read."""
        item, until_ms = over
        key = (item["pk"], item["sk"])
        try:
            await self._table.write(Delete(key, IS_NOT_LATER, {":until": until_ms}, UNTIL))
        except ConditionFailed as failure:
            return failure.item is None
        return True

    @metered
    async def forget_devices(self, devices: Sequence[str]) -> list[str]:
        """The items of the connections stay until DynamoDB expires them, which is free."""
        distinct = [device for device in dict.fromkeys(devices) if device]
        notes = await self._each(distinct, self._notes_of)
        keys = [
            _typing_key(thread_id, user, device)
            for device, found in zip(distinct, notes, strict=True)
            for user, _, thread_id in (note["sk"].partition("#") for note in found)
        ]
        typed = await self._get_many(keys)
        await self._table.write_many([Delete(key) for key in typed])
        return sorted({_typed_thread(item) for item in typed.values()})

    async def _notes_of(self, device: str) -> list[Item]:
        return await self._table.query(_device_pk(device), limit=NOTED_READ)

    @metered
    async def seen(self, users: Sequence[str], until_ms: int, now_ms: int) -> list[str]:
        distinct = list(dict.fromkeys(users))
        came = await self._each(distinct, lambda user: self._set_seen(user, until_ms, now_ms))
        return [user for user, has_come in zip(distinct, came, strict=True) if has_come]

    async def _set_seen(self, user: str, until_ms: int, now_ms: int) -> bool:
        """Returns whether they were offline. Most are online already, which takes one write."""
        if await self._prolong(user, until_ms, now_ms):
            return False
        if await self._set_online(user, until_ms, now_ms):
            return True
        # Another server has written it meanwhile, maybe with an earlier expiry.
        await self._prolong(user, until_ms, now_ms)
        return False

    async def _prolong(self, user: str, until_ms: int, now_ms: int) -> bool:
        """Returns whether they were online; then they are until `until_ms` or longer."""
        far = far_ms(now_ms, self._lifetimes.presence_ms)
        values = {":until": until_ms, ":now": now_ms, ":far": far}
        there = await self._put_if(IS_ONLINE_FOR_LESS, values, _presence_key(user), until_ms)
        return there is None or now_ms < there.get("until", 0) <= far

    async def _set_online(self, user: str, until_ms: int, now_ms: int) -> bool:
        values = {":now": now_ms, ":far": far_ms(now_ms, self._lifetimes.presence_ms)}
        there = await self._put_if(IS_AWAY, values, _presence_key(user), until_ms)
        return there is None or there.get("until") == until_ms

    @metered
    async def look(self, pairs: Sequence[Pair], now_ms: int) -> dict[Pair, Snapshot]:
        threads = await self._threads({thread_id for _, thread_id in pairs})
        others = {
            (viewer, thread_id): threads[thread_id].active - {viewer}
            for viewer, thread_id in pairs
            if thread_id in threads and threads[thread_id].is_known_to(viewer)
        }
        typing, online = await asyncio.gather(
            self._typing({thread_id for _, thread_id in others}, now_ms),
            self._online(set(chain.from_iterable(others.values())), now_ms),
        )
        return {
            (viewer, thread_id): Snapshot(
                people,
                threads[thread_id].shown_to(viewer, people, typing[thread_id]),
                threads[thread_id].shown_to(viewer, people, online),
            )
            for (viewer, thread_id), people in others.items()
        }

    async def _threads(self, thread_ids: Collection[str]) -> dict[str, "_Thread"]:
        keys = {thread_key(thread_id): thread_id for thread_id in thread_ids}
        return {keys[key]: _Thread(item) for key, item in (await self._get_many(keys)).items()}

    async def _typing(self, thread_ids: Collection[str], now_ms: int) -> dict[str, dict[str, int]]:
        """Per thread and person, the latest expiry of typing on any of their devices."""
        far = far_ms(now_ms, self._lifetimes.typing_ms)
        found: dict[str, dict[str, int]] = {}
        for thread_id, items in (await self._typed_in(thread_ids)).items():
            ends = found[thread_id] = {}
            for item in items:
                if now_ms < item["until"] <= far:
                    ends[_typist(item)] = max(item["until"], ends.get(_typist(item), 0))
        return found

    async def _typed_in(self, thread_ids: Collection[str]) -> dict[str, list[Item]]:
        """The typing items of each thread, including expired ones."""
        items = await self._each(thread_ids, self._typed)
        return dict(zip(thread_ids, items, strict=True))

    async def _typed(self, thread_id: str) -> list[Item]:
        return await self._table.query(_typing_pk(thread_id), limit=TYPING_READ)

    async def _online(self, users: Collection[str], now_ms: int) -> dict[str, int]:
        far = far_ms(now_ms, self._lifetimes.presence_ms)
        keys = {_presence_key(user): user for user in users}
        return {
            keys[key]: item["until"]
            for key, item in (await self._get_many(keys)).items()
            if now_ms < item["until"] <= far
        }

    async def prune(self, now_ms: int, limit: int) -> dict[str, int]:  # noqa: ARG002 (the port's)
        """DynamoDB expires the items by itself."""
        return {}

    async def _get_many(self, keys: Collection[Key]) -> dict[Key, Item]:
        """In parallel requests."""
        listed = list(keys)
        parts = [listed[at : at + KEYS_PER_GET] for at in range(0, len(listed), KEYS_PER_GET)]
        found = await self._each(parts, self._table.get_many)
        return {key: item for some in found for key, item in some.items()}

    async def _each(
        self, given: Collection[Given], work: Callable[[Given], Awaitable[Result]]
    ) -> list[Result]:
        """The results in order, with at most PARALLEL_REQUESTS running."""

        async def in_turn(one: Given) -> Result:
            async with self._parallel:
                return await work(one)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(in_turn(one)) for one in given]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]


class _Thread:
    """The attributes of a thread's item that decide who sees whom."""

    def __init__(self, item: Item) -> None:
        self._members: dict[str, Item] = item["members"]
        self.active = frozenset(user for user, of in self._members.items() if of["s"] == "active")
        self._blocks = frozenset(item.get("blocks", ()))

    def is_known_to(self, user: str) -> bool:
        return user in self.active and bool(self._members[user].get("k"))

    def shown_to(
        self, viewer: str, people: Collection[str], ends: Mapping[str, int]
    ) -> dict[str, int]:
        """The entries of these people, without those behind a block in either direction."""
        return {
            user: ends[user]
            for user in people
            if user in ends and not self._blocks & {f"{viewer} {user}", f"{user} {viewer}"}
        }


def _typing_pk(thread_id: str) -> str:
    return f"TYP#{thread_id}"


def _typing_key(thread_id: str, user: str, device: str) -> Key:
    return _typing_pk(thread_id), f"{user}#{device}"


def _typed_thread(item: Item) -> str:
    return str(item["pk"]).removeprefix("TYP#")


def _typist(item: Item) -> str:
    return str(item["sk"]).partition("#")[0]


def _device_pk(device: str) -> str:
    return f"DEV#{device}"


def _presence_key(user: str) -> Key:
    return f"PRS#{user}", "PRS"


def _seconds(at_ms: int) -> int:
    return -(-at_ms // 1000)
