"""The watches of this process: which connection watches which threads, and what it was sent
last."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import InvalidRequest, ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.presence.model import (
    NOTHING,
    Lifetimes,
    Pair,
    Snapshot,
    changes_between,
    is_possible_id,
)
from greenroom.presence.rounds import Rounds
from greenroom.presence.store import LOOK_BATCH, PresenceStore
from greenroom.presence.wire import Ephemeral, event_of

LOOK_QUEUE = 100_000

log = logging.getLogger("greenroom.presence")

Deliver = Callable[[Ephemeral], None]
"""Sends an event to one connection. Returns quickly and does not raise; may close the watch."""


class Watch:
    """One connection watching some threads. Nothing is delivered before `start`."""

    def __init__(
        self, watches: "Watches", viewer: str, thread_ids: Iterable[str], deliver: Deliver
    ) -> None:
        self.viewer = viewer
        self.deliver = deliver
        self.told: dict[str, Snapshot] = dict.fromkeys(thread_ids, NOTHING)
        self.is_open = True
        self.is_started = False
        self.is_behind = False
        """Something changed while the first snapshot was being read."""
        self._watches = watches

    async def start(self, *, instead_of: "Watch | None" = None) -> None:
        """Deliver the current state: who is typing or online.

        Raises ThreadNotFound if the viewer does not see one of the threads, and closes the watch.
        With `instead_of`, events are delivered first for what that watch reported and is no longer
        true, and it is closed; if this one cannot start, that one goes on.
        """
        try:
            await self._watches.start(self, instead_of)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop deliveries. May be called again."""
        self.is_open = False
        self._watches.forget(self)


