"""Servers that share a database and a bus, and connections that listen on them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from greenroom.kernel.errors import Unavailable
from greenroom.platform.bus.port import LocalBus
from greenroom.presence.actions import Presence
from greenroom.presence.model import Pair, Snapshot
from greenroom.presence.store import PresenceStore, TypingEnded
from greenroom.presence.wire import Ephemeral, TypingView
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from greenroom.kernel.limits import Limits

    from .stage import Someone, Stage


class SharedBus(LocalBus):
    """Hears what every other one says, unless its cable is cut."""

    def __init__(self, all_buses: list[SharedBus]) -> None:
        super().__init__()
        self.is_cut = False
        self._all = all_buses
        all_buses.append(self)

    def publish(self, topic: str, items: Iterable[str]) -> None:
        said = list(items)
        for bus in self._all:
            if bus is self or not (bus.is_cut or self.is_cut):
                bus._hear(topic, said)

    def come_back(self) -> None:
        self.is_cut = False
        self._tell_of_gap()


class Gated:
    """A store that can be away, and whose looks are counted and can be held."""

    def __init__(self, store: PresenceStore) -> None:
        self._store = store
        self.is_away = False
        self.looks: list[Sequence[Pair]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_looking = asyncio.Event()

    async def look(self, pairs: Sequence[Pair], now_ms: int) -> dict[Pair, Snapshot]:
        self._check()
        self.looks.append(pairs)
        found = await self._store.look(pairs, now_ms)
        self.is_looking.set()
        await self.gate.wait()
        return found

    async def set_typing(
        self, user: str, thread_id: str, device: str, until_ms: int | None, now_ms: int
    ) -> bool:
        self._check()
        return await self._store.set_typing(user, thread_id, device, until_ms, now_ms)

    async def end_typing(self, ended: Sequence[TypingEnded]) -> list[str]:
        self._check()
        return await self._store.end_typing(ended)

    async def forget_devices(self, devices: Sequence[str]) -> list[str]:
        self._check()
        return await self._store.forget_devices(devices)

    async def seen(self, users: Sequence[str], until_ms: int, now_ms: int) -> list[str]:
        self._check()
        return await self._store.seen(users, until_ms, now_ms)

    async def prune(self, now_ms: int, limit: int) -> dict[str, int]:
        self._check()
        return await self._store.prune(now_ms, limit)

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable


class Server:
    """One process of the installation."""

    def __init__(self, store: Gated, bus: SharedBus, clock: FakeClock, limits: Limits) -> None:
        self.store = store
        self.bus = bus
        self.presence = Presence(store, bus, clock=clock, limits=limits)


class Connection:
    """What someone hears while they watch."""

    def __init__(self) -> None:
        self.events: list[Ephemeral] = []

    def __call__(self, event: Ephemeral) -> None:
        self.events.append(event)

    def heard(self) -> list[tuple[str, str, bool]]:
        """What came since the last time: kind, who, on or off."""
        events, self.events = self.events, []
        return [
            ("typing", each.user_id, each.on)
            if isinstance(each, TypingView)
            else ("presence", each.user_id, each.online)
            for each in events
        ]

    def frames(self) -> list[dict[str, object]]:
        events, self.events = self.events, []
        return [msgspec.json.decode(msgspec.json.encode(each)) for each in events]


class TwoServers:
    """Two servers, one database. `settled` waits until all that is under way has arrived."""

    def __init__(self, here: Server, there: Server) -> None:
        self.here = here
        self.there = there

    async def settled(self) -> None:
        for server in (self.here, self.there) * 2:
            await server.presence.settled()

    async def watch(self, server: Server, viewer: str, *thread_ids: str) -> Connection:
        connection = Connection()
        await server.presence.watch(viewer, thread_ids, connection).start()
        return connection

    def tick(self) -> None:
        for server in (self.here, self.there):
            server.presence.tick()


async def two_talking(stage: Stage) -> tuple[Someone, Someone, str]:
    ann, bob = await stage.people("ann", "bob")
    return ann, bob, await ann.thread_with(bob)
