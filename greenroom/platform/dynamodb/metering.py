"""Counts the capacity units that DynamoDB reports for each request, per operation of the store.

A request whose condition fails costs units as well, but its response does not say how many; it is
counted as a request without units.
"""

from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from prometheus_client import Counter

from greenroom.kernel.errors import Unreadable
from greenroom.kernel.kept import NOT_UNDERSTOOD

operation: ContextVar[str] = ContextVar("dynamodb_operation", default="other")
"""The running operation of the store, such as "append"; requests are counted under it."""

UNITS = Counter("greenroom_dynamodb_units", "Capacity units consumed", ["operation", "kind"])
REQUESTS = Counter("greenroom_dynamodb_requests", "Requests answered", ["operation", "action"])
THROTTLED = Counter("greenroom_dynamodb_throttled", "Answers that said to slow down")

READING_ACTIONS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})


P = ParamSpec("P")
T = TypeVar("T")


def metered(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorates an operation of a store: its units are counted under its name, and an item that
    cannot be decoded raises `Unreadable`."""

    @wraps(method)
    async def named(*args: P.args, **kwargs: P.kwargs) -> T:
        outer = operation.set(method.__name__)
        try:
            return await method(*args, **kwargs)
        except NOT_UNDERSTOOD as failure:
            raise Unreadable from failure
        finally:
            operation.reset(outer)

    return named


@dataclass(slots=True)
class _Spent:
    read_units: float = 0
    write_units: float = 0
    requests: int = 0


class Meter:
    """Counts requests and units per operation, for Prometheus and for `snapshot`."""

    def __init__(self) -> None:
        self._spent: dict[str, _Spent] = {}
        self._counters: dict[tuple[str, str], tuple[Counter, Counter, Counter]] = {}

    def __call__(self, action: str, read_units: float, write_units: float) -> None:
        running = operation.get()
        spent = self._spent.setdefault(running, _Spent())
        spent.read_units += read_units
        spent.write_units += write_units
        spent.requests += 1
        requests, reads, writes = self._resolve(running, action)
        requests.inc()
        reads.inc(read_units)
        writes.inc(write_units)

    def snapshot(self) -> dict[str, tuple[float, float, int]]:
        """Read units, write units and requests of each operation since the start."""
        return {
            name: (spent.read_units, spent.write_units, spent.requests)
            for name, spent in self._spent.items()
        }

    def begin_again(self) -> None:
        """Reset what `snapshot` shows; the Prometheus counters go on."""
        self._spent.clear()

    def _resolve(self, running: str, action: str) -> tuple[Counter, Counter, Counter]:
        """Label children are resolved once, as in `platform/metrics.py`."""
        found = self._counters.get((running, action))
        if found is None:
            found = self._counters[running, action] = (
                REQUESTS.labels(running, action),
                UNITS.labels(running, "read"),
                UNITS.labels(running, "write"),
            )
        return found


def consumed(action: str, answer: Mapping[str, Any]) -> tuple[float, float]:
    """The read and write units that a response reports, including indexes."""
    told = answer.get("ConsumedCapacity") or []
    reads = writes = 0.0
    for each in told if isinstance(told, list) else [told]:
        if "ReadCapacityUnits" in each or "WriteCapacityUnits" in each:
            # A transaction reports both; one that is repeated with its token only reads.
            reads += each.get("ReadCapacityUnits", 0)
            writes += each.get("WriteCapacityUnits", 0)
        elif action in READING_ACTIONS:
            reads += each["CapacityUnits"]
        else:
            writes += each["CapacityUnits"]
    return reads, writes