class Watches:
    """All watches of this process.

    The store decides what a viewer may see. Its snapshot is compared with the last one that the
    watch was told, and only the differences are delivered. Typing that expires needs no new
    snapshot, because every renewal is announced. Presence is renewed without a word, so the store
    is asked again before somebody is said to be offline.
    """

    def __init__(self, store: PresenceStore, *, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._lifetimes = Lifetimes.of(limits)
        self._of_thread: dict[str, set[Watch]] = {}
        self._people: dict[str, frozenset[str]] = {}
        self._threads_of: dict[str, set[str]] = {}
        self._ends_ms: dict[tuple[Watch, str], int] = {}
        self._ticked_ms = 0
        self._looks = Rounds("Looking", self._look, batch_limit=LOOK_BATCH, queue_limit=LOOK_QUEUE)
        self._refreshes = Rounds("Refreshing", self._refresh, batch_limit=1, queue_limit=1)

    def open(self, viewer: str, thread_ids: Iterable[str], deliver: Deliver) -> Watch:
        watch = Watch(self, viewer, thread_ids, deliver)
        if len(watch.told) > self._limits.watched_threads:
            raise InvalidRequest(f"At most {self._limits.watched_threads} threads are watched.")
        return watch

    async def start(self, watch: Watch, instead_of: Watch | None) -> None:
        if not all(map(is_possible_id, watch.told)):
            raise ThreadNotFound
        for thread_id in watch.told:
            self._of_thread.setdefault(thread_id, set()).add(watch)
        pairs = [(watch.viewer, thread_id) for thread_id in watch.told]
        seen: dict[Pair, Snapshot] = {}
        for batch in _batches(pairs):
            seen |= await self._store.look(batch, self._clock())
        if len(seen) < len(pairs):
            raise ThreadNotFound
        if not watch.is_open:
            return
        if instead_of is not None:
            self._end_what_ended(instead_of, seen)
        watch.is_started = True
        for pair in pairs:
            self._tell(watch, pair, seen[pair])
        if watch.is_behind:
            self._looks.add(pairs)

    def _end_what_ended(self, old: Watch, seen: dict[Pair, Snapshot]) -> None:
        """Deliver what has ended through the old watch: the new one delivers only what is on."""
        for thread_id, told in list(old.told.items()):
            now = seen.get((old.viewer, thread_id))
            if now is not None:
                left = Snapshot(
                    told.others,
                    {user: told.typing[user] for user in told.typing.keys() & now.typing.keys()},
                    {user: told.online[user] for user in told.online.keys() & now.online.keys()},
                )
                self._tell(old, (old.viewer, thread_id), left)
        old.close()

    def forget(self, watch: Watch) -> None:
        for thread_id in list(watch.told):
            self._leave(watch, thread_id)

    def _leave(self, watch: Watch, thread_id: str) -> None:
        watch.told.pop(thread_id, None)
        self._ends_ms.pop((watch, thread_id), None)
        watching = self._of_thread.get(thread_id)
        if watching is not None:
            watching.discard(watch)
            if not watching:
                del self._of_thread[thread_id]
                self._know_people(thread_id, frozenset())

    def look_again(self, thread_ids: Iterable[str]) -> None:
        """Something may have changed in these threads."""
        pairs: list[Pair] = []
        for thread_id in thread_ids:
            for watch in self._of_thread.get(thread_id, ()):
                if watch.is_started:
                    pairs.append((watch.viewer, thread_id))
                else:
                    watch.is_behind = True
        self._looks.add(pairs)

    def look_again_at(self, users: Iterable[str]) -> None:
        """Something may have changed about these people."""
        for user in users:
            self.look_again(self._threads_of.get(user, ()))

    def note_gap(self) -> None:
        """Bus messages were lost: anything may have changed."""
        self._refreshes.add(["all"])

    async def refresh(self) -> None:
        """Read all watched threads again, in case a bus message was lost."""
        self._refreshes.add(["all"])
        await self._refreshes.settled()

    async def _refresh(self, _: Sequence[str]) -> None:
        pairs = {
            (watch.viewer, thread_id): None
            for thread_id, watching in self._of_thread.items()
            for watch in watching
            if watch.is_started
        }
        # One batch at a time, so that bus messages do not wait for all of them.
        for batch in _batches(list(pairs)):
            self._looks.add(batch)
            await self._looks.settled()

    async def _look(self, pairs: Sequence[Pair]) -> None:
        # Only started watches: one that starts meanwhile reads a newer snapshot itself.
        watching = {pair: found for pair in pairs if (found := self._watching(*pair))}
        if not watching:
            return
        seen = await self._store.look(list(watching), self._clock())
        for pair, watches in watching.items():
            for watch in watches:
                self._tell(watch, pair, seen.get(pair))

    def _watching(self, viewer: str, thread_id: str) -> list[Watch]:
        return [
            watch
            for watch in self._of_thread.get(thread_id, ())
            if watch.viewer == viewer and watch.is_started
        ]

    def _tell(self, watch: Watch, pair: Pair, seen: Snapshot | None) -> None:
        """Without `seen` the viewer no longer sees the thread: everything in it is turned off."""
        viewer, thread_id = pair
        if thread_id not in watch.told:
            return
        if seen is not None:
            self._know_people(thread_id, seen.others | {viewer})
        now_ms = self._clock()
        self._deliver(watch, thread_id, (seen or NOTHING).at(now_ms, self._lifetimes), now_ms)
        if seen is None:
            self._leave(watch, thread_id)

    def _deliver(self, watch: Watch, thread_id: str, now: Snapshot, now_ms: int) -> None:
        changes = changes_between(watch.told[thread_id], now)
        watch.told[thread_id] = now
        end_ms = now.first_end_ms()
        if end_ms is None:
            self._ends_ms.pop((watch, thread_id), None)
        else:
            self._ends_ms[watch, thread_id] = end_ms
        for change in changes:
            if watch.is_open:
                _deliver(watch, event_of(thread_id, change, now_ms))

    def _know_people(self, thread_id: str, people: frozenset[str]) -> None:
        """Remember whose presence concerns this thread, as of the last snapshot."""
        known = self._people.get(thread_id, frozenset())
        if people == known:
            return
        for user in known - people:
            threads = self._threads_of[user]
            threads.discard(thread_id)
            if not threads:
                del self._threads_of[user]
        for user in people - known:
            self._threads_of.setdefault(user, set()).add(thread_id)
        if people:
            self._people[thread_id] = people
        else:
            del self._people[thread_id]

    def tick(self) -> None:
        """Deliver what has expired. If the store does not answer, the next tick asks again."""
        now_ms = self._clock()
        # After the clock was set back, an expiry may be too far ahead to count.
        is_set_back = now_ms < self._ticked_ms
        self._ticked_ms = now_ms
        due = [key for key, end_ms in self._ends_ms.items() if end_ms <= now_ms or is_set_back]
        for watch, thread_id in due:
            told = watch.told.get(thread_id)
            if told is None:
                continue
            live = told.at(now_ms, self._lifetimes)
            if live.typing.keys() != told.typing.keys():
                self._deliver(watch, thread_id, replace(live, online=told.online), now_ms)
            if live.online.keys() != told.online.keys():
                self._looks.add([(watch.viewer, thread_id)])

    async def settled(self) -> None:
        await self._refreshes.settled()
        await self._looks.settled()

    async def close(self) -> None:
        await self._refreshes.close()
        await self._looks.close()


def _deliver(watch: Watch, event: Ephemeral) -> None:
    """If delivery fails, only this connection's watch is closed."""
    try:
        watch.deliver(event)
    except Exception:
        log.exception("a presence event could not be delivered; its watch is closed")
        watch.close()


def _batches(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    return [pairs[start : start + LOOK_BATCH] for start in range(0, len(pairs), LOOK_BATCH)]
