"""Encodes an `Answer` as ASGI messages: status, headers and body."""

from collections.abc import Sequence

import msgspec

from greenroom.platform.http.asgi import Message
from greenroom.platform.http.cors import Cors, Header
from greenroom.platform.http.endpoint import Answer

_SECURITY_HEADERS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_STRICT_CSP: Header = (
    b"content-security-policy",
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
_JSON: Header = (b"content-type", b"application/json")
_WITHOUT_BODY = frozenset({204, 304})

_encode_json = msgspec.json.Encoder().encode


class AnswerEncoder:
    def __init__(self, cors: Cors, always: Sequence[Header] = ()) -> None:
        """`always` are headers of every answer, also of those that open a WebSocket."""
        self._cors = cors
        self.always = tuple(always)

    def encode(
        self, answer: Answer, *, method: str, corr_id: str, origin: bytes | None
    ) -> tuple[Message, bytes]:
        raw = _raw(answer.body)
        headers: list[Header] = [
            (b"x-correlation-id", corr_id.encode("ascii")),
            *_SECURITY_HEADERS,
            *self.always,
            *self._cors.headers(origin),
        ]
        if answer.status not in _WITHOUT_BODY:
            headers.append((b"content-length", b"%d" % len(raw)))
            headers.extend(_content_headers(answer.content_type))
        if answer.headers:
            headers = _overlay(headers, answer)
        if method == "HEAD":
            raw = b""
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        return start, raw


def _raw(body: object) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    if isinstance(body, msgspec.Raw):
        return bytes(body)
    return _encode_json(body)


def _content_headers(content_type: str) -> list[Header]:
    if content_type == "application/json":
        return [_JSON]
    header = (b"content-type", content_type.encode("latin-1"))
    return [header, _STRICT_CSP] if content_type.startswith("text/html") else [header]


def _overlay(headers: list[Header], answer: Answer) -> list[Header]:
    """An endpoint's own headers replace the defaults, for example for caching."""
    own = {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in (answer.headers or {}).items()
    }
    return [each for each in headers if each[0] not in own] + list(own.items())
