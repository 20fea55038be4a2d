"""Which addresses a request may go to whose URL somebody else has given.

Such a request may reach the public Internet and nothing else: not this machine, not the network it
stands in, not the metadata service of a cloud. `http_client` asks twice: `check_url` before a
request, and `permits` for the very address that a socket is about to be connected to. The second
one decides, so that a name that resolves to something else a moment later gains nothing.

`GREENROOM_EGRESS_ALLOW` names exceptions, for receivers in the own network and for tests.
"""

import ipaddress
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from yarl import URL

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Written down instead of asking `is_global`, whose answers differ between versions of Python.
_CLOSED_V4 = [
    IPv4Network(each)
    for each in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by customers of a provider; also a metadata service
        "127.0.0.0/8",  # this machine
        "168.63.129.16/32",  # a metadata service with a public address
        "169.254.0.0/16",  # link-local, where most metadata services are
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; also a metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
]
# Of IPv6 only the global unicast addresses are open. That leaves out everything that begins with
# zeros, which has the forms of IPv4 addresses (mapped, compatible, NAT64), and fc00::/7, fe80::/10,
# fec0::/10 and ff00::/8.
_OPEN_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = [
    IPv6Network(each)
    for each in (
        "2001::/23",  # protocol assignments, with Teredo, ORCHID and benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which has an IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
]
# The last 64 bits of an ISATAP address, which has an IPv4 address inside.
_ISATAP = {0x0000_5EFE, 0x0200_5EFE}

# A host whose last label is a number is an IPv4 address to most resolvers, however it is written.
_NUMERIC_LABEL = re.compile(r"(?:[0-9]+|0[xX][0-9a-fA-F]*)", re.ASCII)
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_HOST_CHARACTERS = 253
_ALLOWED_HOST_PORT = re.compile(r"(?P<host>[^:\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})")

Way = Literal["named", "tls", "plain"]
"""Which addresses a request may be connected to. `named`: any, because its host and port are
allowed by name. `tls`: public and allowed ones. `plain`: allowed ones only, because nothing public
is asked without TLS."""


class EgressRefusedError(OSError):
    """The address is not one that requests may go to. An OSError, because it is raised in the
    place of a failed connection."""


PLAIN = "an address begins with https:// unless GREENROOM_EGRESS_ALLOW names it"


@dataclass(frozen=True, slots=True)
class Egress:
    """What may be reached besides the public Internet."""

    networks: tuple[Network, ...] = ()
    names: frozenset[tuple[str, int]] = frozenset()

    def check_url(self, url: "URL") -> Way:
        """How this URL may be reached. Raises EgressRefusedError with a reason that can be shown:
        it says nothing about the network."""
        if url.scheme not in ("https", "http"):
            raise EgressRefusedError("an address begins with https://")
        if url.raw_user is not None or url.raw_password is not None:
            raise EgressRefusedError("an address has no user name and no password in it")
        host, port = _plain_host(url.raw_host or ""), url.port or 0
        if (host, port) in self.names:
            return "named"
        literal = _literal(host)
        if literal is None and not _HOST.fullmatch(host):
            raise EgressRefusedError("the host is not a name or an address in its usual form")
        way: Way = "tls" if url.scheme == "https" else "plain"
        if way == "plain" and not self.networks:
            raise EgressRefusedError(PLAIN)
        if literal is not None and not self.permits(str(literal), way):
            raise EgressRefusedError("the address is not public" if way == "tls" else PLAIN)
        return way

    def permits(self, text: str, way: Way) -> bool:
        """Whether a socket may be connected to this address."""
        if way == "named":
            return True
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False
        is_allowed = any(address in network for network in self.networks)
        return is_allowed or (way == "tls" and is_public(address))


def is_public(address: Address) -> bool:
    """Whether this is an address of the public Internet in its own form, not one inside another."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    return address in _OPEN_V6 and not any(address in network for network in _CLOSED_V6)


def parse_egress(text: str) -> Egress:
    """Reads `GREENROOM_EGRESS_ALLOW`: addresses, networks and host:port, separated by commas.
    Raises ValueError with the part that is none."""
    networks: list[Network] = []
    names: set[tuple[str, int]] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        named = _ALLOWED_HOST_PORT.fullmatch(part)
        if named is not None:
            names.add(_named(part, named["host"].strip("[]").lower(), int(named["port"])))
            continue
        try:
            networks.append(ipaddress.ip_network(part.strip("[]")))
        except ValueError:
            raise ValueError(part) from None
    return Egress(tuple(networks), frozenset(names))


def _named(part: str, host: str, port: int) -> tuple[str, int]:
    try:
        is_host = _literal(host) is not None or _HOST.fullmatch(host) is not None
    except EgressRefusedError:
        is_host = False
    if not is_host or not 0 < port < 65536:
        raise ValueError(part)
    return host, port


def _plain_host(host: str) -> str:
    """Without the dot at the end, which means the same host."""
    return host.lower().removesuffix(".")[: _HOST_CHARACTERS + 1]


def _literal(host: str) -> Address | None:
    """The address that the host is; None for a name. Raises EgressRefusedError for a number in one
    of the forms that only some programs read as an address: 2130706433, 0177.0.0.1, 0x7f.1, 127.1.
    """
    if ":" in host:
        try:
            return IPv6Address(host)
        except ValueError:
            raise EgressRefusedError("the host is not an address in its usual form") from None
    if not _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
        return None
    try:
        return IPv4Address(host)
    except ValueError:
        raise EgressRefusedError("the host is not an address in its usual form") from None
