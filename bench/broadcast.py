"""A bare WebSocket server for comparison: the same uvicorn and the same bytes, and nothing else.
Run as a process: it reads the frame from stdin and prints its port.

A client that sends `go` starts a loop that writes the frame to all clients, as fast as they read.
"""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Broadcast:
    def __init__(self, frame: str) -> None:
        self._message = {"type": "websocket.send", "text": frame}
        self._sends: list[Send] = []
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, _scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        self._sends.append(send)
        while (await receive())["type"] != "websocket.disconnect":
            self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            for send in self._sends:
                await send(self._message)
            # Written frames are sent at the end of an iteration of the event loop.
            await asyncio.sleep(0)


@contextmanager
def broadcast(frame: bytes) -> Iterator[int]:
    """Run such a server and yield its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.broadcast"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(frame)
        process.stdin.close()
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def main() -> None:
    frame = sys.stdin.buffer.read().decode()
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        Broadcast(frame),
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
