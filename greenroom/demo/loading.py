"""What loading a sample needs beside the product's own verbs, which is another on every store."""

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from greenroom.demo.crowd import Bulk
from greenroom.platform.postgres import Session


@dataclass(frozen=True, slots=True)
class Begun:
    """A sample that is there in part, or whole."""

    seed: int
    last_day: date
    is_whole: bool


class Contents(NamedTuple):
    threads: int
    messages: int


class Loading(Protocol):
    """One store while it is loaded, by nobody else at the same time (`loading_alone`).

    A load may be cut short at any moment, also by a kill. The next one goes on with what was
    begun, as it was begun, and when it is done nothing is there twice.
    """

    @property
    def accounts(self) -> Session:
        """Where people are: in PostgreSQL, whatever the store."""
        ...

    async def begin(self, seed: int, today: date) -> Begun:
        """The sample that was begun earlier, perhaps whole; or else the one that begins now."""
        ...

    async def set_city(self, thread_id: str, city: str, at_ms: int) -> None:
        """No verb does this yet. Twice is once."""
        ...

    async def finish(self, now_ms: int) -> None:
        """All of the sample has been played. After this it is whole and on disk."""
        ...

    async def load_bulk(self, bulk: Bulk, now_ms: int) -> bool:
        """Writes a crowd and what it has said; False: this seed's is there already."""
        ...

    async def thread_of(self, author: str, client_id: str) -> str | None:
        """The thread that a message was sent to."""
        ...

    async def count(self) -> Contents:
        """What there is by now. Generated threads may be counted as they were loaded."""
        ...
