"""Sends happen once, in order, and wait while the server is away."""

import asyncio
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest

from greenroom_client import (
    TRANSPORTS,
    Client,
    ClientLimits,
    ClosedError,
    Problem,
    QueuedSend,
    QueueFullError,
)
from greenroom_client.errors import UnreachableError
from greenroom_client.queue_file import Draft
from greenroom_client.tokens import Token
from greenroom_client.transport import Sink, StreamEndedError
from greenroom_client.websocket import LineLostError

from .fake_server import FakeServer, problem
from .rig import Rig, failing
from .virtual_time import now_s, run_virtually, virtual_timing

Json = dict[str, Any]


def client_of(server: FakeServer, **options: Any) -> Client:
    options.setdefault("token", "a token")
    options.setdefault("transports", ("poll",))
    return Client(
        "http://greenroom.test", timing=virtual_timing(), http=server.transport, **options
    )


def away(_request: httpx.Request) -> httpx.Response:
    return problem(503, "UNAVAILABLE", retry_after_s=1)


def only_for(thread_id: str, answer: Callable[[], httpx.Response]) -> Any:
    return lambda request: answer() if f"/{thread_id}/" in request.url.path else None


def state_of(send: QueuedSend) -> str:
    return send.state


def test_a_send_returns_the_message() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server) as client:
            message = await client.send("thr_1", "Hello", reply_to="msg_0")
            assert (message["body"], message["reply_to"]) == ("Hello", "msg_0")
            assert client.messages("thr_1") == [message]
            assert client.pending() == []

    run_virtually(story())


def test_a_queued_send_tells_how_it_fares() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server) as client:
            queued = client.enqueue("thr_1", "Hello")
            assert state_of(queued) == "queued"
            assert client.pending() == [queued]
            assert (await queued.done())["client_id"] == queued.client_id
            assert state_of(queued) == "sent"

    run_virtually(story())


def test_within_a_thread_order_is_kept_and_threads_do_not_wait_for_each_other() -> None:
    async def story() -> None:
        server = FakeServer()
        server.refuse = only_for("thr_1", lambda: problem(500, "INTERNAL"))
        async with client_of(server) as client:
            stuck = [client.enqueue("thr_1", f"{number}") for number in range(5)]
            await asyncio.gather(*(client.send("thr_2", f"{number}") for number in range(5)))
            assert [each.state for each in stuck] == ["queued"] * 5
            server.refuse = lambda _request: None
            await stuck[-1].done()
            assert server.bodies("thr_1") == server.bodies("thr_2") == [*"01234"]

    run_virtually(story())


def test_a_message_that_the_server_cannot_take_is_not_tried_without_end() -> None:
    async def story() -> None:
        server = FakeServer()
        server.refuse = only_for("thr_1", lambda: problem(500, "INTERNAL"))
        async with client_of(server) as client:
            client.enqueue("thr_1", "poison")
            for _ in range(600):
                await client.send("thr_2", "in between")
                await asyncio.sleep(1)
            assert server.requests.count(("POST", "/v1/threads/thr_1/messages")) < 50

    run_virtually(story())


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 422])
def test_a_refusal_is_final_and_the_next_one_goes_on(status: int) -> None:
    async def story() -> None:
        server = FakeServer()
        server.refuse = lambda request: (
            problem(status, "NO") if b'"bad"' in request.content else None
        )
        async with client_of(server) as client:
            bad, good = client.enqueue("thr_1", "bad"), client.enqueue("thr_1", "good")
            with pytest.raises(Problem) as caught:
                await bad.done()
            found = caught.value
            assert (found.status, found.code, found.detail) == (status, "NO", "It is NO.")
            assert (found.hint, found.corr_id) == ("Try again.", "cor_1")
            assert bad.state == "failed"
            assert (await good.done())["body"] == "good"

    run_virtually(story())


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_change_is_tried_again_with_the_same_client_id(status: int) -> None:
    async def story() -> None:
        server = FakeServer()
        answers = [problem(status, "LATER", retry_after_s=7), None]
        server.refuse = lambda _request: answers.pop(0)
        async with client_of(server) as client:
            began_s = now_s()
            message = await client.send("thr_1", "Hello", client_id="mine")
            assert message["client_id"] == "mine"
            assert now_s() - began_s == pytest.approx(7)

    run_virtually(story())


