"""Heads that two programs could read in two ways: refused, and the connection ends.

Each case is written as it goes over the wire, and carries a valid token, so that nothing but its
form stands in the way.
"""

import pytest

from .server import Server
from .wire import Reply, Wire, bearer, head

pytestmark = pytest.mark.usefixtures("still_serving", "bo")

NEXT = head("GET", "/healthz")
HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
)


@pytest.fixture(scope="module")
def bo(server: Server) -> None:
    """Who can be blocked."""
    assert server.call("bo", "GET", "/v1/me").status_code == 200


def request(first: str, *lines: str, body: bytes = b"") -> bytes:
    token = f"Authorization: {bearer('ann')}"
    return ("\r\n".join([first, token, *lines]) + "\r\n\r\n").encode("latin-1") + body


def exchange(server: Server, data: bytes) -> list[Reply]:
    """What is answered until the server closes, which it must."""
    with Wire(server.port) as wire:
        wire.say(data)
        return wire.replies()


def check_refused(server: Server, data: bytes, status: int = 400) -> None:
    """With one answer, also when a good request follows in the same breath."""
    replies = exchange(server, data + NEXT)
    assert [reply.status for reply in replies] == [status], replies
    assert replies[0].problem()["code"] in ("INVALID_REQUEST", "PAYLOAD_TOO_LARGE")
    assert replies[0].headers["connection"] == "close"


GET = "GET /v1/me HTTP/1.1"
POST = "POST /v1/blocks HTTP/1.1"
HOST = "Host: greenroom.test"
JSON = "Content-Type: application/json"
LENGTH = "Content-Length: 16"
BODY = b'{"user_id":"bo"}'
CHUNKED_BODY = b"10\r\n" + BODY + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "first",
    [
        "GET  /v1/me HTTP/1.1",
        "GET /v1/me  HTTP/1.1",
        "GET /v1/me HTTP/1.1 ",
        " GET /v1/me HTTP/1.1",
        "GET\t/v1/me HTTP/1.1",
        "GET /v1/me\tHTTP/1.1",
        "GET /v1/me",
        "GET /v1/me HTTP/1",
        "GET /v1/me HTTP/1.10",
        "GET /v1/me HTTP/01.1",
        "GET /v1/me http/1.1",
        "GET /v1/me RTSP/1.0",
        "GET /v1/me HTTP/2.0",
        "GET /v1/me#part HTTP/1.1",
        "GET v1/me HTTP/1.1",
    ],
)
class TestRequestLine:
    def test_other_than_the_one_form_is_refused(self, server: Server, first: str) -> None:
        check_refused(server, request(first, HOST))

    def test_refused_also_after_a_good_request(self, server: Server, first: str) -> None:
        replies = exchange(server, request(GET, HOST) + request(first, HOST) + NEXT)
        assert [reply.status for reply in replies] == [200, 400]

    def test_refused_also_after_a_body_and_in_single_bytes(
        self, server: Server, first: str
    ) -> None:
        start = request(POST, HOST, JSON, LENGTH, body=BODY)
        with Wire(server.port) as wire:
            wire.say(start)
            assert wire.reply() is not None
            for byte in request(first, HOST):
                wire.say(bytes([byte]))
            assert [reply.status for reply in wire.replies()] == [400]


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        (HOST, HOST),
        (HOST, "Host: elsewhere.test"),
        ("Host:",),
        ("Host: a b",),
        ("Host: a/b",),
        ("Host: a,b",),
        ("Host: ann@greenroom.test",),
        ("Host: http://greenroom.test",),
        ("Host: greenroom.test:http",),
        ("Host: greenroom.test:65536",),
        ("Host: greenroom.test:80:80",),
        ("Host: [::1",),
        ("Host: [::1]x",),
        ("Host: [1::2::3]",),
        ("Host: greenroom.test?x",),
        ("Host: gr\xfcn.test",),
        ("Host: %zz.test",),
    ],
)
def test_a_host_that_is_missing_doubled_or_none(server: Server, hosts: tuple[str, ...]) -> None:
    check_refused(server, request(GET, *hosts))


@pytest.mark.parametrize(
    "host",
    [
        "greenroom.test",
        "GREENROOM.test.",
        "localhost:8000",
        "greenroom_web:80",
        "127.0.0.1:",
        "[::1]:8000",
        "xn--grn-hoa.test",
        "greenroom.test \t",
    ],
)
def test_a_host_that_is_one(server: Server, host: str) -> None:
    replies = exchange(server, request(GET, f"Host: {host}", "Connection: close"))
    assert [reply.status for reply in replies] == [200]


