"""What one connection can make the server hold is bounded, in every state that it can be in.

Each test pours into a connection, and reads nothing from it, until the server takes no more, or
closes, or has taken everything. Meanwhile others are served; the server's memory is measured at its
highest.
"""

import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.support.waiting import PATIENCE_S, wait_until

from .server import Server
from .wire import head

pytestmark = pytest.mark.usefixtures("still_serving")

GROWTH_BYTES = 16 * 1024 * 1024
REQUESTS = 150_000
FRAMES = 500_000
CALM = 30
"""Calls of others that are answered while the connection takes nothing, until it is full."""

JSON = ("Content-Type: application/json",)
HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
)
BARE = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


class Mute:
    """A connection that says much and reads nothing but what it is asked to."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._socket = socket.socket()
        # Answers that are not read stay with the server and not in this end's buffer.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect(("127.0.0.1", server.port))

    def close(self) -> None:
        self._socket.close()

    def ask(self, data: bytes) -> None:
        """Says it and waits for the first bytes of its answer."""
        self._socket.sendall(data)
        assert self._socket.recv(12).startswith(b"HTTP/1.1 ")

    def pour(self, data: bytes, times: int = 1) -> None:
        self._socket.setblocking(False)
        for _ in range(times):
            if not self._pour(memoryview(data)):
                return

    def _pour(self, rest: memoryview) -> bool:
        calm = 0
        while rest and calm < CALM:
            try:
                rest = rest[self._socket.send(rest) :]
                calm = 0
            except BlockingIOError:
                assert self._server.http.get("/healthz").status_code == 200
                calm += 1
            except ConnectionError:
                return False
        return not rest

    def is_dropped(self) -> bool:
        try:
            self._socket.send(b"x")
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        return False


@pytest.fixture
def mute(server: Server) -> Iterator[Mute]:
    """Everybody who comes later is served, and what this one cost stays within bounds."""
    for _ in range(CALM):
        assert server.http.get("/x").status_code == 404
        assert server.call("ann", "GET", "/v1/me").status_code == 200
    server.forget_peak()
    before = server.rss_bytes()
    with contextlib.closing(Mute(server)) as connection:
        yield connection
        for _ in range(CALM):
            assert server.call("ann", "GET", "/v1/me").status_code == 200
        assert server.peak_rss_bytes() - before < GROWTH_BYTES


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True) -> bytes:
    """As clients send it: masked, here with zeros."""
    first = (0x80 if fin else 0) | opcode
    if len(payload) < 126:
        return struct.pack("!BB4x", first, 0x80 | len(payload)) + payload
    return struct.pack("!BBH4x", first, 0xFE, len(payload)) + payload


TEXT, BINARY, CONTINUATION, PING, PONG = 1, 2, 0, 9, 10


class TestRequests:
    def test_a_pipeline_without_a_token(self, mute: Mute) -> None:
        mute.pour(BARE * REQUESTS)

    def test_a_pipeline_of_http_1_0(self, mute: Mute) -> None:
        mute.pour(b"GET /x HTTP/1.0\r\n\r\n" * REQUESTS)

    def test_a_pipeline_of_large_bodies(self, mute: Mute) -> None:
        body = b'{"user_id":"%s"}' % (b"x" * 200_000)
        length = f"Content-Length: {len(body)}"
        mute.pour(head("POST", "/v1/blocks", *JSON, length, user="ann") + body, times=200)

    def test_a_pipeline_of_large_answers(self, mute: Mute) -> None:
        mute.pour(head("GET", "/openapi.json") * 10_000)

    def test_a_pipeline_behind_a_request_that_waits(self, server: Server, mute: Mute) -> None:
        cursor = server.call("ann", "GET", "/v1/sync").json()["cursor"]
        waiting = head("GET", f"/v1/sync?since={cursor}&wait=30", user="ann")
        mute.pour(waiting + BARE * REQUESTS)

    def test_a_pipeline_behind_a_stream(self, mute: Mute) -> None:
        mute.ask(head("GET", "/v1/stream", user="ann"))
        mute.pour(BARE * REQUESTS)

    def test_a_head_of_many_small_fields(self, mute: Mute) -> None:
        mute.pour(head("GET", "/x").removesuffix(b"\r\n") + b"a:\r\n" * 1_000_000)

    def test_a_head_of_one_line(self, mute: Mute) -> None:
        mute.pour(b"GET /" + b"a" * 50_000_000)

    def test_blank_lines(self, mute: Mute) -> None:
        mute.pour(b"\r\n" * 5_000_000)

    @pytest.mark.parametrize("user", ["ann", None])
    def test_a_body_of_small_chunks(self, mute: Mute, user: str | None) -> None:
        start = head("POST", "/v1/blocks", *JSON, "Transfer-Encoding: chunked", user=user)
        mute.pour(start + b"2\r\n  \r\n" * 1_000_000)

    @pytest.mark.parametrize("user", ["ann", None])
    def test_a_body_without_end(self, mute: Mute, user: str | None) -> None:
        start = head("POST", "/v1/blocks", *JSON, f"Content-Length: {10**17}", user=user)
        mute.pour(start + b" " * 50_000_000)

    def test_trailers(self, mute: Mute) -> None:
        start = head("POST", "/v1/blocks", *JSON, "Transfer-Encoding: chunked", user="ann")
        mute.pour(start + b"2\r\n{}\r\n0\r\n" + b"a:\r\n" * 1_000_000)


class TestWebSocket:
    @pytest.fixture
    def open_socket(self, mute: Mute) -> Mute:
        mute.ask(head("GET", "/v1/ws", *HANDSHAKE, user="ann"))
        return mute

    @pytest.mark.parametrize(
        "data",
        [
            frame(TEXT) * FRAMES,
            frame(TEXT, b'{"type":"ping","ref":"1"}') * FRAMES,
            frame(BINARY) * FRAMES,
            frame(PING) * FRAMES,
            frame(PING, b"x" * 125) * (FRAMES // 10),
            frame(PONG) * FRAMES,
            frame(TEXT, fin=False) + frame(CONTINUATION, fin=False) * FRAMES,
            frame(TEXT, fin=False) + frame(CONTINUATION, b"x", fin=False) * FRAMES,
            frame(TEXT, b"x" * 60_000, fin=False) * 500,
            b"\x81\xff" + struct.pack("!Q4x", 1 << 40) + b"x" * 5_000_000,
        ],
        ids=[
            "empty texts",
            "pings of ours",
            "empty binaries",
            "pings",
            "long pings",
            "pongs",
            "empty fragments",
            "small fragments",
            "large fragments",
            "one frame without end",
        ],
    )
    def test_frames(self, open_socket: Mute, data: bytes) -> None:
        open_socket.pour(data)

    def test_frames_before_the_handshake_is_answered(self, mute: Mute) -> None:
        mute.pour(head("GET", "/v1/ws", *HANDSHAKE) + frame(TEXT) * FRAMES)

    def test_a_handshake_behind_a_pipeline(self, mute: Mute) -> None:
        mute.pour(
            BARE * 1000 + head("GET", "/v1/ws", *HANDSHAKE, user="ann") + frame(TEXT) * FRAMES
        )


@pytest.mark.parametrize("closes", [False, True])
def test_a_client_that_does_not_read_its_answers_loses_the_connection(
    mute: Mute, closes: bool
) -> None:
    last = head("GET", "/openapi.json", "Connection: close") if closes else b""
    mute.pour(head("GET", "/openapi.json") * 10 + last)
    wait_until(mute.is_dropped, "the end of the connection")


def test_what_one_connection_held_is_given_back(server: Server) -> None:
    """The same again and again takes no more than once."""
    with contextlib.closing(Mute(server)) as first:
        first.pour(BARE * REQUESTS)
    server.forget_peak()
    before = server.rss_bytes()
    for _ in range(10):
        with contextlib.closing(Mute(server)) as other:
            other.pour(BARE * REQUESTS)
    assert server.peak_rss_bytes() - before < GROWTH_BYTES // 2
