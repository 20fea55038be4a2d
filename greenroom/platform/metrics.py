"""Prometheus metrics. Labelled children are cached, so that a request takes two dict lookups.

With PROMETHEUS_MULTIPROC_DIR (several workers), each worker writes its values to files there, and
any worker answers with the values of all.
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
FEED_READERS_LOST = Counter(
    "greenroom_feed_readers_lost", "Readers of the feed that died and were replaced"
)
FEED_BROKEN = Counter(
    "greenroom_feed_broken", "Streams that ended because their person's feed could not be read"
)
BACKGROUND_FAILURES = Counter(
    "greenroom_background_failures", "Rounds of background work that failed", ["job"]
)


class RequestMetrics:
    """Counts requests by route template, which keeps the number of labels small."""

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
    """The metrics as text. Blocks, because it reads files when there are several workers."""
    if MULTIPROCESS_VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
