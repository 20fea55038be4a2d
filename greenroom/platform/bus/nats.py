"""The bus over NATS, for installations of many machines."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from random import random as system_random

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import ConnectionClosedError, SlowConsumerError
from nats.errors import Error as NatsError

from greenroom.kernel.errors import Unavailable
from greenroom.platform.bus.port import GapHandler
from greenroom.platform.bus.rounds import QUEUE_LIMIT, Chunk, Link, RoundsBus

SUBJECT = "greenroom."
MESSAGE_SIZE = 64_000
CONNECT_TIMEOUT_S = 5
FLUSH_TIMEOUT_S = 15
CLOSE_TIMEOUT_S = 1
SEND_BUFFER_BYTES = 4_000_000
RECEIVE_BUFFER_BYTES = 16_000_000
RECEIVE_BUFFER_MESSAGES = 10_000


class NatsBus(RoundsBus):
    """`url` may be several with commas between; each connection takes one of them that answers.

    The client's own reconnection is off. It has no jitter, ends for ever when a server refuses it
    once, and lets publishers believe that a round has gone which a dead connection still holds.
    """

    def __init__(
        self,
        url: str,
        *,
        queue_limit: int = QUEUE_LIMIT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = system_random,
    ) -> None:
        super().__init__(
            message_size=MESSAGE_SIZE, queue_limit=queue_limit, sleep=sleep, random=random
        )
        self._servers = [each.strip() for each in url.split(",")]

    async def _connect(self) -> Link:
        link = _NatsLink(self._receive, self._tell_of_gap)
        try:
            await link.open(self._servers)
        except BaseException:
            await link.close()
            raise
        return link


async def check_server(url: str) -> None:
    """Connect and subscribe once. Raises `Unavailable` with the reason."""
    link = _NatsLink(lambda _topic, _text: None, lambda: None)
    try:
        async with asyncio.timeout(2 * CONNECT_TIMEOUT_S):
            await link.open([each.strip() for each in url.split(",")])
    except (OSError, TimeoutError, NatsError) as error:
        raise Unavailable(str(error) or type(error).__name__) from error
    finally:
        await link.close()


class _NatsLink:
    def __init__(self, receive: Callable[[str, str], None], tell_of_gap: GapHandler) -> None:
        self.lost = asyncio.Event()
        self._receive = receive
        self._tell_of_gap = tell_of_gap
        self._client = Client()
        self._hearing: asyncio.Task[None] | None = None

    async def open(self, servers: list[str]) -> None:
        await self._client.connect(
            servers,
            name="greenroom-bus",
            allow_reconnect=False,
            # Each server twice at most, and without a pause, in one attempt of ours.
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=CONNECT_TIMEOUT_S,
            pending_size=SEND_BUFFER_BYTES,
            closed_cb=self._note_end,
            error_cb=self._note_error,
        )
        # Without a callback, because the client may leave the task behind that would call it.
        subscription = await self._client.subscribe(
            f"{SUBJECT}*",
            pending_msgs_limit=RECEIVE_BUFFER_MESSAGES,
            pending_bytes_limit=RECEIVE_BUFFER_BYTES,
        )
        self._hearing = asyncio.create_task(self._hear(subscription))
        self._hearing.add_done_callback(lambda _: self.lost.set())

    async def _hear(self, subscription: Subscription) -> None:
        with contextlib.suppress(ConnectionClosedError):
            while True:
                message = await subscription.next_msg(timeout=None)
                if message.data.isascii():
                    self._receive(message.subject.removeprefix(SUBJECT), message.data.decode())

    async def _note_end(self) -> None:
        self.lost.set()

    async def _note_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            self._tell_of_gap()
        elif self._client.is_connected:  # else it is about to try the next server
            self.lost.set()

    async def send(self, chunks: Sequence[Chunk]) -> None:
        for topic, text in chunks:
            await self._client.publish(SUBJECT + topic, text.encode())
        await self._client.flush(FLUSH_TIMEOUT_S)

    async def close(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
        # It fails if it never began to connect, and when it cannot send what it still holds.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._client.close()
