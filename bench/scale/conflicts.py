"""Simulates how often many server processes conflict that write to one thread, or to one person's
feed.

A discrete-event simulation of greenroom/conversations on DynamoDB. Every process remembers the last
version and writes on condition that it is unchanged. A process that is refused waits a random time
that doubles, reads the current version, and tries again with everything queued meanwhile.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

QUEUE = 4096
JITTER = 0.2
PAUSE_MS = 2.0
LONGEST_PAUSE_MS = 200.0


@dataclass(frozen=True, slots=True)
class Shape:
    """The parts of a write: the conditional one, and the writes before and after it."""

    batch: int
    attempts: int
    before: int
    """Writes of the first attempt before the conditional one."""
    before_again: int
    """The same for a further attempt, after its read."""
    after: int
    """Writes after the conditional one; the process starts nothing else before they are done."""
    holds: bool
    """Whether it is a transaction: others are refused while it is in flight."""


THREAD = Shape(batch=30, attempts=16, before=0, before_again=0, after=2, holds=True)
"""A send: the transaction, then each person's inbox row and feed entry."""
FEED = Shape(batch=1, attempts=20, before=1, before_again=1, after=0, holds=False)
"""A feed entry: the inbox row that reserves its number, then the entry."""


@dataclass(frozen=True, slots=True)
class Load:
    shape: Shape
    processes: int
    latency_ms: float
    """Of a transaction, as the process sees it; a plain read or write takes half of that."""
    offered_per_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    done_per_s: float
    attempts_per_write: float
    p50_ms: float
    p99_ms: float
    offered: int
    refused: int
    """Answered with 503: the queue was full, or all attempts were refused."""


@dataclass(slots=True)
class _Process:
    version: int = 0
    waiting: deque[float] = field(default_factory=deque)
    under_way: list[float] = field(default_factory=list)
    attempts: int = 0


class _Simulation:
    def __init__(self, load: Load, random: Random) -> None:
        self._load = load
        self._shape = load.shape
        self._random = random
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self._now_ms = 0.0
        self._version = 0
        self._held = False
        self._processes = [_Process() for _ in range(load.processes)]
        self._waited_ms: list[float] = []
        self._offered = self._attempts = self._writes = self._refused = 0

    def run(self) -> Outcome:
        end_ms = self._load.seconds * 1000
        self._after(self._gap_ms(), self._arrive)
        while self._events[0][0] <= end_ms:
            self._now_ms, _, happen = heapq.heappop(self._events)
            happen()
        waited = sorted(self._waited_ms) or [0.0]
        return Outcome(
            done_per_s=len(self._waited_ms) / self._load.seconds,
            attempts_per_write=self._attempts / max(1, self._writes),
            p50_ms=waited[len(waited) // 2],
            p99_ms=waited[len(waited) * 99 // 100],
            offered=self._offered,
            refused=self._refused,
        )

    def _after(self, delay_ms: float, happen: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (self._now_ms + delay_ms, self._order, happen))

    def _gap_ms(self) -> float:
        return self._random.expovariate(self._load.offered_per_s) * 1000

    def _ways_ms(self, ways: int) -> float:
        """The way to DynamoDB, or back, takes a quarter of a transaction's latency; the other half
        is spent inside DynamoDB."""
        usual_ms = ways * self._load.latency_ms / 4
        return usual_ms * self._random.uniform(1 - JITTER, 1 + JITTER)

    def _arrive(self) -> None:
        process = self._random.choice(self._processes)
        self._offered += 1
        if len(process.waiting) < QUEUE:
            process.waiting.append(self._now_ms)
        else:
            self._refused += 1
        if not process.under_way:
            self._begin(process)
        self._after(self._gap_ms(), self._arrive)

    def _begin(self, process: _Process) -> None:
        self._fill(process)
        if process.under_way:
            process.attempts = 0
            version = process.version
            ways = 2 * self._shape.before + 1
            self._after(self._ways_ms(ways), lambda: self._write(process, version))

    def _fill(self, process: _Process) -> None:
        while process.waiting and len(process.under_way) < self._shape.batch:
            process.under_way.append(process.waiting.popleft())

    def _write(self, process: _Process, version: int) -> None:
        self._attempts += 1
        process.attempts += 1
        if self._held or version != self._version:
            self._after(self._ways_ms(1), lambda: self._pause(process))
        elif self._shape.holds:
            self._held = True
            self._after(self._ways_ms(2), lambda: self._commit(process))
        else:
            self._commit(process)

    def _commit(self, process: _Process) -> None:
        self._held = False
        self._version += 1
        self._writes += 1
        process.version = self._version
        self._after(self._ways_ms(1 + 2 * self._shape.after), lambda: self._finish(process))

    def _finish(self, process: _Process) -> None:
        self._waited_ms += [self._now_ms - came_ms for came_ms in process.under_way]
        process.under_way.clear()
        self._begin(process)

    def _pause(self, process: _Process) -> None:
        if process.attempts >= self._shape.attempts:
            self._refused += len(process.under_way)
            process.under_way.clear()
            self._begin(process)
            return
        most_ms = min(LONGEST_PAUSE_MS, PAUSE_MS * 2**process.attempts)
        delay_ms = self._random.uniform(0, most_ms) + self._ways_ms(1)
        self._after(delay_ms, lambda: self._look(process))

    def _look(self, process: _Process) -> None:
        """The moment of the read inside DynamoDB; its answer is still on its way."""
        self._fill(process)
        version = self._version
        ways = 2 + 2 * self._shape.before_again
        self._after(self._ways_ms(ways), lambda: self._write(process, version))


def simulate(load: Load, seed: int) -> Outcome:
    """The same load and seed give the same outcome."""
    return _Simulation(load, Random(f"{seed} {load}")).run()
