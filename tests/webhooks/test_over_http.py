"""Receivers that are slow, redirect, break off or lead inside: real connections, nothing lost."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from greenroom.platform.egress import Egress, parse_egress
from greenroom.platform.http_client import HttpClient
from tests.webhooks.stage import Stage, new_stage

TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"


class Site:
    """An HTTP server whose answers a test gives."""

    def __init__(self) -> None:
        self.connected = 0
        self.ids: list[str] = []
        self.answer: Callable[[int, asyncio.StreamWriter], Awaitable[bool]] = self.take
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def take(self, _: int, writer: asyncio.StreamWriter) -> bool:
        """True: the event was taken."""
        writer.write(TAKEN)
        await writer.drain()
        return True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                json.loads(await reader.readexactly(int(fields["content-length"])))
                if await self.answer(len(self.ids), writer):
                    self.ids.append(fields["webhook-id"])
                if writer.is_closing():
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@asynccontextmanager
async def posting_to(stage: Stage, url: str, egress: Egress) -> AsyncIterator[None]:
    """One webhook at this address, and a worker with the real client."""
    webhook = await stage.add()
    await stage.pool.execute("update webhook set url = $1", url)
    client = HttpClient(egress=egress)
    stage.runner = stage.new_runner(client)
    assert (await stage.now(webhook)).url == url
    try:
        yield
    finally:
        await client.close()


@pytest.fixture
async def quick(pool: asyncpg.Pool) -> Stage:
    return await new_stage(pool, webhook_timeout_s=1)


async def test_a_receiver_that_breaks_off_gets_the_event_again(stage: Stage) -> None:
    async with site() as receiver, posting_to(stage, receiver.url, parse_egress("127.0.0.1")):
        troubles = [
            b"",
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
            b"nonsense\r\n\r\n",
        ]

        async def answer(taken: int, writer: asyncio.StreamWriter) -> bool:
            if troubles:
                writer.write(troubles.pop(0))
                await writer.drain()
                writer.close()
                return False
            return await receiver.take(taken, writer)

        receiver.answer = answer
        happened = [await stage.happen("thr_1") for _ in range(3)]
        await stage.drain()
        await stage.advance(minutes=5, step_minutes=1)
        assert receiver.ids == happened


async def test_a_slow_receiver_holds_back_nobody_else(quick: Stage) -> None:
    async with site() as receiver, posting_to(quick, receiver.url, parse_egress("127.0.0.1")):
        await quick.add("elsewhere")
        other = await quick.pool.fetchval(
            "update webhook set url = $1 where url like 'https:%' returning webhook_id",
            f"{receiver.url}?quick",
        )

        async def never(_: int, writer: asyncio.StreamWriter) -> bool:
            await asyncio.sleep(3600)
            return writer.is_closing()

        slow = asyncio.Event()

        async def answer(taken: int, writer: asyncio.StreamWriter) -> bool:
            if not slow.is_set():
                slow.set()
                return await never(taken, writer)
            return await receiver.take(taken, writer)

        receiver.answer = answer
        happened = await quick.happen("thr_1")
        await quick.drain()
        assert receiver.ids == [happened]
        waiting = await quick.pool.fetchrow(
            "select * from webhook_delivery where state = 'waiting'"
        )
        assert waiting is not None
        assert waiting["error"] == "there was no answer within 1 s"
        assert waiting["webhook_id"] != other or waiting["attempts"] == 1
        await quick.advance(minutes=1, step_minutes=1)
        assert receiver.ids == [happened, happened]


async def test_nothing_leads_inside(quick: Stage) -> None:
    """Neither a redirect, nor a name that changes, nor any way to write the address."""
    async with site() as inside, site() as outside:

        async def redirect(_: int, writer: asyncio.StreamWriter) -> bool:
            head = f"HTTP/1.1 307 See\r\nlocation: {inside.url}\r\ncontent-length: 0\r\n\r\n"
            writer.write(head.encode())
            await writer.drain()
            return False

        outside.answer = redirect
        async with posting_to(quick, outside.url, parse_egress(f"127.0.0.1:{outside.port}")):
            await quick.happen("thr_1")
            await quick.drain()
            assert (outside.connected, inside.connected) == (1, 0)
            for host in (
                *("127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "[::1]"),
                *("[::ffff:127.0.0.1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "localhost"),
            ):
                url = f"https://{host}:{inside.port}/"
                await quick.pool.execute("update webhook set url = $1", url)
                await quick.advance(hours=4, step_minutes=240)
            assert (outside.connected, inside.connected) == (1, 0)
        [delivery] = await quick.pool.fetch("select * from webhook_delivery")
        assert delivery["state"] == "waiting"
        assert delivery["attempts"] == 11
        assert delivery["error"].startswith("refused: ")


async def test_a_name_that_changes_to_an_inner_address_is_refused(quick: Stage) -> None:
    answers = [["192.0.2.1"], ["127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"]]

    async def look_up(_host: str, _port: int) -> list[str]:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async with site() as inside:
        await quick.add()
        url = f"https://rebinding.example:{inside.port}/"
        await quick.pool.execute("update webhook set url = $1", url)
        client = HttpClient(egress=parse_egress("192.0.2.0/24"), lookup=look_up)
        quick.runner = quick.new_runner(client)
        await quick.happen("thr_1")
        await quick.drain()
        await quick.advance(hours=16, step_minutes=240)
        await client.close()
        assert inside.connected == 0
        [delivery] = await quick.pool.fetch("select * from webhook_delivery")
        assert (delivery["state"], delivery["error"]) == (
            "waiting",
            "refused: the host's address is not public",
        )
