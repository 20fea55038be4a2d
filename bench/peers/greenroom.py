"""Greenroom as `make bench` starts it: sends by POST, arrivals over the WebSocket."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import asyncpg
import msgspec

from bench import fill, load
from bench.peers.arrivals import Arrivals
from bench.peers.http_connection import HttpConnection
from bench.peers.system import PAIRS, Running, Send, System
from bench.product import Product, product
from bench.wire import Socket, upgrade
from greenroom import __version__


class Message(msgspec.Struct):
    body: str


class Event(msgspec.Struct):
    type: str
    message: Message | None = None


EVENT = msgspec.json.Decoder(Event)


def install() -> None:
    """Nothing to do: Greenroom is installed."""


@contextmanager
def start(_folder: Path) -> Iterator[Running]:
    with product() as server:
        asyncio.run(fill.fill_threads(server.database_url, 0, PAIRS - 1))
        yield Running(
            version=f"Greenroom {__version__}",
            connect=partial(_connect, server),
            stored=partial(_stored, server.database_url),
        )


async def _stored(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval("select count(*) from message"))
    finally:
        await connection.close()


@asynccontextmanager
async def _connect(server: Product, arrivals: Arrivals) -> AsyncIterator[list[Send]]:
    with ExitStack() as stack:
        sends = []
        for number in range(PAIRS):
            receiver = await _receiver(server, fill.people(number)[1], arrivals)
            stack.callback(receiver.cut)
            connection = HttpConnection(server.port)
            stack.callback(connection.close)
            sends.append(_sender(server, number, connection))
        yield sends


async def _receiver(server: Product, user: str, arrivals: Arrivals) -> Socket:
    def hear(frame: bytes) -> None:
        event = EVENT.decode(frame)
        if event.type == "message.new" and event.message is not None:
            arrivals.arrived(event.message.body)

    request = upgrade("/v1/ws", server.token(user))
    _, receiver = await asyncio.get_running_loop().create_connection(
        lambda: Socket(request, hear, arrivals.broke), "127.0.0.1", server.port
    )
    await receiver.opened
    return receiver


def _sender(server: Product, number: int, connection: HttpConnection) -> Send:
    token = server.token(fill.people(number)[0])
    path = f"/v1/threads/{fill.thread_id(number)}/messages"
    sent = 0

    async def send(text: str) -> None:
        nonlocal sent
        sent += 1
        body = msgspec.json.encode({"client_id": f"c{sent}", "body": text})
        status, answer = await connection.ask(load.request("POST", path, token, body))
        if status != 201:
            raise RuntimeError(f"POST {path}: {status} {answer[:300]!r}")

    return send


GREENROOM = System(
    name="Greenroom",
    acknowledged="201 to POST /v1/threads/{id}/messages",
    pushed="an event on the WebSocket /v1/ws",
    install=install,
    start=start,
)
