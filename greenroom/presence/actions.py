"""What people can do: type, be online, and watch both in some threads."""

from collections.abc import Iterable, Sequence

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.bus.port import Bus
from greenroom.presence.model import Lifetimes, Snapshot, is_possible_id
from greenroom.presence.recent import RecentKeys
from greenroom.presence.rounds import Rounds
from greenroom.presence.store import SEEN_BATCH, PresenceStore, TypingEnded
from greenroom.presence.watches import Deliver, Watch, Watches

TYPING_TOPIC = "typing"
"""Bus topic: ids of threads in which somebody started, continued or stopped typing."""
SEEN_TOPIC = "seen"
"""Bus topic: ids of people whose visible presence may have changed: they came online, or a block
was set or removed."""

REMEMBERED = 100_000
END_BATCH = 200


class Presence:
    """Typing and presence. Messages between servers contain only ids; what a viewer may see is read
    from the store each time."""

    def __init__(self, store: PresenceStore, bus: Bus, *, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._limits = limits
        self._lifetimes = lifetimes = Lifetimes.of(limits)
        self._watches = Watches(store, clock=clock, limits=limits)
        self._typed_in = RecentKeys(REMEMBERED, lifetimes.typing_ms, clock)
        self._typed_on = RecentKeys(REMEMBERED, lifetimes.typing_ms, clock)
        # Half the refresh interval, so that no refresh is skipped.
        self._seen = RecentKeys(REMEMBERED, limits.presence_refresh_s * 500, clock)
        self._signs = Rounds(
            "Noting presence", self._note_seen, batch_limit=SEEN_BATCH, queue_limit=REMEMBERED
        )
        self._ends = Rounds(
            "Ending typing", self._end_typing, batch_limit=END_BATCH, queue_limit=REMEMBERED
        )
        self._farewells = Rounds(
            "Forgetting devices", self._forget, batch_limit=END_BATCH, queue_limit=REMEMBERED
        )
        bus.subscribe(TYPING_TOPIC, self._hear_typing)
        bus.subscribe(SEEN_TOPIC, self._watches.look_again_at)
        bus.on_gap(self._watches.note_gap)

    async def set_typing(self, user: str, thread_id: str, on: bool, device: str = "") -> None:
        """A device of this person is typing, or has stopped. Raises ThreadNotFound.

        `device` is the connection's id; calls without one count as one device per person.
        """
        if not is_possible_id(thread_id):
            raise ThreadNotFound
        now_ms = self._clock()
        if on and device:
            self._typed_on.add(device)
        until_ms = now_ms + self._lifetimes.typing_ms if on else None
        if await self._store.set_typing(user, thread_id, device, until_ms, now_ms):
            self._bus.publish(TYPING_TOPIC, [thread_id])

    def message_sent(self, user: str, thread_id: str) -> None:
        """End the author's typing. Does nothing if nobody was typing in the thread recently."""
        if thread_id in self._typed_in:
            self._ends.add(
                [TypingEnded(user, thread_id, self._clock() + self._lifetimes.typing_ms)]
            )

    def connection_ended(self, device: str) -> None:
        """End the typing of a closed connection. Does nothing if it never typed."""
        if device in self._typed_on:
            self._farewells.add([device])

    async def seen(self, users: Iterable[str]) -> None:
        """These people are online now. Never raises: the next refresh repeats it."""
        news = [user for user in users if user not in self._seen]
        if news:
            self._signs.add(news)
            await self._signs.settled()

    def look_again_at(self, users: Iterable[str]) -> None:
        """What others may see of these people has changed, for example by a block or a removal."""
        self._bus.publish(SEEN_TOPIC, users)

    async def access_presence(self, viewer: str, thread_id: str) -> Snapshot:
        """What the viewer sees of the other participants now. Raises ThreadNotFound."""
        pair = (viewer, thread_id)
        found = await self._store.look([pair], self._clock()) if is_possible_id(thread_id) else {}
        if pair not in found:
            raise ThreadNotFound
        return found[pair]

    def watch(self, viewer: str, thread_ids: Iterable[str], deliver: Deliver) -> Watch:
        """Returns a watch that is not started. Raises InvalidRequest for too many threads."""
        return self._watches.open(viewer, thread_ids, deliver)

    def tick(self) -> None:
        """Once a second: tell of typing and presence that have expired."""
        self._watches.tick()

    async def refresh(self) -> None:
        """Every `presence_refresh_s`: read everything again, in case a bus message was lost."""
        await self._watches.refresh()

    async def prune(self) -> dict[str, int]:
        return await self._store.prune(self._clock(), self._limits.maintenance_batch)

    async def settled(self) -> None:
        """Wait for running background work."""
        for rounds in (self._signs, self._ends, self._farewells):
            await rounds.settled()
        await self._watches.settled()

    async def close(self) -> None:
        """Stop background work. Typing and presence in the store expire by themselves."""
        for rounds in (self._signs, self._ends, self._farewells):
            await rounds.close()
        await self._watches.close()

    def _hear_typing(self, thread_ids: Sequence[str]) -> None:
        for thread_id in thread_ids:
            self._typed_in.add(thread_id)
        self._watches.look_again(thread_ids)

    async def _note_seen(self, users: Sequence[str]) -> None:
        now_ms = self._clock()
        came = await self._store.seen(users, now_ms + self._lifetimes.presence_ms, now_ms)
        for user in users:
            self._seen.add(user)
        self._bus.publish(SEEN_TOPIC, came)

    async def _end_typing(self, ended: Sequence[TypingEnded]) -> None:
        self._bus.publish(TYPING_TOPIC, await self._store.end_typing(ended))

    async def _forget(self, devices: Sequence[str]) -> None:
        self._bus.publish(TYPING_TOPIC, await self._store.forget_devices(devices))
