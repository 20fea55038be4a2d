"""CORS for exact origins, without credentials: callers use bearer tokens, never cookies."""

from collections.abc import Collection, Mapping

Header = tuple[bytes, bytes]

ALLOW_HEADERS = b"Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Range"
EXPOSE_HEADERS = b"X-Correlation-Id, Retry-After, ETag, Location, Allow, Content-Range"
PREFLIGHT_KEPT_S = b"600"

_VARY: Header = (b"vary", b"Origin")


class Cors:
    def __init__(self, allowed_origins: Collection[str]) -> None:
        self._for_origin: dict[bytes, list[Header]] = {}
        for origin in allowed_origins:
            raw = origin.encode("ascii")
            self._for_origin[raw] = [
                _VARY,
                (b"access-control-allow-origin", raw),
                (b"access-control-expose-headers", EXPOSE_HEADERS),
            ]
        # Without allowed origins no answer depends on the origin, so `Vary` is not needed.
        self._for_others: list[Header] = [_VARY] if self._for_origin else []

    def headers(self, origin: bytes | None) -> list[Header]:
        if origin is None:
            return self._for_others
        return self._for_origin.get(origin, self._for_others)

    def allows_socket(self, headers: Mapping[bytes, bytes]) -> bool:
        """Browsers let any page open a WebSocket and only send its origin, so it is checked here. A
        request without an origin does not come from a browser."""
        origin = headers.get(b"origin")
        if origin is None or origin in self._for_origin:
            return True
        _, separator, host = origin.partition(b"://")
        return bool(separator) and host.lower() == headers.get(b"host", b"").lower()

    def preflight_headers(self, origin: bytes | None, methods: str) -> list[Header]:
        if origin not in self._for_origin:
            return []
        return [
            (b"access-control-allow-methods", methods.encode("ascii")),
            (b"access-control-allow-headers", ALLOW_HEADERS),
            (b"access-control-max-age", PREFLIGHT_KEPT_S),
        ]