def test_the_send_limit_holds_for_all_threads() -> None:
    async def story() -> None:
        server = FakeServer()
        answers = [problem(429, "RATE_LIMITED", retry_after_s=20)]
        server.refuse = lambda _request: answers.pop() if answers else None
        async with client_of(server) as client:
            first = client.enqueue("thr_1", "one")
            await asyncio.sleep(1)
            second = client.enqueue("thr_2", "two")
            await asyncio.sleep(15)
            assert server.count("POST") == 1
            await asyncio.gather(first.done(), second.done())
            assert server.count("POST") == 3

    run_virtually(story())


def test_while_the_server_is_away_only_the_feed_asks_for_it() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server) as client:
            events = client.events()
            reading = asyncio.ensure_future(anext(events))
            await asyncio.sleep(1)
            server.refuse = away
            await asyncio.sleep(10)
            assert server.count("POST") == 0
            sends = [client.enqueue(f"thr_{number}", "Hello") for number in range(20)]
            await asyncio.sleep(60)
            assert server.count("POST") == 0
            assert client.transport is None
            server.refuse = lambda _request: None
            await asyncio.gather(*(each.done() for each in sends))
            assert server.count("POST") == 20
            await reading

    run_virtually(story())


class FakeFrames:
    """A WebSocket on which one can send, until it breaks."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self.asked: list[Json] = []
        self.broken = asyncio.Event()

    async def renew(self, token: Token) -> None:
        raise NotImplementedError

    def takes(self, _frame: Json) -> bool:
        return True

    async def ask(self, frame: Json) -> Json:
        self.asked.append(frame)
        await self.broken.wait()
        raise LineLostError("gone")


def test_a_send_whose_websocket_breaks_waits_for_the_feed_to_find_the_server() -> None:
    async def story() -> None:
        lines: list[FakeFrames] = []

        async def break_soon(_since: str | None, sink: Sink) -> NoReturn:
            lines.append(FakeFrames(await rig.tokens.get()))
            sink.opened(lines[0])
            await asyncio.sleep(10)
            sink.closing()
            lines[0].broken.set()
            raise StreamEndedError(1006)

        async with Rig() as rig:
            rig.transports["ws"].plan = [break_soon, *[failing(UnreachableError("no"))] * 5]
            await rig.feed.use("ws")
            queue = rig.queue(lambda: rig.feed.line and lines[0])
            queued = queue.put(Draft("c1", "thr_1", "Hello"))
            await asyncio.sleep(12)
            assert (len(lines[0].asked), state_of(queued)) == (1, "queued")
            assert rig.server.requests == []
            await queued.done()
            assert rig.attempts() == {"ws": 7}
            assert rig.server.requests == [("POST", "/v1/threads/thr_1/messages")]
            await queue.stop()

    run_virtually(story())


def test_without_a_feed_one_of_those_who_wait_asks() -> None:
    async def story() -> None:
        server = FakeServer(away)
        async with client_of(server) as client:
            sends = [client.enqueue(f"thr_{number}", "Hello") for number in range(20)]
            await asyncio.sleep(300)
            # All who had begun when it was found out, and then one at a time.
            assert server.count("POST") <= ClientLimits().sends_at_once + 30
            server.refuse = lambda _request: None
            await asyncio.gather(*(each.done() for each in sends))
            assert len(server.messages) == 20

    run_virtually(story())


def test_a_repeat_of_what_waits_is_the_same_send() -> None:
    async def story() -> None:
        server = FakeServer(away)
        async with client_of(server) as client:
            first = client.enqueue("thr_1", "Hello", client_id="mine")
            assert client.enqueue("thr_1", "Hello", client_id="mine") is first
            with pytest.raises(ValueError, match="another message"):
                client.enqueue("thr_1", "Good-bye", client_id="mine")

    run_virtually(story())


def test_the_queue_has_an_end() -> None:
    async def story() -> None:
        server = FakeServer(away)
        async with client_of(server, limits=ClientLimits(queued_sends=3)) as client:
            for number in range(3):
                client.enqueue("thr_1", f"{number}")
            with pytest.raises(QueueFullError):
                client.enqueue("thr_1", "one too many")

    run_virtually(story())


def test_a_fixed_token_that_is_refused_is_told_and_the_sends_stay(tmp_path: Path) -> None:
    async def story() -> None:
        server = FakeServer(lambda _request: problem(401, "UNAUTHENTICATED"))
        path = tmp_path / "queue.json"
        async with client_of(server, queue_path=path) as client:
            with pytest.raises(Problem, match="401"):
                await client.send("thr_1", "Hello")
            with pytest.raises(Problem, match="401"):
                client.enqueue("thr_1", "Hello again")
        server.refuse = lambda _request: None
        async with client_of(server, queue_path=path) as client:
            [left] = client.pending()
            assert (await left.done())["body"] == "Hello"

    run_virtually(story())


def test_a_fresh_token_lets_a_send_through() -> None:
    async def story() -> None:
        server = FakeServer()
        server.refuse = lambda request: (
            problem(401, "UNAUTHENTICATED")
            if request.headers["authorization"] != "Bearer token 3"
            else None
        )
        numbers = iter(range(1, 10))
        async with client_of(server, token=lambda: f"token {next(numbers)}") as client:
            assert (await client.send("thr_1", "Hello"))["body"] == "Hello"

    run_virtually(story())


def test_what_was_not_sent_is_taken_up_by_the_next_client(tmp_path: Path) -> None:
    async def story() -> None:
        server, path = FakeServer(away), tmp_path / "queue.json"
        async with client_of(server, queue_path=path) as client:
            sends = [client.enqueue("thr_1", f"{number}") for number in range(3)]
            assert [each["body"] for each in json.loads(path.read_text())["sends"]] == [*"012"]
        with pytest.raises(ClosedError):
            await sends[0].done()
        assert state_of(sends[0]) == "queued"
        server.refuse = lambda _request: None
        async with client_of(server, queue_path=path) as client:
            resumed = client.pending()
            assert [each.client_id for each in resumed] == [each.client_id for each in sends]
            await resumed[-1].done()
            assert json.loads(path.read_text())["sends"] == []
        assert server.bodies("thr_1") == [*"012"]

    run_virtually(story())


def test_a_send_that_the_server_had_but_the_file_did_not_know_of_happens_once(
    tmp_path: Path,
) -> None:
    """As if it was killed between the answer and the next version of the file."""

    async def story() -> None:
        server, path = FakeServer(), tmp_path / "queue.json"
        async with client_of(server, queue_path=path) as client:
            queued = client.enqueue("thr_1", "Hello")
            kept = path.read_text()
            await queued.done()
        path.write_text(kept)
        async with client_of(server, queue_path=path) as client:
            [again] = client.pending()
            assert await again.done() == queued.message
        assert server.bodies("thr_1") == ["Hello"]

    run_virtually(story())


def test_a_full_disk_refuses_new_sends_and_holds_up_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server, queue_path=tmp_path / "queue.json") as client:
            queued = client.enqueue("thr_1", "Hello")

            def full(_descriptor: int) -> None:
                raise OSError(errno.ENOSPC, "No space left on device")

            monkeypatch.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                client.enqueue("thr_1", "Hello again")
            assert (await queued.done())["body"] == "Hello"
            assert client.pending() == []

    run_virtually(story())


def test_leaving_in_the_middle_of_a_send_leaves_nothing_running() -> None:
    async def story() -> None:
        began = asyncio.Event()

        async def hang(_request: httpx.Request) -> httpx.Response:
            began.set()
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async with Client(
            "http://greenroom.test", "t", transports=TRANSPORTS, http=httpx.MockTransport(hang)
        ) as client:
            queued = client.enqueue("thr_1", "Hello")
            await began.wait()
            assert state_of(queued) == "sending"
        assert state_of(queued) == "queued"
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(story())
