"""Bodies that are too large, too deep, too slow or wrongly declared are refused at low cost."""

import json
from typing import Any

import pytest

from .server import Server
from .wire import Reply, Wire, head

JSON = "Content-Type: application/json"
MEGABYTE = 1_000_000


pytestmark = pytest.mark.usefixtures("still_serving")


@pytest.fixture(scope="module")
def path(server: Server) -> str:
    return f"/v1/threads/{server.thread('ann', 'bob')}/messages"


def post(server: Server, path: str, body: bytes, *lines: str) -> list[Reply]:
    """The answers until the server closes."""
    given = lines or (f"Content-Length: {len(body)}",)
    with Wire(server.port) as wire:
        wire.say(head("POST", path, JSON, "Connection: close", *given, user="ann") + body)
        return wire.replies()


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize("way", ["announced", "chunked", "tiny chunks", "anonymous", "unwanted"])
def test_ten_megabytes(server: Server, path: str, way: str) -> None:
    body = b'{"client_id":"big","body":"' + b"x" * (10 * MEGABYTE) + b'"}'
    before = server.rss_bytes()
    with Wire(server.port) as wire:
        if way == "chunked":
            wire.say(head("POST", path, JSON, "Transfer-Encoding: chunked", user="ann"))
            wire.say(chunked(body, 50_000))
        elif way == "tiny chunks":
            wire.say(head("POST", path, JSON, "Transfer-Encoding: chunked", user="ann"))
            wire.say(chunked(body[:MEGABYTE], 8))
        elif way == "unwanted":
            wire.say(head("GET", "/v1/me", f"Content-Length: {len(body)}", user="ann") + body)
        else:
            user = None if way == "anonymous" else "ann"
            wire.say(head("POST", path, JSON, f"Content-Length: {len(body)}", user=user) + body)
        if way == "anonymous":
            reply = wire.reply()
            assert reply is not None
            assert reply.status == 401
        else:
            [reply] = wire.replies()
            assert reply.status == 413, reply
            assert reply.problem()["code"] == "PAYLOAD_TOO_LARGE"
            assert reply.headers["connection"] == "close"
    assert server.rss_bytes() - before < 20 * MEGABYTE


def test_many_large_bodies_leave_nothing_behind(server: Server, path: str) -> None:
    body = b"x" * MEGABYTE
    before = server.rss_bytes()
    for _ in range(50):
        [reply] = post(server, path, chunked(body, 60_000), "Transfer-Encoding: chunked")
        assert reply.status == 413
    assert server.rss_bytes() - before < 20 * MEGABYTE


def test_a_client_that_waits_to_be_asked_is_told_before_it_sends(server: Server, path: str) -> None:
    with Wire(server.port) as wire:
        wire.say(head("POST", path, JSON, "Content-Length: 9999999", "Expect: 100-continue",
                      user="ann"))  # fmt: skip
        [reply] = wire.replies()
        assert reply.status == 413


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"client_id":"d","body":['])
def test_a_hundred_thousand_brackets(server: Server, path: str, opening: bytes) -> None:
    count = min(100_000, 250_000 // len(opening))
    [reply] = post(server, path, opening * count)
    assert reply.status == 400
    assert reply.problem()["code"] == "INVALID_REQUEST"


GOOD = {"client_id": "good", "body": "Hello", "reply_to": None}
WRONG: list[Any] = [1, -1, 1.5, 1e400, 10**400, True, [], ["x"], {}, {"x": 1}, None]


@pytest.mark.parametrize("field", list(GOOD))
def test_each_field_with_each_wrong_type(server: Server, path: str, field: str) -> None:
    for value in WRONG:
        if field == "reply_to" and value is None:
            continue
        body = json.dumps({**GOOD, field: value}).encode()
        [reply] = post(server, path, body)
        assert reply.status == 400, (field, value, reply)
        assert f"$.{field}" in reply.problem()["detail"] or value in (1e400, 10**400)


@pytest.mark.parametrize(
    "value", [1, 1.5, True, None, [], {}, "", "x", ["x"], [[]], [1], {"to": {}}, [None]]
)
def test_each_field_of_a_new_thread_with_a_wrong_type(server: Server, value: Any) -> None:
    good = {"kind": "inquiry", "to": "bob", "first_message": {"client_id": "f", "body": "Hello"}}
    optional = ("role_context", "subject", "job_id")
    for field in (*good, *optional):
        if field in optional and (value is None or isinstance(value, str)):
            continue
        [reply] = post(server, "/v1/threads", json.dumps({**good, field: value}).encode())
        assert reply.status in (400, 404), (field, value, reply)
        reply.problem()


@pytest.mark.parametrize(
    "body",
    [b"null", b"1", b'"x"', b"[]", b"NaN", b"\x00", b"", b" ", b"{}{}", b"{},", b"\xef\xbb\xbf{}"],
)
def test_other_json_than_an_object(server: Server, path: str, body: bytes) -> None:
    [reply] = post(server, path, body)
    assert reply.status == 400
    reply.problem()


def test_json_cut_anywhere(server: Server, path: str) -> None:
    whole = json.dumps(GOOD).encode()
    for length in range(len(whole)):
        [reply] = post(server, path, whole[:length])
        assert reply.status == 400, whole[:length]
        reply.problem()


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "", "a/b/c"]
)
def test_another_content_type(server: Server, path: str, kind: str) -> None:
    with Wire(server.port) as wire:
        wire.say(head("POST", path, f"Content-Type: {kind}", "Content-Length: 2", user="ann"))
        wire.say(b"{}")
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 415
        assert reply.problem()["code"] == "UNSUPPORTED_TYPE"


