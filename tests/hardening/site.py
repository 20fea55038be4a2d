"""A real `greenroom serve` to be treated badly, and sockets to do it with."""

import http.server
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from greenroom.kernel.clock import system_clock
from greenroom.platform.auth import sign_token

SECRET = "a secret that is long enough for tests"
PATIENCE_S = 30.0
LOOK_S = 0.01

Json = dict[str, Any]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain: {what}")
        time.sleep(LOOK_S)


class Server:
    """`greenroom serve` as one process, on whatever port is free."""

    def __init__(
        self, home: Path, environment: Mapping[str, str], *, log: Path | None = None
    ) -> None:
        self.log = log or home / "server.log"
        given = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
        ours = {"GREENROOM_HOME": str(home), "GREENROOM_JWT_SECRET": SECRET}
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "greenroom", "serve", "--port", "0"],
                env={**given, **ours, **environment},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        until(lambda: self.has_ended() or bool(self.said("listening")), "start")
        assert not self.has_ended(), self.log.read_text()
        self.port: int = self.said("listening")[0]["port"]
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE_S)

    def said(self, message: str) -> list[Json]:
        return [each for each in self._lines() if each["message"] == message]

    def complaints(self) -> list[Json]:
        """What it logged as its own mistake."""
        return [each for each in self._lines() if each["level"] in ("error", "critical")]

    def _lines(self) -> list[Json]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def rss_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [line] = [each for each in status.splitlines() if each.startswith("VmRSS")]
        return int(line.split()[1]) * 1024

    def call(self, user: str, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"authorization": bearer(user)}
        return self.http.request(method, path, headers=headers, json=body)

    def thread(self, *users: str) -> str:
        """A thread of the first user with the others."""
        for user in users:
            assert self.call(user, "GET", "/v1/me").status_code == 200
        first = {"client_id": f"first-{time.monotonic_ns()}", "body": "Hello"}
        new = {"kind": "inquiry", "to": list(users[1:]), "first_message": first}
        answer = self.call(users[0], "POST", "/v1/threads", new)
        assert answer.status_code == 201, answer.text
        thread_id: str = answer.json()["thread"]["id"]
        return thread_id

    def end(self) -> int:
        self.http.close()
        if not self.has_ended():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def bearer(user: str) -> str:
    return "Bearer " + sign_token(SECRET.encode(), user, clock=system_clock, ttl_s=3600)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def problem(self) -> Json:
        assert self.headers["content-type"] == "application/problem+json", self
        document: Json = json.loads(self.body)
        wanted = {"type", "title", "status", "code", "detail", "hint", "corr_id"}
        assert wanted <= set(document)
        assert document["status"] == self.status
        return document


class Wire:
    """A connection on which anything can be said. Ends with `with`."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heard = b""
        self.is_closed = False

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, data: bytes) -> None:
        """Sends, listening meanwhile as clients do; what nobody takes any more is left unsaid."""
        rest = memoryview(data)
        with selectors.DefaultSelector() as selector:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            selector.register(self._socket, both)
            while rest and not self.is_closed:
                ready = selector.select(PATIENCE_S)
                assert ready, "the server neither takes nor says anything"
                if ready[0][1] & selectors.EVENT_READ:
                    self._hear()
                elif ready[0][1] & selectors.EVENT_WRITE:
                    try:
                        rest = rest[self._socket.send(rest[:65536]) :]
                    except ConnectionError:
                        self._hear()

    def _hear(self) -> None:
        try:
            heard = self._socket.recv(65536)
        except ConnectionError:
            heard = b""
        self._heard += heard
        self.is_closed = not heard

    def end_input(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def reply(self) -> Reply | None:
        """The next whole answer; None if the server closes instead."""
        while b"\r\n\r\n" not in self._heard:
            if self.is_closed:
                assert not self._heard, f"an answer without an end: {self._heard!r}"
                return None
            self._hear()
        head, _, rest = self._heard.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): text.strip() for name, _, text in (each.partition(":") for each in lines)
        }
        length = int(headers.get("content-length", "0"))
        while len(rest) < length and not self.is_closed:
            self._hear()
            rest = self._heard.partition(b"\r\n\r\n")[2]
        assert len(rest) >= length, "an answer without an end"
        self._heard = rest[length:]
        return Reply(int(first.split()[1]), headers, rest[:length])

    def replies(self) -> list[Reply]:
        """All answers until the server closes."""
        found = []
        while (reply := self.reply()) is not None:
            found.append(reply)
        return found


def head(method: str, path: str, *lines: str, user: str | None = None) -> bytes:
    """A request's first lines, with a token if there is a user."""
    given = [f"{method} {path} HTTP/1.1", "Host: greenroom.test", *lines]
    if user is not None:
        given.append(f"Authorization: {bearer(user)}")
    return ("\r\n".join(given) + "\r\n\r\n").encode("latin-1")


class KeySite:
    """A web server on this machine that gives out a key set and counts who asks."""

    def __init__(self, document: Json) -> None:
        self.asked: list[str] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/jwks.json"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
