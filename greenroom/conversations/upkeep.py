"""The port of maintenance on stored conversations: check, repair, export, erase, hold, retention.

Each store has an adapter in its `upkeep/`. All of it runs while people go on writing.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Progress = Callable[[int, int], None]
"""Called with (done, total); the total is an estimate, 0 if unknown."""


class HeldError(Exception):
    """A legal hold forbids the erasure; the message names the thread and says what to do."""

    def __init__(self, thread_id: str, reason: str | None) -> None:
        super().__init__(
            f"Thread {thread_id} is on legal hold ({reason}), so nothing of the people in it is "
            f"erased. When the hold has ended: `greenroom threads release {thread_id}`, then again."
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """A derived value that differs from the data it is derived from."""

    kind: str
    thread_id: str | None
    user_id: str | None
    found: str
    right: str
    is_mended: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """What one step of an erasure has removed."""

    messages: int = 0
    threads: int = 0


class ConversationUpkeep(Protocol):
    """Every adapter guarantees:

    - *Bounded.* Memory and the work of one transaction do not grow with the data.
    - *Consistent.* Values that are compared are read at the same moment. An export is a snapshot if
      the database supports one; otherwise each thread and message is exported as it was when it was
      read, and whatever existed during the whole export is in it once. Changes use the same locks
      or conditions as the store, so that all guarantees of `ConversationStore` hold before and
      after each step.
    - *Events.* Whoever sees something else afterwards has an event of it in their feed.
    - *Repeatable.* If killed at any moment and run again, the result is the same as of one run.
    - *Legal hold.* Nothing is removed from a thread on legal hold.
    """

    def check(self, *, repair: bool, progress: Progress) -> AsyncGenerator[Fault, None]:
        """Compute all derived values again and yield the differences, at most 1000 per batch of
        threads or people. With `repair`, counts, feed heads, copies and inbox rows are corrected.
        Gaps in a thread and times that differ from the id are only reported, because nothing says
        what the right value is. What changes too often to be compared is reported as `unchecked`.
        """
        ...

    def export(self, user_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        """Everything about one person as (section, item), one section after the other: all that
        they wrote and all that they may see now; nothing else."""
        ...

    async def check_may_erase(self, user_id: str) -> None:
        """Raises HeldError when a thread of which they are or were a participant is on hold."""
        ...

    def erase(self, user_id: str) -> AsyncGenerator[Erased, None]:
        """Remove what one person wrote, step by step. Their messages become tombstones, including
        the earlier versions kept for disputes; the subjects they gave are removed; they leave their
        threads; their inbox, feed, blocks and kept answers are deleted. The order and seq of
        messages, system messages and everything of other people stay. Messages that they send
        meanwhile are removed too. Raises HeldError at a thread on hold."""
        ...

    async def hold(self, thread_id: str, reason: str) -> None:
        """Keep everything of this thread until `release`. Repeating replaces the reason. Raises
        ThreadNotFound."""
        ...

    async def release(self, thread_id: str) -> None:
        """End a hold; without one, nothing happens. Raises ThreadNotFound."""
        ...

    async def held(self, thread_ids: Sequence[str]) -> frozenset[str]:
        """Those of these threads that are on hold."""
        ...

    async def prune_messages(self) -> dict[str, int]:
        """Delete messages past their retention time, oldest first, a bounded amount per call.
        Returns how many. The remaining messages keep their seq; an empty thread stays."""
        ...
