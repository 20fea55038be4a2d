"""The port of the store that knows for some seconds who is typing and who is online."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from greenroom.presence.model import Pair, Snapshot

SEEN_BATCH = 100
LOOK_BATCH = 500


class TypingEnded(NamedTuple):
    """A person has sent a message: their typing before it ends on every device."""

    user_id: str
    thread_id: str
    until_ms: int
    """The latest expiry that typing before the message can have. Typing that started later goes on,
    even if this is processed late."""


class PresenceStore(Protocol):
    """Typing and presence, shared by all servers of an installation. An *entry* below is one device
    typing in a thread, or one person being online.

    - *Durability.* None: a crash may lose everything. Clients repeat what is still true.
    - *Expiry.* Every entry has an expiry, and counts as absent from then on. So does an entry whose
      expiry is much more than a lifetime ahead: it was written with a clock that was set back.
    - *Visibility* is decided when a snapshot is read. A thread that the viewer may not see, or no
      longer sees, is absent, for strangers and for missing ids alike. Nobody sees themselves.
      People with a block between them, in either direction, see each other as offline.
    - *Atomicity.* Each entry changes atomically. A call about several entries may be seen, or fail,
      half done; repeating it completes it. A snapshot includes every change whose call returned
      before it began; it may mix moments.
    - *Failure.* `Unavailable` means that the outcome is unknown; every call may be repeated.
    """

    async def set_typing(
        self, user: str, thread_id: str, device: str, until_ms: int | None, now_ms: int
    ) -> bool:
        """One device of a person types until `until_ms`, or has stopped (None). Raises
        ThreadNotFound.

        Returns whether others must be notified: it started, was prolonged, or stopped. A repeat of
        one device within a second is not written.
        """
        ...

    async def end_typing(self, ended: Sequence[TypingEnded]) -> list[str]:
        """End typing after messages. Returns the threads in which somebody was typing."""
        ...

    async def forget_devices(self, devices: Sequence[str]) -> list[str]:
        """End the typing of closed connections. Returns the threads in which they were typing."""
        ...

    async def seen(self, users: Sequence[str], until_ms: int, now_ms: int) -> list[str]:
        """At most SEEN_BATCH people are online until `until_ms`, or longer if that is already
        stored. Returns those who were not online before. Two servers that do this at the same
        moment may both return the same person."""
        ...

    async def look(self, pairs: Sequence[Pair], now_ms: int) -> dict[Pair, Snapshot]:
        """The snapshots of at most LOOK_BATCH (viewer, thread) pairs; without threads that the
        viewer does not see."""
        ...

    async def prune(self, now_ms: int, limit: int) -> dict[str, int]:
        """Delete expired entries, at most `limit` of each kind. Returns how many."""
        ...
