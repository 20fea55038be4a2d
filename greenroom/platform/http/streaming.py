"""Runs streamed and delayed answers until they end, or the client disconnects or reads too
slowly."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from greenroom.platform.http.asgi import Receive, Scope, Send
from greenroom.platform.http.endpoint import Stream
from greenroom.platform.http.request_parsing import ClientGoneError

T = TypeVar("T")


async def stream(
    answer: Stream, scope: Scope, receive: Receive, send: Send, *, slow_s: float
) -> None:
    """Runs the stream and ends the response."""
    await until_disconnect(answer.run(_Writer(scope, send, slow_s)), receive)
    await send({"type": "http.response.body", "body": b""})


async def until_disconnect(work: Awaitable[T], receive: Receive) -> T:
    """Runs `work` until it returns. Cancels it and raises ClientGoneError if the client disconnects
    first."""
    running = asyncio.ensure_future(work)
    listening = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({running, listening}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise ClientGoneError
        return running.result()
    finally:
        for task in (running, listening):
            task.cancel()
        await asyncio.gather(running, listening, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Writer:
    def __init__(self, scope: Scope, send: Send, slow_s: float) -> None:
        self._scope = scope
        self._send = send
        self._slow_s = slow_s

    async def write(self, data: bytes) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": True}
        try:
            async with asyncio.timeout(self._slow_s):
                await self._send(message)
        except TimeoutError:
            # An orderly close would wait for the same slow client.
            self._scope["greenroom.abort"]()
            raise ClientGoneError from None
