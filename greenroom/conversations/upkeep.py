"""The port for looking after what conversations have left behind: checking, exporting, forgetting.

Its adapter stands beside the store's and works on the same data; people go on writing meanwhile.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol

Progress = Callable[[int, int], None]
"""Called with what is done and what there is; the second is an estimate, 0 where there is none."""


class HeldError(Exception):
    """A legal hold forbids this; the message names a thread and says what to do."""

    def __init__(self, thread_id: str, reason: str | None) -> None:
        super().__init__(
            f"Thread {thread_id} is on legal hold ({reason}), so nothing of the people in it is "
            f"erased. When the hold has ended: `greenroom threads release {thread_id}`, then again."
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """Something derived that differs from what it is derived from."""

    kind: str
    thread_id: str | None
    user_id: str | None
    found: str
    right: str
    is_mended: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """What a step of an erasure has done."""

    messages: int = 0
    threads: int = 0


class ConversationUpkeep(Protocol):
    """Every adapter promises:

    - *Bounded.* Memory and the work of one transaction do not grow with the data.
    - *Consistent.* What is compared is of one moment. What is exported is of one moment where the
      database can read so; where it cannot, each thread and each message is as it was when it was
      reached, and whatever was there all the while is there once. What is changed is changed as the
      store changes it (under its locks, or on condition that nobody else has), so that all promises
      of `ConversationStore` hold before and after each step.
    - *Told.* Whoever sees something else afterwards has an event of it in their feed.
    - *Repeatable.* Killed at any moment and run again, everything ends as if run once.
    - *Held.* A thread on legal hold loses nothing.
    """

    def check(self, *, repair: bool, progress: Progress) -> AsyncIterator[Fault]:
        """Recount everything derived; yields what differs, at most 1000 faults per batch of
        threads or people. With `repair`, counts, heads, copies and inbox rows are set right; holes
        in a thread and times that are not the id's are told only, as there is nothing to tell right
        from wrong by. What changes too often to be compared is told of as `unchecked`."""
        ...

    def export(self, user_id: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Everything about one person as (section, item), each section whole before the next: what
        they wrote, wherever, and what they may see now; nothing else."""
        ...

    async def check_may_erase(self, user_id: str) -> None:
        """Raises HeldError when a thread that they are or were in is on hold."""
        ...

    def erase(self, user_id: str) -> AsyncIterator[Erased]:
        """Remove what one person wrote, step by step: bodies, also those kept for cases, become
        tombstones, and the subjects they gave go; they leave their threads; their inbox, feed,
        blocks and kept answers go. Order, seq, system notices, and everything of the others stay.
        What they send meanwhile goes too, if they may still send. Raises HeldError at a hold."""
        ...

    async def hold(self, thread_id: str, reason: str) -> None:
        """Nothing of this thread is removed until `release`. Raises ThreadNotFound. Twice is once;
        the last reason stays."""
        ...

    async def release(self, thread_id: str) -> None:
        """Raises ThreadNotFound; twice is once."""
        ...

    async def prune_messages(self) -> dict[str, int]:
        """Remove messages past their keeping time, oldest first, a bounded amount per call; says
        how many. What remains keeps its seq; an emptied thread stays."""
        ...
