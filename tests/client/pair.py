"""Two people who talk through a real server."""

import asyncio
import random
from typing import Any

from greenroom_client import Client
from tests.support import BEFORE_ALL
from tests.support.server_process import ServerProcess, token_of
from tests.support.waiting import PATIENCE_S

Json = dict[str, Any]


class Pair:
    """Two people whom nobody has met before, with threads between them."""

    def __init__(self, server: ServerProcess) -> None:
        tag = f"{random.SystemRandom().randrange(1 << 40):x}"
        self.server = server
        self.ada, self.ben = f"ada.{tag}", f"ben.{tag}"

    def client(self, user: str, **options: Any) -> Client:
        options.setdefault("token", lambda: token_of(user))
        return Client(self.server.url, **options)

    async def start(self, *, threads: int = 1) -> list[str]:
        """The threads' ids; the first message of each is Ada's."""
        async with self.client(self.ada) as ada, self.client(self.ben) as ben:
            await ben.rest.inbox()
            started = [await ada.rest.start_thread(self.ben, "first") for _ in range(threads)]
        return [each["thread"]["id"] for each in started]


async def read_messages(client: Client, count: int) -> list[Json]:
    """The next `count` new messages that the feed tells of."""
    found: list[Json] = []
    async with asyncio.timeout(PATIENCE_S):
        async for event in client.events():
            if event["type"] == "message.new":
                found.append(event["message"])
                if len(found) == count:
                    return found
    raise AssertionError("the feed has ended")


async def all_messages(client: Client, thread_id: str) -> list[Json]:
    found: list[Json] = []
    while True:
        after = found[-1]["id"] if found else BEFORE_ALL
        page = await client.rest.messages(thread_id, after=after)
        found += page["items"]
        if not page["has_more"]:
            return found
