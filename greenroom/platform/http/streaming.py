"""Answers that go on until the client hangs up, or reads too slowly to be worth waiting for."""

import asyncio

from starlette.types import Receive, Scope, Send

from greenroom.platform.http.endpoint import Stream
from greenroom.platform.http.intake import ClientGoneError


async def stream(
    answer: Stream, scope: Scope, receive: Receive, send: Send, *, slow_s: float
) -> None:
    """Runs the stream beside an ear for the client's end; whichever is first ends the other."""
    writer = _Writer(scope, send, slow_s)
    running = asyncio.ensure_future(answer.run(writer))
    listening = asyncio.ensure_future(_hang_up(receive))
    try:
        await asyncio.wait({running, listening}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise ClientGoneError
        running.result()
        await send({"type": "http.response.body", "body": b""})
    finally:
        for task in (running, listening):
            task.cancel()
        await asyncio.gather(running, listening, return_exceptions=True)


async def _hang_up(receive: Receive) -> None:
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
            # Closing in order would wait for the same reader.
            self._scope["greenroom.abort"]()
            raise ClientGoneError from None
