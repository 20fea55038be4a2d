"""Refuses request heads that a proxy and this server could interpret differently.

A proxy may have checked one of two `Authorization` headers, or may see the end of the body at
another place (request smuggling). Such ambiguous heads are refused.
"""

import re
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv6Address

from greenroom.kernel.errors import InvalidRequest

Fields = Sequence[tuple[bytes, bytes]]

# Below 2⁶³, so that no proxy overflows and sees another length.
LENGTH_DIGITS = 18
PORT_MOST = 65535

# Headers that this server uses and that must have a single value.
_SINGLE = frozenset(
    {
        b"access-control-request-method",
        b"authorization",
        b"content-length",
        b"content-type",
        b"expect",
        b"greenroom-signature",
        b"host",
        b"idempotency-key",
        b"last-event-id",
        b"origin",
        b"range",
        b"sec-websocket-key",
        b"sec-websocket-version",
        b"transfer-encoding",
    }
)
_HOST = re.compile(
    rb"(?:\[([0-9A-Fa-f:.]{2,45})\]|(?:[\w.~-]|%[0-9A-Fa-f]{2}){1,255})(?::(\d{0,5}))?"
)


def check_head(version: str, headers: Fields) -> dict[bytes, bytes]:
    """The header fields by name. Raises InvalidRequest."""
    fields = dict(headers)
    if len(fields) != len(headers):
        _check_single(headers)
    host = fields.get(b"host")
    if host is None and version != "1.0":
        raise InvalidRequest("HTTP/1.1 requires a Host header.")
    if host is not None and not _is_host(host):
        raise InvalidRequest("The Host header is not a host name with an optional port.")
    _check_framing(version, fields)
    return fields


def _check_single(headers: Fields) -> None:
    seen = set()
    for name, _ in headers:
        if name in seen and name in _SINGLE:
            raise InvalidRequest(f"The header {name.decode('ascii').title()} is given twice.")
        seen.add(name)


def _is_host(host: bytes) -> bool:
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    address, port = match.groups()
    if port and int(port) > PORT_MOST:
        return False
    return address is None or _is_ipv6(address.decode("ascii"))


def _is_ipv6(address: str) -> bool:
    try:
        IPv6Address(address)
    except AddressValueError:
        return False
    return True


def _check_framing(version: str, fields: dict[bytes, bytes]) -> None:
    coding, length = fields.get(b"transfer-encoding"), fields.get(b"content-length")
    if coding is not None:
        if version == "1.0" or length is not None or coding.lower() != b"chunked":
            raise InvalidRequest(
                "Transfer-Encoding takes `chunked` alone, over HTTP/1.1 and without Content-Length."
            )
    elif length is not None and not (length.isdigit() and len(length) <= LENGTH_DIGITS):
        raise InvalidRequest("Content-Length is not a number of bytes that can be sent.")
