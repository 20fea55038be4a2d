"""A proxy between client and server that has its own ideas about WebSockets and streams."""

import asyncio
import contextlib
from typing import Self

REFUSAL = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Proxy:
    """`to_websockets` and `to_streams` say what happens to each: it passes, refuses, drops the
    connection, or swallows the request and keeps silent."""

    def __init__(self, port: int) -> None:
        self._to_port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._frozen: set[asyncio.Task[None]] = set()
        self.to_websockets = "passes"
        self.to_streams = "passes"

    @property
    def url(self) -> str:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    def freeze(self) -> None:
        """Nothing more passes on the connections there are."""
        self._frozen |= self._connections

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer, task)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        how = self._decide(head)
        if how == "refuses":
            writer.write(REFUSAL)
        elif how == "swallows":
            await reader.read()
        elif how == "passes":
            # What follows on the same connection is decided in `_pass`.
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
            to_writer.write(head)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass(reader, to_writer, task))
                    group.create_task(self._pass(to_reader, writer, task))
            finally:
                to_writer.close()

    def _decide(self, head: bytes) -> str:
        if b"upgrade: websocket" in head.lower():
            return self.to_websockets
        if b" /v1/stream?" in head or b" /v1/stream " in head:
            return self.to_streams
        return "passes"

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        while data := await reader.read(65536):
            if task in self._frozen or self._decide(data) == "swallows":
                await asyncio.get_running_loop().create_future()
            writer.write(data)
            await writer.drain()
        writer.close()
