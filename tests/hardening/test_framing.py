"""Bytes that are no proper HTTP: a problem document or a clean close, and the server goes on."""

import pytest

from .server import Server
from .wire import Reply, Wire, bearer, head

OK = head("GET", "/healthz")
CLOSE = "Connection: close"
CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")


pytestmark = pytest.mark.usefixtures("still_serving")


def exchange(server: Server, data: bytes) -> list[Reply]:
    """What is answered until the server closes, which it must."""
    with Wire(server.port) as wire:
        wire.say(data)
        return wire.replies()


def test_the_first_request_of_a_connection_has_no_other_way_out(server: Server) -> None:
    with Wire(server.port) as wire:
        wire.say(OK)
        reply = wire.reply()
        assert reply is not None
        assert (reply.status, reply.body) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize(
    "data",
    [
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/0.9\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
        b"FROB /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\nHost: x\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nBroken header\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n",
        b"GET /health\x00z HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health z HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"\xff" * 5000,
        b"POST /v1/blocks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /v1/blocks HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /v1/blocks HTTP/1.1\r\nHost: x\r\nContent-Length: 2x\r\n\r\n{}",
        b"POST /v1/blocks HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
    ],
    ids=lambda data: data[:60].decode("latin-1").encode("unicode_escape").decode(),
)
def test_what_is_no_request(server: Server, data: bytes) -> None:
    replies = exchange(server, data)
    assert [reply.status for reply in replies] == [400], replies
    assert replies[0].problem()["code"] == "INVALID_REQUEST"
    assert replies[0].headers["connection"] == "close"


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 4", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 4"),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: identity", "Content-Length: 4"),
        ("Transfer-Encoding:\x0bchunked",),
        ("Content-Length: 4", "Content-Length: 4, 5"),
    ],
)
def test_two_ways_to_read_a_body_are_one_too_many(server: Server, lines: tuple[str, ...]) -> None:
    """Nothing that another server might take for a second request is answered as one."""
    user = "smuggler"
    smuggled = b"0\r\n\r\n" + head("GET", "/v1/me", user=user)
    json = "Content-Type: application/json"
    replies = exchange(server, head("POST", "/v1/blocks", json, *lines, user=user) + smuggled)
    assert len(replies) <= 1
    assert all(reply.status == 400 for reply in replies)


@pytest.mark.parametrize("size", [b"-1", b"xyz", b"1g", b"", b"f" * 17, b"0x2", b" 2", b"2 ;;\x00"])
def test_a_chunk_size_that_is_none(server: Server, size: bytes) -> None:
    start = head("POST", "/v1/blocks", *CHUNKED, user="chunky")
    replies = exchange(server, start + size + b"\r\n{}\r\n0\r\n\r\n" + OK)
    assert [reply.status for reply in replies] == [400], replies
    replies[0].problem()


def test_trailers_are_not_headers(server: Server) -> None:
    """Who was not let in by the headers does not get in by what comes after the body."""
    trailer = f"Authorization: {bearer('late')}\r\nContent-Type: application/json\r\n"
    start = head("POST", "/v1/blocks", "Transfer-Encoding: chunked", "Connection: close")
    replies = exchange(server, start + b"2\r\n{}\r\n0\r\n" + trailer.encode() + b"\r\n")
    assert [reply.status for reply in replies] == [401]


def test_trailers_without_end(server: Server) -> None:
    start = head("POST", "/v1/blocks", *CHUNKED, user="trailing")
    flood = b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in range(5000))
    replies = exchange(server, start + b"2\r\n{}\r\n0\r\n" + flood)
    assert [reply.status for reply in replies] == [431]


@pytest.mark.parametrize(
    "lines",
    [
        ["X-Long: " + "x" * 1_000_000],
        [f"X-{n}: y" for n in range(100_000)],
        ["X: y"] * 100_000,
        ["X" * 1_000_000 + ": y"],
    ],
    ids=["one long value", "many names", "one name many times", "one long name"],
)
def test_headers_without_measure(server: Server, lines: list[str]) -> None:
    before = server.rss_bytes()
    replies = exchange(server, head("GET", "/healthz", *lines))
    assert [reply.status for reply in replies] == [431], replies
    assert replies[0].problem()["code"] == "PAYLOAD_TOO_LARGE"
    assert server.rss_bytes() - before < 20_000_000


