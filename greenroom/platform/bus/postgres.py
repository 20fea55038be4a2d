"""The bus over PostgreSQL's NOTIFY: between the processes of one database, without another server.

Needs a connection of its own that stays with one session, so not one by way of a pooler in
transaction mode.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import random as system_random
from typing import Any

import asyncpg

from greenroom.platform.bus.rounds import QUEUE_LIMIT, Chunk, Link, RoundsBus
from greenroom.platform.postgres.pool import CONNECT_TIMEOUT_S

CHANNEL = "greenroom"
MESSAGE_SIZE = 7000  # PostgreSQL takes less than 8000
STATEMENT_TIMEOUT_S = 15

# One statement for the whole round, which is one commit and one wake-up of those who listen.
NOTIFY = "select pg_notify($1, message) from unnest($2::text[]) as message"

SERVER_SETTINGS = {
    "application_name": "greenroom-bus",
    "statement_timeout": str(STATEMENT_TIMEOUT_S * 1000),
    # A hint that a crash of the server takes with it is missed by nobody: all must reconnect.
    "synchronous_commit": "off",
    # The server keeps notifications until the last listener has read them, so it had better
    # notice soon when one has vanished.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


class PostgresBus(RoundsBus):
    def __init__(
        self,
        database_url: str,
        *,
        queue_limit: int = QUEUE_LIMIT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = system_random,
    ) -> None:
        super().__init__(
            message_size=MESSAGE_SIZE, queue_limit=queue_limit, sleep=sleep, random=random
        )
        self._database_url = database_url

    async def _connect(self) -> Link:
        connection = await asyncpg.connect(
            self._database_url,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=STATEMENT_TIMEOUT_S,
            server_settings=SERVER_SETTINGS,
        )
        link = _PostgresLink(connection)
        try:
            await connection.add_listener(CHANNEL, self._hear_notification)
        except BaseException:
            await link.close()
            raise
        return link

    def _hear_notification(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        topic, _, text = payload.partition(" ")
        self._receive(topic, text)


class _PostgresLink:
    def __init__(self, connection: asyncpg.Connection) -> None:
        self.lost = asyncio.Event()
        self._connection = connection
        connection.add_termination_listener(lambda _: self.lost.set())

    async def send(self, chunks: Sequence[Chunk]) -> None:
        messages = [f"{topic} {text}" for topic, text in chunks]
        await self._connection.execute(NOTIFY, CHANNEL, messages)

    async def close(self) -> None:
        # Not `close`, which waits for a server that may have vanished.
        self._connection.terminate()
