"""What Prometheus sees. Label children are resolved once, so that a request costs two lookups.

With PROMETHEUS_MULTIPROC_DIR set (several workers), each worker writes to files in it and any
worker answers for all.
"""

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE = CONTENT_TYPE_LATEST
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WS"})
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REQUESTS = Counter("greenroom_http_requests", "Requests answered", ["route", "method", "status"])
DURATION = Histogram(
    "greenroom_http_request_seconds",
    "Time from the request's headers to the end of its answer",
    ["route", "method"],
    buckets=_BUCKETS_S,
)
IN_FLIGHT = Gauge(
    "greenroom_http_in_flight", "Requests being served now", multiprocess_mode="livesum"
)


BUS_CONNECTED = Gauge(
    "greenroom_bus_connected", "Processes that hear each other", multiprocess_mode="livesum"
)
HINTS = Counter("greenroom_bus_hints", "Hints between processes", ["topic", "direction"])


class RequestMetrics:
    """Counts requests by route template, so the labels are few."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._durations: dict[tuple[str, str], Histogram] = {}

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        counter = self._counters.get((route, method, status))
        duration = self._durations.get((route, method))
        if counter is None or duration is None:
            counter, duration = self._resolve(route, method, status)
        counter.inc()
        duration.observe(seconds)

    def _resolve(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        label = method if method in _METHODS else "OTHER"
        counter = REQUESTS.labels(route, label, str(status))
        duration = DURATION.labels(route, label)
        if label == method:
            self._counters[route, method, status] = counter
            self._durations[route, method] = duration
        return counter, duration


def render() -> bytes:
    """The text that Prometheus reads. Reads files when there are several workers, so it blocks."""
    if MULTIPROCESS_VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
