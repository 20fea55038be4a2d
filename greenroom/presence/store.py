"""The presence store's port: where it is known for some seconds who is typing and who is online."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from greenroom.presence.model import Pair, Snapshot

SEEN_BATCH = 100
LOOK_BATCH = 500


class Ended(NamedTuple):
    """A person's message has come: what they typed up to then has ended on every device."""

    user_id: str
    thread_id: str
    until_ms: int
    """The latest end that a sign given before the message can have. What is typed after it goes
    on, even if the message is told of late."""


class PresenceStore(Protocol):
    """What all servers of an installation know together.

    - *Durability.* None: a crash may forget everything. Whoever is there says so again.
    - *Ends.* Every sign has one, and from then on it is as if it had not been given. So is one
      whose end lies much more than a whole life ahead: it is from a clock that was set back.
    - *Visibility* is decided at the moment of the look, by what holds then. A thread that a viewer
      may not see, or no longer, is absent, for strangers and for missing ids alike. Nobody sees
      themselves. People with a block between them, either way, see each other as away.
    - *Atomicity.* Each sign changes in one step, and forward only where the call says so. A call
      about several may be seen, or fail, half done; repeating it completes it. A look sees every
      sign whose call had ended before it began; it may mix moments.
    - *Failure.* `Unavailable` means that the outcome is unknown; everything may be repeated.
    """

    async def set_typing(
        self, user: str, thread_id: str, device: str, until_ms: int | None, now_ms: int
    ) -> bool:
        """One device of a person types until then, or (None) has stopped. Raises ThreadNotFound.

        True if others have something to learn: it began, goes on for longer, or has stopped. What
        one device repeats within a second is not written again.
        """
        ...

    async def end_typing(self, ended: Sequence[Ended]) -> list[str]:
        """Messages have come. Returns the threads in which somebody was typing."""
        ...

    async def forget_devices(self, devices: Sequence[str]) -> list[str]:
        """Connections have ended. Returns the threads in which somebody was typing on one."""
        ...

    async def seen(self, users: Sequence[str], until_ms: int, now_ms: int) -> list[str]:
        """At most SEEN_BATCH people are online until then, or longer if that is known already.
        Returns those who were not online before; of two servers that note a newcomer at the same
        moment, both may name them."""
        ...

    async def look(self, pairs: Sequence[Pair], now_ms: int) -> dict[Pair, Snapshot]:
        """What each of at most LOOK_BATCH viewers sees in a thread; absent where they see none."""
        ...

    async def prune(self, now_ms: int, limit: int) -> dict[str, int]:
        """Forget what has ended, at most `limit` of each kind; says how much."""
        ...
