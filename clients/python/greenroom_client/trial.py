"""Trying whether a transport opens, beside the one that is in use."""

import asyncio
from typing import Any

from greenroom_client.timing import end
from greenroom_client.transport import Line, Transport


async def opens(transport: Transport, since: str | None) -> bool:
    """What it brings meanwhile goes nowhere: if it opens, it begins anew in its own turn."""
    sink = _Trial()
    running = asyncio.create_task(_run(transport, since, sink))
    try:
        await asyncio.wait({running, sink.is_open}, return_when=asyncio.FIRST_COMPLETED)
        return sink.is_open.done()
    finally:
        sink.is_open.cancel()
        await end(running)


async def _run(transport: Transport, since: str | None, sink: "_Trial") -> None:
    await transport.run(since, sink)


class _Trial:
    def __init__(self) -> None:
        self.is_open: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def opened(self, _line: Line | None) -> None:
        if not self.is_open.done():
            self.is_open.set_result(None)

    def deliver(self, event: dict[str, Any] | None, cursor: str | None) -> None:
        pass

    async def taken(self) -> str | None:
        await asyncio.get_running_loop().create_future()
        return None

    def closing(self) -> None:
        pass