def test_http_1_0_needs_no_host_but_takes_no_second_one(server: Server) -> None:
    assert [r.status for r in exchange(server, request("GET /v1/me HTTP/1.0"))] == [200]
    check_refused(server, request("GET /v1/me HTTP/1.0", HOST, HOST))


@pytest.mark.parametrize(
    "line",
    [
        f"Authorization: {bearer('bob')}",
        "authorization: Bearer x",
        "AUTHORIZATION:",
        JSON,
        "Content-Type: text/plain",
        "Idempotency-Key: one",
        "Idempotency-Key: two",
        "Origin: https://elsewhere.test",
        "Last-Event-ID: 1",
        "Expect: 100-continue",
        "Content-Length: 16",
        "Content-Length: 17",
        "Greenroom-Signature: t=1,v1=00",
        "Access-Control-Request-Method: GET",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    ],
)
def test_a_field_of_one_value_given_twice(server: Server, line: str) -> None:
    name = line.partition(":")[0]
    given = {
        "host": HOST,
        "content-type": JSON,
        "content-length": LENGTH,
        "idempotency-key": "Idempotency-Key: one",
        "origin": "Origin: https://greenroom.test",
    }
    if name.lower() not in ("authorization", *given):
        given[name.lower()] = line
    check_refused(server, request(POST, *given.values(), line, body=BODY))


def test_fields_that_are_lists_may_come_in_several_lines(server: Server) -> None:
    lines = ("Accept: a/b", "Accept: c/d", "Cache-Control: no-cache", "Cache-Control: no-store")
    replies = exchange(server, request(GET, HOST, *lines, "X-A: 1", "X-A: 2", "Connection: close"))
    assert [reply.status for reply in replies] == [200]


