"""Sends signed requests to S3. Retries after throttling, lost connections and the like."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import aiohttp
from yarl import URL

from greenroom import __version__
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import Unavailable
from greenroom.platform.aws.signing import KeySource
from greenroom.platform.backoff import Backoff
from greenroom.platform.blobs.s3.documents import error_code
from greenroom.platform.blobs.s3.errors import refusal
from greenroom.platform.blobs.s3.signing import Bucket, Pairs, S3Signer

ATTEMPTS = 6
BACKOFF = Backoff(base_ms=50, cap_ms=2000, attempts=ATTEMPTS, floor_ms=0)
RETRY_AFTER_S = 2
CONNECTIONS = 32
CONNECT_TIMEOUT_S = 2
ANSWER_TIMEOUT_S = 10
SLOWEST_BYTES_PER_S = 64 * 1024
KEPT_IDLE_S = 30
ANSWER_BYTES = 4 * 1024 * 1024
"""The longest answer that is not a blob: a page of a list."""

NOTHING_SHA256 = hashlib.sha256().hexdigest()

_TEMPORARY = frozenset({429, 500, 502, 503, 504})
_TEMPORARY_CODES = frozenset(
    {
        "BadDigest",
        "IncompleteBody",
        "InternalError",
        "OperationAborted",
        "RequestTimeout",
        "SlowDown",
        "XAmzContentSHA256Mismatch",
    }
)


T = TypeVar("T")


class _Retryable(Exception):  # noqa: N818 (a failure that a repeat may fix)
    """An answer that means: try again."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent. `open` gives its bytes again for each attempt."""

    byte_count: int = 0
    sha256: str = NOTHING_SHA256
    open: Callable[[], AsyncIterator[bytes]] | None = None

    @classmethod
    def of(cls, data: bytes) -> "Body":
        async def once() -> AsyncIterator[bytes]:
            yield data

        return cls(len(data), hashlib.sha256(data).hexdigest(), once)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    key: str = ""
    query: Pairs = field(default_factory=dict)
    headers: Pairs = field(default_factory=dict)
    """In lower case."""
    body: Body = field(default_factory=Body)

    @property
    def what(self) -> str:
        return f"{self.method} {self.key or 'of the bucket'}"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class S3Client:
    """Access to one bucket. The connection pool opens with the first request."""

    def __init__(
        self,
        bucket: Bucket,
        keys: KeySource,
        *,
        clock: Clock = system_clock,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.signer = S3Signer(bucket)
        self.keys = keys
        self.clock = clock
        self._answer_timeout_s = answer_timeout_s
        self._sleep = sleep
        self._chance = chance
        self._session: aiohttp.ClientSession | None = None

    async def call(self, request: Request, *, allowed: tuple[int, ...] = ()) -> Reply:
        """The answer, if its status is a success or one of `allowed`. Raises S3Error and
        Unavailable."""

        async def attempt() -> Reply:
            answer = await self._send(request)
            try:
                await _check(request, answer, allowed)
                body = await _read(answer)
            finally:
                answer.close()
            if request.method == "POST" and (code := error_code(body)):
                # S3 begins to answer before it knows how a long request ends.
                raise _failure(request, answer.status, code)
            return Reply(answer.status, answer.headers, body)

        return await self._retry(attempt)

    @asynccontextmanager
    async def open(
        self, request: Request, *, allowed: tuple[int, ...] = ()
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The same, with the body still to be read. Losing the connection then is an OSError."""

        async def attempt() -> aiohttp.ClientResponse:
            answer = await self._send(request)
            try:
                await _check(request, answer, allowed)
            except BaseException:
                answer.close()
                raise
            return answer

        answer = await self._retry(attempt)
        try:
            yield answer
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error) or type(error).__name__) from error
        finally:
            answer.close()

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        last: Exception | None = None
        for number in range(ATTEMPTS):
            if number:
                await self.pause(number)
            try:
                return await attempt()
            except (OSError, aiohttp.ClientError, _Retryable) as failure:
                last = failure
        raise unavailable() from last

    async def pause(self, attempt: int) -> None:
        """Wait before another attempt (the first repeat is 1)."""
        await BACKOFF.pause(attempt - 1, sleep=self._sleep, chance=self._chance)

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        given = dict(request.headers)
        if request.body.open is not None:
            given["content-length"] = str(request.body.byte_count)
        headers = self.signer.headers(
            request.method,
            request.key,
            request.query,
            given,
            payload_sha256=request.body.sha256,
            keys=await self.keys(),
            at_ms=self.clock(),
        )
        url = self.signer.url(request.key, request.query)
        session = self._session or self._open()
        # It may take as long as the slowest network takes that is worth waiting for.
        sending_s = request.body.byte_count / SLOWEST_BYTES_PER_S
        async with asyncio.timeout(self._answer_timeout_s + sending_s):
            return await session.request(
                request.method,
                URL(url, encoded=True),
                headers=headers,
                data=request.body.open() if request.body.open else None,
                allow_redirects=False,
            )

    def _open(self) -> aiohttp.ClientSession:
        # No cookies and no unneeded headers.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=KEPT_IDLE_S),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=self._answer_timeout_s
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type"),
            headers={"User-Agent": f"greenroom/{__version__}"},
        )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def unavailable() -> Unavailable:
    return Unavailable("The store of files does not answer just now.", retry_after_s=RETRY_AFTER_S)


async def _check(
    request: Request, answer: aiohttp.ClientResponse, allowed: tuple[int, ...]
) -> None:
    if answer.status < 300 or answer.status in allowed:
        return
    raise _failure(request, answer.status, error_code(await _read(answer)))


def _failure(request: Request, status: int, code: str) -> Exception:
    if status in _TEMPORARY or code in _TEMPORARY_CODES:
        return _Retryable(f"status {status} {code}")
    return refusal(request.what, status, code)


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    received = bytearray()
    async for chunk in answer.content.iter_any():
        received += chunk
        if len(received) > ANSWER_BYTES:
            raise ConnectionError("the answer is too long")
    return bytes(received)
