"""Real processes to be killed, and people who write through them and never give up."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from greenroom.kernel.clock import system_clock
from greenroom.platform.auth import sign_token

IS_FULL = os.environ.get("GREENROOM_TORTURE") == "full"
SECRET = "a secret that is long enough for tests"
PATIENCE_S = 120.0
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
    """`greenroom serve` on one home, killed and started again on whatever port is free."""

    def __init__(self, home: Path, environment: Mapping[str, str], *, workers: int = 1) -> None:
        self._environment = {**ENVIRONMENT, **environment, "GREENROOM_HOME": str(home)}
        self._workers = workers
        self._log = home / f"server-{random.SystemRandom().randrange(1 << 40):x}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._killed_workers: set[int] = set()
        self.is_up = asyncio.Event()
        self.port = 0

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    async def start(self) -> None:
        expected = len(self.listening()) + self._workers
        self._process = self._spawn()
        await until(lambda: self._ended() or len(self.listening()) >= expected, "start")
        assert not self._ended(), self._log.read_text()
        self.port = self.listening()[-1]["port"]
        self.is_up.set()

    def _spawn(self) -> subprocess.Popen[bytes]:
        given = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
        program = [sys.executable, "-m", "greenroom", "serve"]
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*program, "--port", "0", "--workers", str(self._workers)],
                env={**given, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def listening(self) -> list[Json]:
        """What each process said when it began to listen, in order."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        said = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in said if line["message"] == "listening"]

    def _ended(self) -> bool:
        return self.process.poll() is not None

    async def kill(self) -> None:
        """As the kernel or a power cut would: no farewell."""
        self.is_up.clear()
        self.process.kill()
        await asyncio.to_thread(self.process.wait, PATIENCE_S)

    async def kill_worker(self, seed: random.Random) -> None:
        """One of several; returns when another has taken its place."""
        begun = self.listening()
        alive = [each["pid"] for each in begun if each["pid"] not in self._killed_workers]
        victim = seed.choice(alive)
        self._killed_workers.add(victim)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(self.listening()) > len(begun), "a new worker")

    async def stop(self) -> int:
        """In order: what was accepted is finished. Returns the exit code."""
        self.is_up.clear()
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.to_thread(self.process.wait, PATIENCE_S)

    def complaints(self) -> list[str]:
        """What it logged as its own mistakes."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [line for line in lines if '"level":"error"' in line or line[:1] not in ("{", "")]

    async def end(self) -> None:
        # Shown by pytest if the test failed.
        print(*self.complaints()[-20:], sep="\n")
        if self._process is not None and not self._ended():
            self.process.terminate()
            try:
                await asyncio.to_thread(self.process.wait, PATIENCE_S)
            except subprocess.TimeoutExpired:
                await self.kill()


def token_of(user: str) -> str:
    return sign_token(SECRET.encode(), user, clock=system_clock, ttl_s=6 * 3600)


class Caller:
    """A person with a token, on a connection of their own."""

    def __init__(self, server: Server, user: str) -> None:
        self._server = server
        self._client = httpx.AsyncClient(timeout=PATIENCE_S)
        self._token = token_of(user)
        self.user = user

    async def call(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        url = f"http://127.0.0.1:{self._server.port}{path}"
        headers = {"authorization": f"Bearer {self._token}"}
        return await self._client.request(method, url, headers=headers, json=body)

    async def insist(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        """Repeat until there is an answer that is no 503, as clients are told to."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            await self._server.is_up.wait()
            try:
                answer = await self.call(method, path, body)
            except httpx.TransportError:
                await asyncio.sleep(LOOK_S)
                continue
            if answer.status_code != 503:
                return answer
            check_unavailable(answer)
            await asyncio.sleep(LOOK_S)
        raise AssertionError(f"no answer to {method} {path}")

    async def get(self, path: str) -> Json:
        answer = await self.insist("GET", path)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def close(self) -> None:
        await self._client.aclose()


def check_unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503
    assert answer.json()["code"] == "UNAVAILABLE"
    assert int(answer.headers["retry-after"]) >= 1


