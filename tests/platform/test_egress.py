"""Where requests may go whose address somebody else has given."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from greenroom.platform.egress import Egress, EgressRefusedError, is_public, parse_egress
from greenroom.platform.http_client import HttpClient, HttpError, Lookup, Reply

CLOSED = [
    *("127.0.0.1", "127.8.8.8", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16"),
    *("192.0.0.192", "198.18.0.1", "224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1"),
    *("::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "2002:7f00:1::1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "fe80::1", "fec0::1", "fc00::1"),
    *("fd00:ec2::254", "ff02::1", "100::1", "2606:4700::5efe:7f00:1", "fe80::1%lo", "5f00::1"),
]
OPEN = ["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111"]


@pytest.mark.parametrize("address", CLOSED)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not Egress().permits(address, "tls")
    host = f"[{address}]" if ":" in address else address
    with pytest.raises((EgressRefusedError, ValueError)):
        Egress().check_url(URL(f"https://{host}/hook"))


@pytest.mark.parametrize("address", OPEN)
def test_public_addresses_are_reached_with_tls_only(address: str) -> None:
    assert Egress().permits(address, "tls")
    assert not Egress().permits(address, "plain")


@pytest.mark.parametrize(
    "url",
    [
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://127.1/",
        "https://127.0.1/",
        "https://1.2.3.4.5/",
        "https://127.0.0.1./",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://a..example/",
        "https://-a.example/",
        "http://shop.example/",
        "ftp://shop.example/",
        "https:///hook",
        "https://user@shop.example/",
        "https://user:secret@shop.example/",
        "https://[::1]/",
        "https://[fe80::1%25lo]/",
    ],
)
def test_urls_that_could_mislead_are_refused(url: str) -> None:
    with pytest.raises((EgressRefusedError, ValueError)):
        Egress().check_url(URL(url))


def test_names_are_let_through_to_the_check_of_their_addresses() -> None:
    assert Egress().check_url(URL("https://hooks.shop.example:8443/a?b=c")) == "tls"
    assert Egress().check_url(URL("https://hooks.shop.example./")) == "tls"


def test_exceptions_are_addresses_networks_and_hosts_with_a_port() -> None:
    egress = parse_egress("127.0.0.1, 10.0.0.0/8,fd00::/8, hooks.internal:8443,[::1]:9000")
    assert egress.check_url(URL("http://127.0.0.1:1234/")) == "plain"
    assert egress.check_url(URL("https://10.9.8.7/")) == "tls"
    assert egress.check_url(URL("http://hooks.internal:8443/")) == "named"
    assert egress.check_url(URL("http://[::1]:9000/")) == "named"
    assert egress.permits("10.9.8.7", "plain")
    assert egress.permits("fd00::1", "tls")
    assert not egress.permits("::ffff:127.0.0.1", "tls")
    assert not egress.permits("127.0.0.2", "tls")
    with pytest.raises(EgressRefusedError):
        egress.check_url(URL("https://127.0.0.2/"))


@pytest.mark.parametrize(
    "text", ["10.0.0.1/8", "shop.example", "a b:1", "host:0", "host:70000", "127.1:80"]
)
def test_an_exception_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_egress(text)


@given(st.ip_addresses())
def test_what_is_closed_to_python_is_closed_here(address: object) -> None:
    """Python's own opinion is coarser, and never more careful but for what is in no use."""
    if not address.is_global or address.is_multicast:  # type: ignore[attr-defined]
        assert not is_public(address)  # type: ignore[arg-type]


