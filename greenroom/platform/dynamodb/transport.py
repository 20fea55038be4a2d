"""Sends signed requests to DynamoDB over HTTP, with a connection pool and timeouts."""

from collections.abc import Callable

import aiohttp
from yarl import URL

from greenroom import __version__
from greenroom.kernel.clock import Clock, system_clock
from greenroom.platform.dynamodb.client import Client, Send
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.signing import Signer

CONNECTIONS = 64
CONNECT_TIMEOUT_S = 2
TIMEOUT_S = 5
KEPT_IDLE_S = 30


def open_client(access: Access, wrap: Callable[[Send], Send] | None = None) -> Client:
    """A client with its own connection pool. Tests use `wrap` to inject faults."""
    transport = HttpTransport(access)
    return Client(wrap(transport) if wrap else transport, close=transport.close)


class HttpTransport:
    """A `Send` over a bounded connection pool, which opens with the first request."""

    def __init__(
        self, access: Access, *, timeout_s: float = TIMEOUT_S, clock: Clock = system_clock
    ) -> None:
        self._url = URL(access.url)
        self._keys = access.keys
        self._timeout_s = timeout_s
        self._clock = clock
        host = self._url.host_port_subcomponent
        if host is None:
            raise ValueError(f"an address of DynamoDB needs a host: {access.url!r}")
        self._signer = Signer(access.region, host)
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, action: str, body: bytes) -> tuple[int, bytes]:
        keys = await self._keys()
        headers = self._signer.headers(action, body, keys, self._clock())
        session = self._session or self._open()
        try:
            async with session.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                return answer.status, await answer.read()
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        # No cookies and no unneeded headers.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEPT_IDLE_S),
            timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=CONNECT_TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "Accept-Encoding"),
            headers={"User-Agent": f"greenroom/{__version__}"},
        )
        return self._session
