"""Checks that an address which is shown to other people is a public https address. The server never
fetches these addresses."""

import ipaddress
import re
from urllib.parse import urlsplit

from greenroom.kernel.errors import InvalidRequest

MOST_CHARACTERS = 2048

_VISIBLE = re.compile(r"[\x21-\x5b\x5d-\x7e]+")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NEVER_PUBLIC = frozenset(
    {"local", "internal", "localhost", "localdomain", "lan", "home", "corp", "intranet", "private"}
)


def check_public_address(name: str, url: str) -> str:
    """Return `url` if it is an https address of a public host, else raise InvalidRequest."""
    if len(url) > MOST_CHARACTERS:
        raise InvalidRequest(f"{name} has at most {MOST_CHARACTERS} characters")
    # Browsers remove or replace characters other than visible ASCII, and read a backslash as a
    # slash, so that they could open another host than the one checked here.
    if _VISIBLE.fullmatch(url) is None or not _is_public(url):
        raise InvalidRequest(f"{name} takes an https address of a public host, without a password")
    return url


def _is_public(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return False
    if parts.scheme != "https" or "@" in parts.netloc or not host:
        return False
    if parts.netloc.startswith("["):
        return _is_public_ipv6(host)
    return _is_public_name(host)


def _is_public_ipv6(host: str) -> bool:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return False
    if address.scope_id is not None or not _is_global(address):
        return False
    # IPv4 addresses embedded in IPv6 are refused: write them as IPv4.
    return address.ipv4_mapped is None and address.sixtofour is None and address.teredo is None


def _is_public_name(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]) is not None:
        # Browsers read every host that ends in a number as IPv4, also 0x7f.1 and 2130706433.
        return _is_public_ipv4(host)
    if len(labels) < 2 or len(host) > 253:
        return False
    if labels[-1] in _NEVER_PUBLIC or labels[-2:] == ["home", "arpa"]:
        return False
    return all(_LABEL.fullmatch(label) is not None for label in labels)


def _is_public_ipv4(host: str) -> bool:
    """Accepts only the usual form of four decimal numbers."""
    try:
        return _is_global(ipaddress.IPv4Address(host))
    except ValueError:
        return False


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved
