"""Bodies that are read while they arrive: in little memory, at a fair pace, to the last byte."""

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hardening.wire import Reply, Wire, head

from .test_server import Tiny
from .transfer_server import LIMITS, UPLOAD_BYTES

SERVER = str(Path(__file__).with_name("transfer_server.py"))
MEGABYTE = 1024 * 1024
PAUSE_S = LIMITS.request_body_s


@pytest.fixture
def server() -> Iterator[Tiny]:
    started = Tiny(script=SERVER)
    yield started
    assert started.stop() == 0
    started.close()


def put(wire: Wire, path: str, body: bytes, *lines: str) -> Reply | None:
    wire.say(head("PUT", path, *(lines or [f"Content-Length: {len(body)}"])) + body)
    return wire.reply()


def taken(reply: Reply | None, body: bytes) -> None:
    assert reply is not None
    assert reply.status == 201, reply
    said = json.loads(reply.body)
    assert said["bytes"] == len(body)
    assert said["sha256"] == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 65_536, UPLOAD_BYTES])
def test_an_upload_arrives_whole_and_the_connection_is_kept(server: Tiny, size: int) -> None:
    body = os.urandom(size)
    with Wire(server.port) as wire:
        for _ in range(2):
            reply = put(wire, "/take", body)
            taken(reply, body)
            assert "connection" not in reply.headers  # type: ignore[union-attr]


def test_a_chunked_upload_has_no_announced_length(server: Tiny) -> None:
    body = os.urandom(300_000)
    sent = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (body[:1], body[1:])) + b"0\r\n\r\n"
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", "Transfer-Encoding: chunked") + sent)
        reply = wire.reply()
        taken(reply, body)
        assert json.loads(reply.body)["announced"] is None  # type: ignore[union-attr]


def test_a_longer_body_is_refused_before_it_is_sent(server: Tiny) -> None:
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", f"Content-Length: {UPLOAD_BYTES + 1}"))
        reply = wire.reply()
        assert reply is not None
        assert reply.problem()["code"] == "PAYLOAD_TOO_LARGE"
        assert wire.reply() is None


def test_a_client_that_asks_first_gets_its_refusal_instead_of_continue(server: Tiny) -> None:
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/refuse", "Content-Length: 5000000", "Expect: 100-continue"))
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 403
        assert wire.reply() is None


def test_a_chunked_body_is_refused_where_it_gets_too_long(server: Tiny) -> None:
    chunk = b"%x\r\n%s\r\n" % (MEGABYTE, bytes(MEGABYTE))
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", "Transfer-Encoding: chunked") + chunk * 40)
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 413


def test_a_refusal_does_not_wait_for_the_body(server: Tiny) -> None:
    with Wire(server.port) as wire:
        reply = put(wire, "/refuse", bytes(8 * MEGABYTE))
        assert reply is not None
        assert (reply.status, reply.headers["connection"]) == (403, "close")
        assert wire.reply() is None


def test_a_slow_client_is_waited_for_while_it_makes_progress(server: Tiny) -> None:
    body = os.urandom(6 * LIMITS.upload_pace_bytes)
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", f"Content-Length: {len(body)}"))
        for at in range(0, len(body), 2 * LIMITS.upload_pace_bytes):
            wire.say(body[at : at + 2 * LIMITS.upload_pace_bytes])
            time.sleep(0.8 * PAUSE_S)
        taken(wire.reply(), body)


@pytest.mark.parametrize("trickle", [b"", b"x"])
def test_a_client_that_trickles_or_stops_is_refused(server: Tiny, trickle: bytes) -> None:
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", "Content-Length: 5000000") + bytes(2000))
        for _ in range(8):
            wire.say(trickle)
            time.sleep(0.4 * PAUSE_S)
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 408
    assert server.line("gone after") >= "2000"


def test_a_client_is_not_blamed_for_a_slow_app(server: Tiny) -> None:
    body = os.urandom(4 * MEGABYTE)
    with Wire(server.port) as wire:
        taken(put(wire, "/late", body), body)


def test_a_client_that_leaves_in_the_middle_ends_the_call(server: Tiny) -> None:
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", "Content-Length: 5000000") + bytes(MEGABYTE))
    assert int(server.line("gone after")) <= MEGABYTE
    assert server.get("/ping").json() == "pong"


def test_fewer_bytes_than_announced_are_no_upload(server: Tiny) -> None:
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", "Content-Length: 5000") + bytes(4999))
        wire.end_input()
        assert wire.reply() is None
    assert server.line("gone after") == "4999"


def test_more_bytes_than_announced_are_not_part_of_the_upload(server: Tiny) -> None:
    with Wire(server.port) as wire:
        wire.say(head("PUT", "/take", "Content-Length: 5000") + bytes(5000) + b"JUNK")
        taken(wire.reply(), bytes(5000))
        wire.say(b"\r\n\r\n")
        reply = wire.reply()
        assert reply is not None
        assert reply.status == 400


def test_fifty_uploads_at_once_take_little_memory(server: Tiny) -> None:
    body = os.urandom(10 * MEGABYTE)

    def upload(_: int) -> None:
        with Wire(server.port) as wire:
            taken(put(wire, "/take", body), body)

    upload(0)
    before = peak_bytes(server)
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(upload, range(50)))
    assert peak_bytes(server) - before < 20 * MEGABYTE


def test_uploads_that_the_app_does_not_read_take_little_memory(server: Tiny) -> None:
    before = peak_bytes(server)
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    for each in held:
        each.sendall(head("PUT", "/late", "Content-Length: 8000000"))
        each.setblocking(False)
    for each in held:
        try:
            while each.send(bytes(MEGABYTE)):
                pass
        except BlockingIOError:
            pass
    assert server.get("/ping").json() == "pong"
    assert peak_bytes(server) - before < 16 * MEGABYTE
    for each in held:
        each.close()


def peak_bytes(server: Tiny) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    [line] = [each for each in status.splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
