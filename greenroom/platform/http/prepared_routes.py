"""Endpoints with everything that can be prepared before the first request."""

from dataclasses import dataclass
from typing import Any

import msgspec

from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import ANYONE, Caller, Endpoint, SocketEndpoint, Who
from greenroom.platform.http.request_parsing import (
    UNWANTED_BODY_BYTES,
    BodyReader,
    query_reader,
)

_ADMITS: dict[Who, frozenset[str] | None] = {
    Who.ANYONE: None,
    Who.PERSON: frozenset({"person"}),
    Who.BACKEND: frozenset({"backend"}),
    Who.PERSON_OR_BACKEND: frozenset({"person", "backend"}),
}


class Route:
    __slots__ = (
        "admits",
        "body_limit",
        "counts_time",
        "decoder",
        "endpoint",
        "handler",
        "name",
        "names",
        "read_query",
        "scope",
    )

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self.endpoint = endpoint
        self.handler = endpoint.handler
        self.admits = _ADMITS[endpoint.who]
        self.scope = endpoint.scope
        self.name = f"{endpoint.method} {endpoint.path}"
        self.names = endpoint.param_names
        # An upload takes as long as the client's network takes.
        self.counts_time = not endpoint.waits and endpoint.streamed_bytes is None
        self.read_query = query_reader(endpoint.query, plain=endpoint.plain)
        self.decoder: msgspec.json.Decoder[Any] | None = None
        self.body_limit = UNWANTED_BODY_BYTES
        if endpoint.body is not None:
            self.decoder = msgspec.json.Decoder(endpoint.body)
            self.body_limit = limits.request_bytes
        elif endpoint.streamed_bytes is not None:
            self.body_limit = endpoint.streamed_bytes


@dataclass(slots=True)
class RequestContext:
    """What is known of a request while it is handled; for the log and the metrics."""

    method: str
    headers: dict[bytes, bytes]
    corr_id: str
    caller: Caller = ANYONE
    template: str = "unmatched"
    counts_time: bool = True
    body: BodyReader | None = None
    """Of an endpoint that reads its body while it arrives."""


class SocketRoute:
    __slots__ = ("admits", "endpoint", "name", "read_query")

    def __init__(self, endpoint: SocketEndpoint) -> None:
        self.endpoint = endpoint
        self.admits = _ADMITS[endpoint.who]
        self.name = f"WS {endpoint.path}"
        self.read_query = query_reader(endpoint.query, plain=False)
