"""A server small enough to start in a test, which takes uploads and gives downloads."""

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator

from greenroom.kernel.errors import Forbidden
from greenroom.kernel.limits import Limits
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Answer, Call, Caller, Download, Endpoint, Who
from greenroom.platform.http.request_parsing import ClientGoneError
from greenroom.platform.logs import configure_logging
from greenroom.server import serve_one

UPLOAD_BYTES = 16 * 1024 * 1024
DOWNLOAD_BYTES = 16 * 1024 * 1024
CHUNK = bytes(range(256)) * 256
LIMITS = Limits(
    request_bytes=100_000,
    request_body_s=1,
    upload_pace_bytes=1000,
    slow_reader_s=1,
    unread_close_s=1,
)


def say(*words: object) -> None:
    print(*words, flush=True)


async def authenticate(_header: str | None) -> Caller:
    return ANYONE


async def take(call: Call) -> Answer:
    digest, byte_count = hashlib.sha256(), 0
    try:
        async for chunk in call.stream:
            digest.update(chunk)
            byte_count += len(chunk)
    except ClientGoneError:
        say("gone after", byte_count)
        raise
    return Answer(
        201,
        {
            "bytes": byte_count,
            "announced": call.stream.announced_bytes,
            "sha256": digest.hexdigest(),
        },
    )


async def take_late(call: Call) -> Answer:
    """The app is the slow one: longer than any client may take."""
    await asyncio.sleep(2.5 * LIMITS.request_body_s)
    return await take(call)


async def refuse(_call: Call) -> Answer:
    raise Forbidden


async def give(_call: Call) -> Download:
    async def read(start: int, stop: int) -> AsyncIterator[bytes]:
        try:
            for at in range(start, stop, len(CHUNK)):
                yield CHUNK[: stop - at]
        finally:
            say("read to", at)

    return Download(DOWNLOAD_BYTES, read, "v1")


async def break_off(_call: Call) -> Download:
    async def read(_start: int, _stop: int) -> AsyncIterator[bytes]:
        yield CHUNK
        raise ValueError

    return Download(DOWNLOAD_BYTES, read, "v1")


async def ping(_call: Call) -> Answer:
    return Answer(body="pong")


def endpoint(
    method: str, path: str, handler: object, streamed_bytes: int | None = None
) -> Endpoint:
    return Endpoint(
        *(method, path, handler, "", Who.ANYONE, {200: None}, "T"),  # type: ignore[arg-type]
        streamed_bytes=streamed_bytes,
    )


APP = HttpApp(
    [
        endpoint("PUT", "/take", take, UPLOAD_BYTES),
        endpoint("PUT", "/late", take_late, UPLOAD_BYTES),
        endpoint("PUT", "/refuse", refuse, UPLOAD_BYTES),
        endpoint("GET", "/give", give),
        endpoint("GET", "/broken", break_off),
        endpoint("GET", "/ping", ping),
    ],
    authenticate=authenticate,
    limits=LIMITS,
)

if __name__ == "__main__":
    configure_logging()
    sys.exit(serve_one(lambda: APP, limits=LIMITS, on_ready=lambda port: say("ready", port)))