def test_less_than_announced_and_then_gone(server: Server, path: str) -> None:
    body = json.dumps({**GOOD, "client_id": "half"}).encode()
    with Wire(server.port) as wire:
        wire.say(head("POST", path, JSON, f"Content-Length: {len(body) + 9}", user="ann") + body)
        wire.end_input()
        assert wire.replies() == []
    assert is_absent(server, path, "half")


def is_absent(server: Server, path: str, client_id: str) -> bool:
    items = server.call("ann", "GET", path).json()["items"]
    return all(item.get("client_id") != client_id for item in items)


def test_more_than_announced_is_no_second_request(server: Server, path: str) -> None:
    body = json.dumps({**GOOD, "client_id": "short"}).encode()
    with Wire(server.port) as wire:
        wire.say(head("POST", path, JSON, f"Content-Length: {len(body)}", user="ann"))
        wire.say(body + b"xxxxxx")
        first, second = wire.replies()
    assert (first.status, second.status) == (201, 400)


def test_a_body_that_never_ends(server: Server, path: str) -> None:
    """The server's patience is set to two seconds for these tests."""
    with Wire(server.port) as wire:
        wire.say(head("POST", path, JSON, "Content-Length: 100", user="ann") + b'{"client_id":')
        [reply] = wire.replies()
        assert reply.status == 408
        reply.problem()


@pytest.mark.parametrize("start", [b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A"])
def test_a_head_that_never_ends(server: Server, start: bytes) -> None:
    with Wire(server.port) as wire:
        wire.say(start)
        [reply] = wire.replies()
        assert reply.status == 408


@pytest.mark.parametrize("start", [b"", b"\r\n", b"\r\n\r\n\r\n"])
def test_a_connection_on_which_nothing_is_said(server: Server, start: bytes) -> None:
    with Wire(server.port) as wire:
        wire.say(start)
        assert wire.replies() == []


def test_stray_line_ends_after_an_answer_do_not_keep_a_connection(server: Server) -> None:
    with Wire(server.port) as wire:
        wire.say(head("GET", "/healthz"))
        assert wire.reply() is not None
        wire.say(b"\r\n")
        assert wire.replies() == []


def test_one_byte_at_a_time(server: Server, path: str) -> None:
    """Drip by drip, but within the time that there is: taken like any other."""
    body = json.dumps({**GOOD, "client_id": "drip"}).encode()
    request = head("POST", path, JSON, f"Content-Length: {len(body)}", user="ann") + body
    with Wire(server.port) as wire:
        for byte in request:
            wire.say(bytes([byte]))
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 201


def test_dribbled_and_dropped(server: Server, path: str) -> None:
    body = json.dumps({**GOOD, "client_id": "dropped"}).encode()
    request = head("POST", path, JSON, f"Content-Length: {len(body)}", user="ann") + body
    before = server.rss_bytes()
    for length in range(1, len(request), 7):
        with Wire(server.port) as wire:
            wire.say(request[:length])
    assert is_absent(server, path, "dropped")
    assert server.rss_bytes() - before < 20 * MEGABYTE


def test_an_early_answer_does_not_buy_time_for_the_body(server: Server, path: str) -> None:
    """401 comes before the body, which then has as long as any other."""
    with Wire(server.port) as wire:
        wire.say(head("POST", path, JSON, "Content-Length: 100") + b"{")
        assert [reply.status for reply in wire.replies()] == [401]


def test_slow_ones_do_not_hold_up_others(server: Server, path: str) -> None:
    slow = [Wire(server.port) for _ in range(200)]
    try:
        for wire in slow:
            wire.say(head("POST", path, JSON, "Content-Length: 100", user="ann") + b"{")
        assert server.call("ann", "GET", "/v1/me").status_code == 200
        for wire in slow:
            assert [reply.status for reply in wire.replies()] == [408]
    finally:
        for wire in slow:
            wire.__exit__()
