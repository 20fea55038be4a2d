"""Requests to other servers: the payment provider, the published keys, webhooks.

Redirects are not followed: nobody else may say where a request goes. There are no cookies, and
answers are bounded in time and size. `send` is for addresses of the configuration. `HttpClient`
keeps connections open, and with an `Egress` it is for addresses that somebody else has given.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from greenroom.platform.egress import Egress, EgressRefusedError, Way

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver
    from yarl import URL

KEPT_OPEN_S = 15.0
LOOKUPS_AT_ONCE = 8
KNOWN_URLS = 256

Lookup = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a name, in order of preference. Raises OSError if there are none."""


class HttpError(Exception):
    """There is no answer, or none that can be read; whether anything was done is unknown."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in lower case."""


async def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout_s: float,
    limit_bytes: int,
    use_proxy: bool = False,
    trusted: ssl.SSLContext | None = None,
) -> Reply:
    """The answer's status and body. Raises HttpError when there is none within the time, or more of
    it than the limit.

    `use_proxy` goes through the proxy that the environment names. `trusted` says whose certificates
    are accepted, by default those that the system trusts.
    """
    # Most programs make no request, and loading this takes a while.
    import aiohttp  # noqa: PLC0415
    from yarl import URL  # noqa: PLC0415

    # A password in the address is none of the server's, and would replace our own credentials.
    address = URL(url).with_user(None)
    connector = aiohttp.TCPConnector(ssl=trusted or True, force_close=True)
    async with _session(connector, use_proxy=use_proxy) as session:
        request = _Request(method, address, headers, body, timeout_s)
        return await _exchange(session, request, limit_bytes, cut=False)


