"""Reading a request: its body, query and idempotency key, each within a limit."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope

from greenroom.kernel.errors import InvalidRequest, PayloadTooLarge, UnsupportedType

# A call without a body tolerates what careless clients send, such as `{}`.
UNWANTED_BODY_BYTES = 4096
QUERY_PAIRS = 32
QUERY_BYTES = 8192

_NUL_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_ECHOED_VALUE = re.compile(r"^(Invalid (?:enum )?value) .*?( - at `\$.*`)?$", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"unknown field `(?![\w.-]{1,64}`).*`", re.DOTALL)


class ClientGoneError(Exception):
    """The client hung up before its request was complete; nobody waits for an answer."""


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The whole body. Stops at once when there is, or is announced to be, more than `limit`."""
    announced = headers.get(b"content-length")
    if announced is not None and _length(announced) > limit:
        raise PayloadTooLarge
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise PayloadTooLarge
        return body
    return await _read_rest(receive, body, limit)


def _length(announced: bytes) -> int:
    if not announced.isdigit() or len(announced) > 18:
        raise InvalidRequest("Content-Length is not a number of bytes.")
    return int(announced)


async def _read_rest(receive: Receive, first: bytes, limit: int) -> bytes:
    chunks = [first]
    size = len(first)
    more = True
    while more:
        if size > limit:
            raise PayloadTooLarge
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk = message.get("body", b"")
        size += len(chunk)
        chunks.append(chunk)
        more = message.get("more_body", False)
    if size > limit:
        raise PayloadTooLarge
    return b"".join(chunks)


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
        raise InvalidRequest(_say(error)) from None
    except RecursionError:
        raise InvalidRequest("The JSON is nested too deeply.") from None
    # PostgreSQL cannot hold U+0000 in text; the escape is the only way to write it in JSON.
    if b"\\u0000" in raw and _NUL_ESCAPE.search(raw):
        raise InvalidRequest("Text may not contain U+0000.")
    return body


def _is_json(content_type: bytes) -> bool:
    return content_type.partition(b";")[0].strip().lower() == b"application/json"


def _say(error: ValueError) -> str:
    """msgspec's words with the field's path; never a value that the client sent."""
    if isinstance(error, UnicodeError):
        return "The body is not valid UTF-8."
    text = _ECHOED_VALUE.sub(r"\1\2", str(error))
    return _UNKNOWN_FIELD.sub("unknown field", text)


class QueryReader:
    """Decodes query strings into one struct type. An unknown or repeated parameter is refused."""

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
            raise InvalidRequest(_say(error)) from None

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
    """The ticket that stands in the place of an Authorization header."""
    pairs = _pairs(scope["query_string"])
    return next((value for name, value in pairs if name == "ticket"), None)


def no_query(query_string: bytes) -> None:
    if query_string:
        raise InvalidRequest("This call takes no query parameters.")


def any_query(_query_string: bytes) -> None:
    """Pages are linked to from elsewhere; what others append to their address is not ours."""


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
