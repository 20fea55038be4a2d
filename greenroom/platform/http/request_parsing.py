"""Parses a request: body, query and idempotency key, each within a limit."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from greenroom.kernel.errors import InvalidRequest, PayloadTooLarge, UnsupportedType
from greenroom.platform.http.asgi import Receive, Scope

# Endpoints without a body accept a short one, because some clients send `{}`.
UNWANTED_BODY_BYTES = 4096
QUERY_PAIRS = 32
QUERY_BYTES = 8192

_NUL_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_ECHOED_VALUE = re.compile(r"^(Invalid (?:enum )?value) .*?( - at `\$.*`)?$", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"unknown field `(?![\w.-]{1,64}`).*`", re.DOTALL)


class ClientGoneError(Exception):
    """The client disconnected, so nobody waits for the answer."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The whole body. Raises PayloadTooLarge as soon as it, or its announced length, exceeds
    `limit`."""
    _announced_bytes(headers, limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise PayloadTooLarge
        return body
    return await _read_rest(receive, body, limit)


def _announced_bytes(headers: Mapping[bytes, bytes], limit: int) -> int | None:
    """The Content-Length; None for a chunked body."""
    announced = headers.get(b"content-length")
    if announced is None:
        return None if b"transfer-encoding" in headers else 0
    length = _length(announced)
    if length > limit:
        raise PayloadTooLarge
    return length


def _length(announced: bytes) -> int:
    if not announced.isdigit() or len(announced) > 18:
        raise InvalidRequest("Content-Length is not a number of bytes.")
    return int(announced)


async def _read_rest(receive: Receive, first: bytes, limit: int) -> bytes:
    body = bytearray(first)
    more = True
    while more:
        if len(body) > limit:
            raise PayloadTooLarge
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if len(body) > limit:
        raise PayloadTooLarge
    return bytes(body)


class BodyReader:
    """A body that is read while it arrives: the `StreamedBody` of a call."""

    def __init__(self, receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> None:
        """Raises PayloadTooLarge if a longer one is announced."""
        self.announced_bytes = _announced_bytes(headers, limit)
        self.is_complete = not has_body(headers)
        self._receive = receive
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received_bytes = 0
        while not self.is_complete:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            self.is_complete = not message.get("more_body", False)
            chunk: bytes = message.get("body", b"")
            received_bytes += len(chunk)
            if received_bytes > self._limit:
                raise PayloadTooLarge
            if chunk:
                yield chunk


def has_body(headers: Mapping[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def decode_body(decoder: msgspec.json.Decoder[Any], raw: bytes, content_type: bytes) -> Any:
    if not raw:
        raise InvalidRequest("This call takes a JSON body.")
    if content_type != b"application/json" and not _is_json(content_type):
        raise UnsupportedType
    return decode_json(decoder, raw)


def decode_json(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    try:
        body = decoder.decode(raw)
    except ValueError as error:
        raise InvalidRequest(_message(error)) from None
    except RecursionError:
        raise InvalidRequest("The JSON is nested too deeply.") from None
    # PostgreSQL text cannot contain U+0000; this escape is the only way to write it in JSON.
    if b"\\u0000" in raw and _NUL_ESCAPE.search(raw):
        raise InvalidRequest("Text may not contain U+0000.")
    return body


def _is_json(content_type: bytes) -> bool:
    return content_type.partition(b";")[0].strip().lower() == b"application/json"


def _message(error: ValueError) -> str:
    """msgspec's message with the field's path, without any value that the client sent."""
    if isinstance(error, UnicodeError):
        return "The body is not valid UTF-8."
    text = _ECHOED_VALUE.sub(r"\1\2", str(error))
    return _UNKNOWN_FIELD.sub("unknown field", text)


class QueryReader:
    """Decodes query strings into one struct type. Refuses unknown and repeated parameters."""

    def __init__(self, struct: Any) -> None:
        self._struct = struct
        fields = msgspec.structs.fields(struct)
        self._names = frozenset(each.encode_name for each in fields)
        self._lists = frozenset(each.encode_name for each in fields if _is_list(each.type))

    def __call__(self, query_string: bytes) -> Any:
        values = self._values(query_string) if query_string else {}
        try:
            return msgspec.convert(values, self._struct, strict=False)
        except ValueError as error:
            raise InvalidRequest(_message(error)) from None

    def _values(self, query_string: bytes) -> dict[str, str | list[str]]:
        values: dict[str, str | list[str]] = {}
        for name, value in _pairs(query_string):
            if name not in self._names:
                raise InvalidRequest("Unknown query parameter; see /docs for those of this call.")
            if "\0" in value:
                raise InvalidRequest(f"The query parameter `{name}` contains U+0000.")
            if name in self._lists:
                several = values.setdefault(name, [])
                if isinstance(several, list):
                    several.append(value)
            elif name in values:
                raise InvalidRequest(f"The query parameter `{name}` is given twice.")
            else:
                values[name] = value
        return values


def _is_list(field_type: Any) -> bool:
    kind = msgspec.inspect.type_info(field_type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(isinstance(each, msgspec.inspect.ListType) for each in kind.types)
    return isinstance(kind, msgspec.inspect.ListType)


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    if len(query_string) > QUERY_BYTES:
        raise InvalidRequest("The query string is too long.")
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=QUERY_PAIRS,
        )
    except ValueError:
        raise InvalidRequest("The query string is not valid.") from None


def ticket_in(scope: Scope) -> str | None:
    """The ticket in the query, which replaces the Authorization header."""
    pairs = _pairs(scope["query_string"])
    return next((value for name, value in pairs if name == "ticket"), None)


def no_query(query_string: bytes) -> None:
    if query_string:
        raise InvalidRequest("This call takes no query parameters.")


def any_query(_query_string: bytes) -> None:
    """Pages ignore the query string: other sites link to them and may append parameters."""


def query_reader(struct: Any, *, plain: bool) -> Callable[[bytes], Any]:
    if struct is not None:
        return QueryReader(struct)
    return any_query if plain else no_query


def read_idempotency_key(headers: Mapping[bytes, bytes], limit: int) -> str | None:
    raw = headers.get(b"idempotency-key")
    if raw is None:
        return None
    key = raw.decode("latin-1")
    if not key.strip() or len(key) > limit or not (key.isascii() and key.isprintable()):
        raise InvalidRequest(f"Idempotency-Key takes 1 to {limit} printable ASCII characters.")
    return key
