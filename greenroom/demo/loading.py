"""The port for loading a sample: what differs between the conversation stores."""

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from greenroom.demo.crowd import Bulk
from greenroom.platform.postgres.pool import Session


@dataclass(frozen=True, slots=True)
class Begun:
    """A sample that is partly or completely loaded."""

    seed: int
    last_day: date
    is_whole: bool


class Contents(NamedTuple):
    threads: int
    messages: int


class Loading(Protocol):
    """A store that is being loaded, by one process at a time (`loading_alone`).

    Guarantees: a load may be interrupted at any moment, also by a kill. The next load continues it
    with the same seed and day, and nothing is loaded twice.
    """

    @property
    def accounts(self) -> Session:
        """A connection to the accounts, which are in PostgreSQL for every store."""
        ...

    async def begin(self, seed: int, today: date) -> Begun:
        """The sample that an earlier load began or finished; otherwise begin a new one."""
        ...

    async def set_city(self, thread_id: str, city: str, at_ms: int) -> None:
        """Set a thread's city, which no action of the product does yet. Safe to repeat."""
        ...

    async def finish(self, now_ms: int) -> None:
        """Call it after the last step. The sample is then complete and on disk."""
        ...

    async def load_bulk(self, bulk: Bulk, now_ms: int) -> bool:
        """Write generated people and messages. False if those of this seed exist already."""
        ...

    async def thread_of(self, author: str, client_id: str) -> str | None:
        """The thread that a message was sent to."""
        ...

    async def count(self) -> Contents:
        """Count what is loaded. Generated threads may be counted as of their load."""
        ...