class HttpClient:
    """Keeps connections open between requests, and never uses a proxy.

    A request whose connection is closed before the answer begins is made once more, because a
    server may close an idle connection at any moment: use it for requests that can be repeated.
    """

    def __init__(
        self,
        *,
        egress: Egress | None = None,
        connections: int = 100,
        trusted: ssl.SSLContext | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        """With `egress`, every URL, and every address that a socket is connected to, must be
        permitted by it. `lookup` finds the addresses of a name, by default as the system does."""
        self._egress = egress
        self._connections = connections
        self._trusted = trusted
        self._lookup = lookup
        self._names = None if lookup else ThreadPoolExecutor(LOOKUPS_AT_ONCE, "lookup")
        self._sessions: dict[Way, aiohttp.ClientSession] = {}
        self._target = lru_cache(KNOWN_URLS)(self._check)

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        if self._names is not None:
            self._names.shutdown(wait=False, cancel_futures=True)

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float,
        limit_bytes: int,
    ) -> Reply:
        """The answer's status, and as much of its body as the limit allows. Raises HttpError when
        the answer does not end within the time, or the address is refused."""
        import aiohttp  # noqa: PLC0415

        try:
            address, way = self._target(url)
        except EgressRefusedError as refusal:
            raise HttpError(f"refused: {refusal}") from refusal
        except ValueError as error:
            raise HttpError("the address cannot be read") from error
        session = self._session_of(way)
        request = _Request(method, address, headers, body, timeout_s)
        try:
            return await _exchange(session, request, limit_bytes, cut=True)
        except HttpError as error:
            if not isinstance(error.__cause__, aiohttp.ServerDisconnectedError):
                raise
            return await _exchange(session, request, limit_bytes, cut=True)

    def _check(self, url: str) -> "tuple[URL, Way]":
        from yarl import URL  # noqa: PLC0415

        address = URL(url)
        return address, "named" if self._egress is None else self._egress.check_url(address)

    def _session_of(self, way: Way) -> "aiohttp.ClientSession":
        session = self._sessions.get(way)
        if session is None:
            session = self._sessions[way] = _session(self._connector(way), use_proxy=False)
        return session

    def _connector(self, way: Way) -> "aiohttp.TCPConnector":
        import aiohttp  # noqa: PLC0415

        def open_socket(target: "aiohttp.AddrInfoType") -> socket.socket:
            family, kind, protocol, _, address = target
            if self._egress is not None and not self._egress.permits(str(address[0]), way):
                raise EgressRefusedError("the address is not one that requests may go to")
            return socket.socket(family, kind, protocol)

        return aiohttp.TCPConnector(
            ssl=self._trusted or True,
            limit=self._connections,
            keepalive_timeout=KEPT_OPEN_S,
            use_dns_cache=False,
            resolver=self._resolver(way),
            socket_factory=open_socket,
        )

    def _resolver(self, way: Way) -> "AbstractResolver":
        from aiohttp.abc import AbstractResolver, ResolveResult  # noqa: PLC0415

        find = partial(self._find, way)

        class Resolver(AbstractResolver):
            async def resolve(
                self,
                host: str,
                port: int = 0,
                family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002
            ) -> list[ResolveResult]:
                return [
                    ResolveResult(
                        hostname=host,
                        host=address,
                        port=port,
                        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                        proto=0,
                        flags=socket.AI_NUMERICHOST,
                    )
                    for address in await find(host, port)
                ]

            async def close(self) -> None: ...

        return Resolver()

    async def _find(self, way: Way, host: str, port: int) -> list[str]:
        """The permitted addresses of a name. They are connected to as they are: nobody looks the
        name up a second time."""
        found = await (self._lookup or self._look_up)(host, port)
        if self._egress is None:
            return found
        permitted = [each for each in found if self._egress.permits(each, way)]
        if found and not permitted:
            raise EgressRefusedError("no address of the host is one that requests may go to")
        return permitted

    async def _look_up(self, host: str, port: int) -> list[str]:
        """In threads of its own: a slow name server keeps nobody else waiting."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._names, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [str(address[0]) for *_, address in found]


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: "URL"
    headers: Mapping[str, str] | None
    body: bytes | None
    timeout_s: float


def _session(connector: "aiohttp.TCPConnector", *, use_proxy: bool) -> "aiohttp.ClientSession":
    import aiohttp  # noqa: PLC0415

    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("Accept-Encoding",),
        trust_env=use_proxy,
    )


async def _exchange(
    session: "aiohttp.ClientSession", request: _Request, limit_bytes: int, *, cut: bool
) -> Reply:
    import aiohttp  # noqa: PLC0415

    try:
        async with session.request(
            request.method,
            request.url,
            data=request.body,
            headers=request.headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=request.timeout_s),
        ) as answer:
            head = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(answer.status, await _read(answer, limit_bytes, cut=cut), head)
    except TimeoutError as error:
        raise HttpError(f"there was no answer within {request.timeout_s:g} s") from error
    except (aiohttp.ClientError, OSError) as error:
        if isinstance(getattr(error, "os_error", None), EgressRefusedError):
            raise HttpError("refused: the host's address is not public") from error
        # Its text can repeat the address, and that can hold a secret.
        raise HttpError(_what_failed(error)) from error


def _what_failed(error: Exception) -> str:
    import aiohttp  # noqa: PLC0415

    cause = getattr(error, "os_error", error)
    if isinstance(cause, socket.gaierror):
        return "the host's name is not known"
    if isinstance(error, aiohttp.ClientSSLError):
        return "there is no TLS connection: the certificate or the protocol is not accepted"
    if isinstance(cause, ConnectionRefusedError):
        return "the connection was refused: nothing listens there"
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "the connection was closed before there was an answer"
    return f"the connection failed ({type(error).__name__})"


async def _read(answer: "aiohttp.ClientResponse", limit_bytes: int, *, cut: bool) -> bytes:
    received = bytearray()
    async for part in answer.content.iter_any():
        received += part
        if len(received) > limit_bytes:
            if not cut:
                raise HttpError(f"the answer is longer than {limit_bytes} bytes")
            answer.close()
            return bytes(received[:limit_bytes])
    return bytes(received)
