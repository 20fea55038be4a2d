"""A real server that can be killed and comes back on the same port, and people on it."""

import asyncio
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from greenroom.client import Client
from greenroom.kernel.clock import system_clock
from greenroom.platform.auth import sign_token

SECRET = "a secret that is long enough for tests"
IS_FULL = os.environ.get("GREENROOM_TORTURE") == "full"
PATIENCE_S = 300.0 if IS_FULL else 60.0
LOOK_S = 0.01

ENVIRONMENT = {
    "GREENROOM_JWT_SECRET": SECRET,
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000",
}

Json = dict[str, Any]


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain: {what}")
        await asyncio.sleep(LOOK_S)


class Server:
    """`greenroom serve`, always on the same port."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._log = home / f"server-{secrets.token_hex(4)}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        before = self._said("listening")
        self._process = self._spawn()
        await until(lambda: self.has_ended() or self._said("listening") > before, "start")
        assert not self.has_ended(), self._log.read_text()

    def _spawn(self) -> subprocess.Popen[bytes]:
        given = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
        ours = {**ENVIRONMENT, **self._environment, "GREENROOM_HOME": str(self._home)}
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "greenroom", "serve", "--port", str(self.port)],
                env={**given, **ours},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _said(self, message: str) -> int:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        said = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return sum(line["message"] == message for line in said)

    def complaints(self) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line for line in lines if '"level":"error"' in line or line[:1] not in ("{", "")]

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    async def kill(self) -> None:
        """As the kernel or a power cut would: no farewell."""
        assert self._process is not None
        self._process.kill()
        await asyncio.to_thread(self._process.wait, PATIENCE_S)

    async def stop(self) -> None:
        if self._process is not None and not self.has_ended():
            self._process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(self._process.wait, PATIENCE_S)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def token_of(user: str, *, ttl_s: int = 3600) -> str:
    return sign_token(SECRET.encode(), user, clock=system_clock, ttl_s=ttl_s)


class Pair:
    """Two people whom nobody has met before, with threads between them."""

    def __init__(self, server: Server) -> None:
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
        after = found[-1]["id"] if found else "0"
        page = await client.rest.messages(thread_id, after=after)
        found += page["items"]
        if not page["has_more"]:
            return found
