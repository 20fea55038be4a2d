"""Real processes: how a server stops, and how its workers are kept."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from greenroom.platform.processes.supervisor import RESTART_MOST_S, Worker, restart_delay_s
from tests.support.waiting import PATIENCE_S

TINY = str(Path(__file__).with_name("tiny_server.py"))


class Tiny:
    """A running tiny server. Its lines on stdout say when it got where, so no test sleeps."""

    def __init__(self, *arguments: str, script: str = TINY) -> None:
        self.process = subprocess.Popen(
            [sys.executable, script, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.port = int(self.line("ready"))

    def line(self, word: str) -> str:
        """What follows `word` on the next line that starts with it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError(f"ended before it said {word!r}")

    def rest(self) -> str:
        """All further output, which ends when the last process that writes to it is gone."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S)

    def stop(self, which: int = signal.SIGTERM) -> int:
        self.process.send_signal(which)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Tiny]]:
    started: list[Tiny] = []

    def start_one(*arguments: str) -> Tiny:
        started.append(Tiny(*arguments))
        return started[-1]

    yield start_one
    for tiny in started:
        tiny.close()


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_success(start: Callable[..., Tiny], which: int) -> None:
    tiny = start("one")
    answer = tiny.get("/pid")
    assert answer.json() == {"pid": tiny.process.pid}
    assert "server" not in answer.headers
    assert tiny.stop(which) == 0
    assert "shutdown ran" in tiny.rest()


def test_a_failed_start_ends_with_one() -> None:
    ended = subprocess.run(
        [sys.executable, TINY, "broken"], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 1
    assert b"ConnectionError" in ended.stderr


def test_what_was_accepted_is_finished_before_the_end(start: Callable[..., Tiny]) -> None:
    tiny = start("one")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(tiny.get, "/wait")
        tiny.line("waiting")
        assert tiny.stop() == 0
        assert waiting.result(PATIENCE_S).json() == "finished"
    assert "shutdown ran" in tiny.rest()


def test_a_second_signal_does_not_wait(start: Callable[..., Tiny]) -> None:
    tiny = start("one")
    with ThreadPoolExecutor() as pool:
        hanging = pool.submit(tiny.get, "/hang")
        tiny.line("hanging")
        tiny.process.send_signal(signal.SIGTERM)
        # The listener closes on the first signal, so a refused connection shows that it came.
        while is_listening(tiny):
            pass
        assert tiny.stop() == 1
        assert hanging.result(PATIENCE_S).json()["code"] == "UNAVAILABLE"


def is_listening(tiny: Tiny) -> bool:
    try:
        tiny.get("/healthz")
    except httpx.TransportError:
        return False
    return True


def test_workers_share_the_socket_and_stop_with_success(start: Callable[..., Tiny]) -> None:
    tiny = start("many", "2")
    pids = {tiny.line("worker"), tiny.line("worker")}
    assert len(pids) == 2
    assert str(tiny.get("/pid").json()["pid"]) in pids
    assert tiny.stop() == 0
    assert tiny.rest().count("shutdown ran") == 2


def test_metrics_are_of_all_workers(start: Callable[..., Tiny]) -> None:
    tiny = start("many", "2")
    tiny.line("worker")
    tiny.line("worker")
    for _ in range(20):
        tiny.get("/pid")
    counted = 'greenroom_http_requests_total{method="GET",route="/pid",status="200"} 20.0'
    assert counted in tiny.get("/metrics").text


def test_a_dead_worker_is_replaced(start: Callable[..., Tiny]) -> None:
    tiny = start("many", "1")
    first = int(tiny.line("worker"))
    os.kill(first, signal.SIGKILL)
    second = int(tiny.line("worker"))
    assert second != first
    assert tiny.get("/pid").json() == {"pid": second}
    assert tiny.stop() == 0


def test_workers_finish_what_they_accepted(start: Callable[..., Tiny]) -> None:
    tiny = start("many", "2")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(tiny.get, "/wait")
        tiny.line("waiting")
        assert tiny.stop() == 0
        assert waiting.result(PATIENCE_S).json() == "finished"


def test_a_second_signal_kills_the_workers(start: Callable[..., Tiny]) -> None:
    tiny = start("many", "1")
    with ThreadPoolExecutor() as pool:
        hanging = pool.submit(tiny.get, "/hang")
        tiny.line("hanging")
        tiny.process.send_signal(signal.SIGTERM)
        while is_listening(tiny):
            pass
        assert tiny.stop() == 1
        assert isinstance(hanging.exception(PATIENCE_S), httpx.TransportError)


def test_workers_do_not_outlive_their_parent(start: Callable[..., Tiny]) -> None:
    tiny = start("many", "2")
    tiny.line("worker")
    tiny.line("worker")
    tiny.process.kill()
    # The workers hold stdout too, so reading to its end waits for both of them.
    assert tiny.rest().count("shutdown ran") == 2


def test_metrics_of_a_killed_supervisor_are_removed_at_the_next_start(
    start: Callable[..., Tiny], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed, running = start("many", "1"), start("many", "1")
    for each in (killed, running):
        each.line("worker")
    assert len(list(tmp_path.iterdir())) == 2
    killed.process.kill()
    killed.rest()
    following = start("many", "1")
    following.line("worker")
    assert following.stop() == 0
    assert len(list(tmp_path.iterdir())) == 1
    assert running.stop() == 0
    assert list(tmp_path.iterdir()) == []


def test_restarts_slow_down_within_bounds_and_recover() -> None:
    assert [restart_delay_s(ends) for ends in range(5)] == [0, 0, 0.5, 1, 2]
    assert restart_delay_s(1000) == RESTART_MOST_S
    worker = Worker(0, started_s=0.0, quick_ends=7)
    assert worker.end(now_s=1000.0) == 0
    assert worker.quick_ends == 0
