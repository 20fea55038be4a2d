"""The interface between the load and a system: how to start it, and to send through it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.peers.arrivals import Arrivals

PAIRS = 25

# Returns once the system has acknowledged the text; raises if it refused.
Send = Callable[[str], Awaitable[None]]


class UnavailableError(RuntimeError):
    """A system could not be installed or started here; the message says what would help."""


@dataclass(frozen=True, slots=True)
class Running:
    """A started system.

    `connect` logs in both people of every pair and yields the senders' ends; what reaches the
    receivers' ends goes to the arrivals. `stored` asks the database for the messages it holds.
    """

    version: str
    connect: Callable[[Arrivals], AbstractAsyncContextManager[list[Send]]]
    stored: Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class System:
    name: str
    acknowledged: str
    pushed: str
    install: Callable[[], None]
    start: Callable[[Path], AbstractContextManager[Running]]
