"""Real processes to be killed, and people who write through them and never give up."""

import asyncio
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.support import BEFORE_ALL
from tests.support.server_process import ServerProcess, token_of
from tests.support.waiting import LOOK_S, PATIENCE_S, until

Json = dict[str, Any]


class Server(ServerProcess):
    """Is killed and started again while people write, so nothing here stops the event loop."""

    def __init__(self, home: Path, given: Mapping[str, str], *, workers: int = 1) -> None:
        super().__init__(home, given, workers=workers)
        self._killed_workers: set[int] = set()
        self.is_up = asyncio.Event()

    async def begin(self) -> None:
        await asyncio.to_thread(self.start)
        self.is_up.set()

    async def die(self) -> None:
        """As the kernel or a power cut would: no farewell."""
        self.is_up.clear()
        await asyncio.to_thread(self.kill)

    async def finish(self) -> int:
        """In order: what was accepted is finished. Returns the exit code."""
        self.is_up.clear()
        return await asyncio.to_thread(self.stop)

    async def kill_worker(self, seed: random.Random) -> None:
        """One of several; returns when another has taken its place."""
        begun = self.said("listening")
        alive = [each["pid"] for each in begun if each["pid"] not in self._killed_workers]
        victim = seed.choice(alive)
        self._killed_workers.add(victim)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(self.said("listening")) > len(begun), "a new worker")

    async def clear_away(self) -> None:
        # Shown by pytest if the test failed.
        print(*self.complaints()[-20:], sep="\n")
        if not self.has_ended():
            await asyncio.to_thread(self.end)


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
            after = f"&after={found[-1]['id']}" if found else f"&after={BEFORE_ALL}"
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