class Talk:
    """Two people, some threads between them, and a record of all that was acknowledged."""

    def __init__(self, server: Server, tag: str) -> None:
        self.server = server
        self.ada, self.ben = Caller(server, f"ada.{tag}"), Caller(server, f"ben.{tag}")
        self.threads: list[str] = []
        self.acknowledged: dict[str, Json] = {}
        self.news = asyncio.Condition()
        self._writers: list[Caller] = []

    async def begin(self, threads: int) -> None:
        await self.ben.get("/v1/inbox")
        for number in range(threads):
            first = {"client_id": f"first-{number}", "body": "first"}
            new = {"kind": "inquiry", "to": self.ben.user, "first_message": first}
            answer = await self.ada.insist("POST", "/v1/threads", new)
            assert answer.status_code == 201, answer.text
            self.threads.append(answer.json()["thread"]["id"])

    def writer(self, number: int) -> Caller:
        """Writers are the two people on further connections, by turns."""
        user = (self.ada, self.ben)[number % 2].user
        self._writers.append(Caller(self.server, user))
        return self._writers[-1]

    async def write(self, number: int, count: int) -> None:
        writer = self.writer(number)
        for each in range(count):
            client_id = f"{writer.user}-{number}-{each}"
            answer = await writer.insist(
                "POST", self.path(number + each), {"client_id": client_id, "body": client_id}
            )
            await self.note(client_id, answer)

    async def write_while_up(self, number: int) -> None:
        """Write on until the server refuses or is gone; nothing is repeated."""
        writer, each = self.writer(number), 0
        while True:
            each += 1
            client_id = f"{writer.user}-{number}-{each}"
            try:
                answer = await writer.call(
                    "POST", self.path(number), {"client_id": client_id, "body": client_id}
                )
            except httpx.TransportError:
                return
            if answer.status_code == 503:
                check_unavailable(answer)
                return
            await self.note(client_id, answer)

    def path(self, number: int) -> str:
        return f"/v1/threads/{self.threads[number % len(self.threads)]}/messages"

    async def note(self, client_id: str, answer: httpx.Response) -> None:
        assert answer.status_code in (200, 201), answer.text
        async with self.news:
            self.acknowledged[client_id] = answer.json()
            self.news.notify_all()

    async def until_acknowledged(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S), self.news:
            await self.news.wait_for(lambda: len(self.acknowledged) >= count)

    async def follow(self, who: Caller, count: int) -> dict[str, list[int]]:
        """A client that lives on the feed through all of it: the seqs it was told, per thread."""
        told: dict[str, list[int]] = defaultdict(list)
        since, seen = "", 0
        while seen < count:
            page = await who.get(f"/v1/sync?limit=100{since}")
            for event in page["events"]:
                assert event["type"] != "reset"
                if event["type"] == "message.new":
                    told[event["thread_id"]].append(event["message"]["seq"])
                    seen += 1
            since = f"&since={page['cursor']}"
        return dict(told)

    async def messages(self, who: Caller, thread_id: str) -> list[Json]:
        found: list[Json] = []
        while True:
            after = f"&after={found[-1]['id']}" if found else "&after=0"
            page = await who.get(f"/v1/threads/{thread_id}/messages?limit=50{after}")
            found += page["items"]
            if not page["has_more"]:
                return found

    async def check(self) -> None:
        """Acknowledged is there, once, and nothing else is; seqs have no gap; both feeds tell each
        message once, in order; unread counts are exact."""
        found: dict[str, Json] = {}
        counts: dict[str, int] = {}
        for thread_id in self.threads:
            pages = [await self.messages(who, thread_id) for who in (self.ada, self.ben)]
            for page in pages:
                assert [message["seq"] for message in page] == [*range(1, len(page) + 1)]
            assert [each["id"] for each in pages[0]] == [each["id"] for each in pages[1]]
            counts[thread_id] = len(pages[0])
            for message in pages[0][1:]:
                assert message["body"] not in found, "a message is there twice"
                found[message["body"]] = message
        for client_id, acknowledged in self.acknowledged.items():
            assert client_id in found, "an acknowledged message is lost"
            kept = found[client_id]
            assert (kept["id"], kept["seq"]) == (acknowledged["id"], acknowledged["seq"])
        assert set(found) == set(self.acknowledged), "something is there that nobody was told of"
        for who in (self.ada, self.ben):
            told = await self.follow(who, sum(counts.values()))
            assert told == {each: [*range(1, count + 1)] for each, count in counts.items()}
            unread = [(await who.get(f"/v1/threads/{each}"))["inbox"] for each in self.threads]
            theirs = [each for each in found.values() if each["author_id"] != who.user]
            firsts = len(self.threads) if who is self.ben else 0
            assert sum(each["unread_count"] for each in unread) == len(theirs) + firsts

    async def close(self) -> None:
        for caller in (self.ada, self.ben, *self._writers):
            await caller.close()


async def all_done(*work: Awaitable[Any]) -> list[Any]:
    """Gather, but the first failure ends the others instead of leaving them behind."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
