"""Connections on which anything can be said, to treat a server badly."""

import json
import selectors
import socket
from dataclasses import dataclass
from typing import Any

from tests.support.server_process import token_of
from tests.support.waiting import PATIENCE_S

Json = dict[str, Any]


def bearer(user: str) -> str:
    return "Bearer " + token_of(user)


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