class Server:
    """Counts who connects, and answers as it is told."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.hangs_up_after = 1000
        self.connected = 0
        self.heads: list[bytes] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
                writer.write(self.answer)
                await writer.drain()
                self.hangs_up_after -= 1
                if self.hangs_up_after <= 0:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def running(answer: bytes) -> AsyncIterator[Server]:
    server = Server(answer)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def finding(*answers: list[str]) -> Lookup:
    """A name server whose answers change."""
    left = list(answers)

    async def look_up(_host: str, _port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return look_up


async def get(client: HttpClient, url: str, limit_bytes: int = 100) -> Reply:
    try:
        return await client.send("GET", url, timeout_s=20, limit_bytes=limit_bytes)
    finally:
        await client.close()


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "::ffff:127.0.0.1"]]
)
async def test_a_name_of_a_private_address_is_not_connected_to(addresses: list[str]) -> None:
    async with running(OK) as server:
        client = HttpClient(egress=Egress(), lookup=finding(addresses))
        with pytest.raises(HttpError, match="not public"):
            await get(client, f"https://hooks.shop.example:{server.port}/")
        assert server.connected == 0


async def test_a_name_that_changes_its_address_is_looked_up_once() -> None:
    """Checked with a public address, then private: what was checked is what is connected to."""
    asked: list[str] = []

    async def look_up(host: str, _port: int) -> list[str]:
        asked.append(host)
        # 192.0.2.0/24 is allowed here and leads nowhere, as a public address would.
        return ["192.0.2.1"] if len(asked) == 1 else ["127.0.0.1"]

    async with running(OK) as server:
        client = HttpClient(egress=parse_egress("192.0.2.0/24"), lookup=look_up)
        url = f"https://hooks.shop.example:{server.port}/"
        for _ in range(2):
            with pytest.raises(HttpError):
                await client.send("GET", url, timeout_s=0.2, limit_bytes=10)
        await client.close()
        assert server.connected == 0
        assert len(asked) == 2


async def test_an_allowed_network_is_reached_by_name_and_keeps_the_host_header() -> None:
    async with running(OK) as server:
        client = HttpClient(egress=parse_egress("127.0.0.0/8"), lookup=finding(["127.0.0.1"]))
        reply = await get(client, f"http://hooks.shop.example:{server.port}/")
        assert (reply.status, reply.body) == (200, b"ok")
        assert f"Host: hooks.shop.example:{server.port}".encode() in server.heads[0]


async def test_redirects_are_answers_and_are_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:%d/\r\ncontent-length: 0\r\n\r\n"
    async with running(OK) as inner, running(moved % inner.port) as server:
        client = HttpClient(egress=parse_egress("127.0.0.1"))
        assert (await get(client, server.url)).status == 302
        assert inner.connected == 0


async def test_connections_are_kept_and_one_that_was_closed_is_opened_again() -> None:
    async with running(OK) as server:
        client = HttpClient(egress=parse_egress("127.0.0.1"))
        for requests in range(1, 6):
            server.hangs_up_after = 1 if requests == 3 else 1000
            assert (
                await client.send("GET", server.url, timeout_s=20, limit_bytes=10)
            ).status == 200
        await client.close()
        assert (len(server.heads), server.connected) == (5, 2)


async def test_a_long_answer_is_cut() -> None:
    long = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 1_000_000
    async with running(long) as server:
        client = HttpClient(egress=parse_egress("127.0.0.1"))
        reply = await get(client, server.url, limit_bytes=10)
        assert (reply.status, reply.body) == (200, b"x" * 10)


async def test_an_answer_that_breaks_off_is_none() -> None:
    async with running(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok") as server:
        server.hangs_up_after = 1
        with pytest.raises(HttpError, match="the connection failed"):
            await get(HttpClient(egress=parse_egress("127.0.0.1")), server.url)


async def test_a_server_that_does_not_answer_is_waited_for_so_long() -> None:
    async with running(b"") as server:
        client = HttpClient(egress=parse_egress("127.0.0.1"))
        with pytest.raises(HttpError, match=r"within 0\.1 s"):
            await client.send("GET", server.url, timeout_s=0.1, limit_bytes=100)
        await client.close()


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(OK) as proxy, running(OK) as server:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        client = HttpClient(egress=parse_egress("127.0.0.1"))
        await get(client, server.url)
        assert (proxy.connected, server.connected) == (0, 1)


async def test_the_certificate_is_checked_against_the_name_in_the_url() -> None:
    """The address is the checked one; name and certificate are still those of the URL."""
    seen: list[str | None] = []
    context = ssl.create_default_context()
    wrap = context.wrap_bio

    def watched(*parts: object, **more: object) -> object:
        seen.append(more.get("server_hostname"))  # type: ignore[arg-type]
        return wrap(*parts, **more)  # type: ignore[arg-type]

    context.wrap_bio = watched  # type: ignore[method-assign, assignment]
    async with running(OK) as server:
        allowed = parse_egress("127.0.0.1")
        client = HttpClient(egress=allowed, lookup=finding(["127.0.0.1"]), trusted=context)
        with pytest.raises(HttpError):
            await client.send(
                "GET",
                f"https://hooks.shop.example:{server.port}/",
                timeout_s=0.5,
                limit_bytes=10,
            )
        await client.close()
        assert seen == ["hooks.shop.example"]


async def test_a_refused_connection_is_told_in_words() -> None:
    async with running(b"") as server:
        url = server.url
    with pytest.raises(HttpError, match="nothing listens there"):
        await get(HttpClient(egress=parse_egress("127.0.0.1")), url)
