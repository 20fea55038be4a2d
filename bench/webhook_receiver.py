"""A receiver of webhooks in a process of its own: answers 204 and notes what came when."""

import asyncio
import json
import sys
import time
from datetime import datetime
from typing import cast

import uvloop

TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"


class Receiver(asyncio.Protocol):
    """Of HTTP as much as one client needs that sends lengths and waits for answers."""

    arrived: dict[str, float]
    latencies_ms: list[float]

    def __init__(self, arrived: dict[str, float], latencies_ms: list[float]) -> None:
        self.arrived = arrived
        self.latencies_ms = latencies_ms
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            fields = {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}
            length = int(fields.get("content-length", "0"))
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            self._transport.write(self._answer(lines[0], fields, rest[:length]))

    def _answer(self, line: str, fields: dict[str, str], body: bytes) -> bytes:
        if line.startswith("GET"):
            is_count = "/count" in line
            said = json.dumps(len(self.arrived) if is_count else self.latencies_ms).encode()
            return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said)
        if line.startswith("DELETE"):
            self.arrived.clear()
            self.latencies_ms.clear()
            return TAKEN
        now_s = time.time()
        if self.arrived.setdefault(fields["webhook-id"], now_s) == now_s:
            happened = datetime.fromisoformat(json.loads(body)["timestamp"])
            self.latencies_ms.append((now_s - happened.timestamp()) * 1000)
        return TAKEN


async def main() -> None:
    arrived: dict[str, float] = {}
    latencies_ms: list[float] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Receiver(arrived, latencies_ms), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Until the bench closes our standard input.
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(main())
