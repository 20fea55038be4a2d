"""The HTTP adapter returns `failed` only if the provider said so; otherwise the outcome is
unknown."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from greenroom.bookings.money.provider import Outcome, ProviderUnavailable
from greenroom.bookings.money.provider_http import ANSWER_BYTES, HttpPayments
from greenroom.bookings.sandbox.listener import Request, Response, SandboxServer

from .sandbox_users import SECRET, Steering, asking


async def test_a_timeout_after_the_charge_and_a_repeat_are_one_charge(
    steering: Steering,
) -> None:
    await steering.script({"do": "timeout_after"}, {"do": "timeout_after"})
    for _ in range(2):
        with pytest.raises(ProviderUnavailable):
            await steering.provider.carry_out(asking())
    assert await steering.provider.carry_out(asking()) == Outcome("succeeded", "sbx_charge_1", None)
    [operation] = await steering.operations()
    assert (operation["times"], operation["moved"]) == (3, True)


async def test_a_timeout_before_the_charge_leaves_it_to_the_repeat(steering: Steering) -> None:
    await steering.script({"do": "timeout_before"})
    with pytest.raises(ProviderUnavailable):
        await steering.provider.carry_out(asking())
    assert await steering.operations() == []
    assert (await steering.provider.carry_out(asking())).status == "succeeded"


async def test_an_answer_that_takes_too_long_is_none(steering: Steering) -> None:
    await steering.script({"do": "delay", "ms": 60_000})
    hasty = HttpPayments(steering.sandbox.url, SECRET, timeout_s=0.05)
    with pytest.raises(ProviderUnavailable):
        await hasty.carry_out(asking())


async def test_nobody_there_is_no_answer() -> None:
    with pytest.raises(ProviderUnavailable):
        await HttpPayments("http://127.0.0.1:1", SECRET).carry_out(asking())


GOOD = b'{"id": "x", "key": "k1", "status": "succeeded"}'


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"not json"),
        (200, b"{}"),
        (200, b'{"id": "x", "key": "k1", "status": "perhaps"}'),
        (200, b'{"id": "x", "key": "another", "status": "succeeded"}'),
        (200, b" " * (ANSWER_BYTES + 1)),
        (201, GOOD),
        (302, GOOD),
        (401, GOOD),
        (409, GOOD),
        (422, GOOD),
        (429, GOOD),
        (500, GOOD),
        (503, GOOD),
    ],
)
async def test_what_says_nothing_about_the_operation_leaves_it_open(
    status: int, body: bytes
) -> None:
    with pytest.raises(ProviderUnavailable):
        await _answered(Response(status, body))


@pytest.mark.parametrize("status", [400, 402, 404])
async def test_a_refusal_is_a_failure(status: int) -> None:
    outcome = await _answered(Response(status, b"{}"))
    assert outcome == Outcome("failed", None, "provider_refused")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-le",
    ],
)
async def test_half_an_answer_is_none(raw: bytes) -> None:
    with pytest.raises(ProviderUnavailable):
        await _answered_raw(raw)


async def test_answers_in_chunks_and_up_to_the_end_of_the_connection_are_read() -> None:
    half = len(GOOD) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in (GOOD[:half], GOOD[half:]))
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    for raw in (chunked, b"HTTP/1.1 200 OK\r\n\r\n" + GOOD):
        assert await _answered_raw(raw) == Outcome("succeeded", "x", None)


async def test_a_key_of_two_lines_is_never_sent(steering: Steering) -> None:
    with pytest.raises(ValueError, match="header injection"):
        await steering.provider.carry_out(asking(key="a\r\nauthorization: x"))


async def test_https_is_spoken_with_those_whose_certificate_is_trusted(
    tmp_path: Path,
) -> None:
    file = tmp_path / "certificate.pem"
    file.write_bytes(_certificate())
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(file)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(GOOD), GOOD))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=own)
    try:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ProviderUnavailable):
            await HttpPayments(url, SECRET).carry_out(asking())
        trusting = ssl.create_default_context(cafile=str(file))
        outcome = await HttpPayments(url, SECRET, trusted=trusting).carry_out(asking())
        assert outcome.status == "succeeded"
    finally:
        server.close()


def _certificate() -> bytes:
    """For this machine's own address, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made.public_bytes(Encoding.PEM) + private


async def _answered(response: Response) -> Outcome:
    async def answer(_: Request) -> Response:
        return response

    server = SandboxServer(answer, host="127.0.0.1", port=0)
    port = await server.open()
    try:
        return await HttpPayments(f"http://127.0.0.1:{port}", SECRET).carry_out(asking())
    finally:
        await server.close()


async def _answered_raw(raw: bytes) -> Outcome:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        return await HttpPayments(f"http://127.0.0.1:{port}", SECRET).carry_out(asking())
    finally:
        server.close()