def test_an_address_without_measure(server: Server) -> None:
    [reply] = exchange(server, head("GET", "/" + "a" * 1_000_000))
    assert reply.status == 431


def test_headers_within_measure(server: Server) -> None:
    lines = [f"X-{n}: {'y' * 200}" for n in range(100)]
    assert [r.status for r in exchange(server, head("GET", "/healthz", *lines, CLOSE))] == [200]


def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    thread_id = server.thread("ann", "bob")
    path = f"/v1/threads/{thread_id}/messages"
    data = b""
    for number in range(40):
        body = b'{"client_id":"p%d","body":"%d"}' % (number, number)
        lines = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        data += head("POST", path, *lines, user="ann") + body
        data += OK
    with Wire(server.port) as wire:
        wire.say(data)
        for number in range(40):
            sent, fine = wire.reply(), wire.reply()
            assert sent is not None
            assert fine is not None
            assert (sent.status, fine.status) == (201, 200)
            assert f'"body":"{number}"'.encode() in sent.body


@pytest.mark.parametrize("split", [False, True])
def test_rubbish_after_good_requests_waits_for_their_answers(server: Server, split: bool) -> None:
    """The refusal must not pass for the answer to a request that was carried out."""
    good = head("GET", "/v1/me", user="ann") + head("GET", "/v1/inbox", user="ann")
    with Wire(server.port) as wire:
        if split:
            wire.say(good)
            wire.say(b"rubbish\r\n\r\n")
        else:
            wire.say(good + b"rubbish\r\n\r\n")
        replies = wire.replies()
    assert [reply.status for reply in replies] == [200, 200, 400]
    replies[2].problem()


def test_a_broken_body_after_a_good_request(server: Server) -> None:
    broken = head("POST", "/v1/blocks", *CHUNKED, user="ann") + b"zz\r\n"
    replies = exchange(server, head("GET", "/v1/me", user="ann") + broken)
    assert [reply.status for reply in replies] == [200, 400]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("http://elsewhere.test/healthz", 200),
        ("/healthz/", 404),
        ("//healthz", 404),
        ("/./healthz", 404),
        ("/x/../healthz", 404),
        ("/%2e%2e/healthz", 404),
        ("/%68ealthz", 404),
        ("/v1%2Fme", 404),
        ("/v1/threads/..%2f..%2fme", 404),
        ("/v1/threads/%00", 404),
        ("/v1/threads/%ff%fe", 404),
        ("/v1/threads/%", 404),
        ("/v1/threads/%zz", 404),
        ("/v1/threads/" + "a" * 5000, 404),
        ("/v1/threads/%e2%80%ae", 404),
        ("/v1/threads/'%20or%201=1--", 404),
        ("/v1/me?x=%00", 400),
        ("/v1/sync?since=%ff", 400),
        ("/v1/inbox?limit=1&limit=2", 400),
        ("/v1/inbox?" + "a=b&" * 3000, 400),
    ],
)
def test_addresses(server: Server, path: str, status: int) -> None:
    [reply] = exchange(server, head("GET", path, CLOSE, user="ann"))
    assert reply.status == status, reply
    if status != 200:
        reply.problem()


def test_asterisk_is_no_address(server: Server) -> None:
    replies = exchange(server, head("OPTIONS", "*", CLOSE))
    assert [reply.status for reply in replies] in ([400], [404])
    replies[0].problem()


@pytest.mark.parametrize(
    "lines",
    [
        ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
        ("Connection: Upgrade", "Upgrade: TLS/1.0"),
        ("Upgrade: websocket",),
    ],
)
def test_an_upgrade_that_is_not_on_offer_is_passed_over(
    server: Server, lines: tuple[str, ...]
) -> None:
    """Java's HTTP client asks for h2c on every connection without TLS."""
    with Wire(server.port) as wire:
        wire.say(head("GET", "/healthz", *lines))
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 200
        if reply.headers.get("connection") == "close":
            assert wire.replies() == []
        else:
            wire.say(OK)
            again = wire.reply()
            assert again is not None
            assert again.status == 200


def test_a_websocket_where_there_is_none(server: Server) -> None:
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", key, "Sec-WebSocket-Version: 13")
    with Wire(server.port) as wire:
        wire.say(head("GET", "/v1/ws", *upgrade))
        wire.end_input()
        assert all(400 <= reply.status < 500 for reply in wire.replies())