@pytest.mark.parametrize(
    "lines",
    [
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: chunked, chunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: chunked;q=1",),
        ("Transfer-Encoding: chunked,",),
        ("Transfer-Encoding: ,chunked",),
        ("Transfer-Encoding: identity",),
        ("Transfer-Encoding: identity", LENGTH),
        ("Transfer-Encoding:",),
        ("Transfer-Encoding: gzip", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", LENGTH),
        (LENGTH, "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 0"),
    ],
)
def test_a_transfer_encoding_other_than_chunked_alone(
    server: Server, lines: tuple[str, ...]
) -> None:
    check_refused(server, request(POST, HOST, JSON, *lines, body=CHUNKED_BODY))


def test_chunked_is_not_for_http_1_0(server: Server) -> None:
    first = "POST /v1/blocks HTTP/1.0"
    check_refused(server, request(first, JSON, "Transfer-Encoding: chunked", body=CHUNKED_BODY))


@pytest.mark.parametrize("coding", ["chunked", "Chunked", "CHUNKED"])
def test_chunked_alone(server: Server, coding: str) -> None:
    lines = (JSON, f"Transfer-Encoding: {coding}")
    replies = exchange(
        server,
        request(POST, HOST, *lines, body=CHUNKED_BODY) + head("GET", "/x", "Connection: close"),
    )
    assert [reply.status for reply in replies] == [204, 404]


@pytest.mark.parametrize(
    "length",
    [
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551632",
        "9" * 400,
        "0" * 30 + "16",
        "-16",
        "+16",
        "16, 16",
        "16,17",
        "0x10",
        "1 6",
        "16.0",
        "",
    ],
)
def test_a_length_that_no_body_has(server: Server, length: str) -> None:
    """Whether or not the caller is known, and whether or not there is such a call."""
    line = f"Content-Length: {length}"
    for first in (POST, "POST /nowhere HTTP/1.1"):
        check_refused(server, request(first, HOST, JSON, line, body=BODY))


@pytest.mark.parametrize("token", [True, False])
def test_a_length_that_no_call_takes_ends_the_connection_with_its_answer(
    server: Server, token: bool
) -> None:
    line = f"Content-Length: {10**17}"
    for path, statuses in (("/v1/blocks", (401, 413)), ("/nowhere", (404, 404))):
        data = head("POST", path, JSON, line, user="ann" if token else None)
        [reply] = exchange(server, data + BODY + NEXT)
        assert reply.status == statuses[token]
        assert reply.headers["connection"] == "close"


def test_white_space_after_a_value_is_not_part_of_it(server: Server) -> None:
    data = request(POST, HOST, JSON + " ", LENGTH + " \t", "Connection: close", body=BODY)
    assert [reply.status for reply in exchange(server, data)] == [204]


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize(
    "trailer",
    [
        b"X: " + b"x" * 60_000 + b"\r\n",
        b"X: y\r\n" * 12_000,
        b"".join(b"X: %d\r\n" % n for n in range(12_000)),
    ],
    ids=["one long", "one many times", "many values"],
)
def test_trailers_past_the_limit_of_heads(server: Server, trailer: bytes, is_whole: bool) -> None:
    data = request(POST, HOST, JSON, "Transfer-Encoding: chunked")
    data += b"10\r\n" + BODY + b"\r\n0\r\n" + trailer
    [reply] = exchange(server, data + (b"\r\n" + NEXT if is_whole else b""))
    assert reply.status == 431
    reply.problem()


def test_chunk_extensions_past_the_limit_of_heads(server: Server) -> None:
    data = request(POST, HOST, JSON, "Transfer-Encoding: chunked")
    check_refused(server, data + b"10;x=" + b"y" * 80_000 + b"\r\n" + BODY, status=431)


def test_trailers_within_the_limit(server: Server) -> None:
    data = request(POST, HOST, JSON, "Transfer-Encoding: chunked", "Connection: close")
    data += b"10\r\n" + BODY + b"\r\n0\r\nX: " + b"x" * 1000 + b"\r\n\r\n"
    assert [reply.status for reply in exchange(server, data)] == [204]


class TestWebSocketHandshake:
    @pytest.mark.parametrize(
        ("first", "lines", "status"),
        [
            ("GET /v1/ws HTTP/1.0", HANDSHAKE, 400),
            ("POST /v1/ws HTTP/1.1", HANDSHAKE, 400),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE, "Content-Length: 2"), 400),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE, "Transfer-Encoding: chunked"), 400),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE, HANDSHAKE[2]), 400),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE, HANDSHAKE[3]), 400),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE[:2], HANDSHAKE[3]), 400),
            ("GET /v1/ws HTTP/1.1", HANDSHAKE[:3], 426),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE[:3], "Sec-WebSocket-Version: 8"), 426),
            ("GET /v1/ws HTTP/1.1", (*HANDSHAKE[:3], "Sec-WebSocket-Version: 13, 8"), 426),
        ],
    )
    def test_that_is_none_is_refused(
        self, server: Server, first: str, lines: tuple[str, ...], status: int
    ) -> None:
        check_refused(server, request(first, HOST, *lines), status)

    def test_of_another_version_is_told_which_is_spoken(self, server: Server) -> None:
        lines = (*HANDSHAKE[:3], "Sec-WebSocket-Version: 8")
        [reply] = exchange(server, request("GET /v1/ws HTTP/1.1", HOST, *lines))
        assert (reply.status, reply.headers["sec-websocket-version"]) == (426, "13")

    @pytest.mark.parametrize("missing", [0, 1])
    def test_without_upgrade_or_connection_is_an_ordinary_request(
        self, server: Server, missing: int
    ) -> None:
        lines = HANDSHAKE[:missing] + HANDSHAKE[missing + 1 :]
        data = request("GET /v1/ws HTTP/1.1", HOST, *lines) + head("GET", "/x", "Connection: close")
        assert [reply.status for reply in exchange(server, data)] == [404, 404]

    def test_in_order_opens(self, server: Server) -> None:
        with Wire(server.port) as wire:
            wire.say(request("GET /v1/ws HTTP/1.1", HOST, *HANDSHAKE))
            reply = wire.reply()
            assert reply is not None
            assert reply.status == 101

    @pytest.mark.parametrize("early", [b"\xff" * 100, b"\x81", b"GET / HTTP/1.1\r\n\r\n"])
    def test_what_comes_before_it_is_answered_waits(self, server: Server, early: bytes) -> None:
        """And is then read as frames, good or bad."""
        with Wire(server.port) as wire:
            wire.say(request("GET /v1/ws HTTP/1.1", HOST, *HANDSHAKE) + early)
            reply = wire.reply()
            assert reply is not None
            assert reply.status == 101
