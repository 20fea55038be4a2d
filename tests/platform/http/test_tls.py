"""`greenroom serve` with a certificate: HTTPS, WebSockets over TLS, and files that are wrong."""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect

from greenroom.commands.failures import UsageError
from greenroom.commands.serving import certificate
from greenroom.doctor import examine
from greenroom.kernel.clock import system_clock
from greenroom.platform.http.tls import TlsError
from greenroom.platform.tokens.verifying import sign_token
from greenroom.settings import load_settings
from tools.certificates import Made, make_certificate

PATIENCE_S = 60
SECRET = "a secret for tests that is long enough"
HSTS = "max-age=31536000"


@dataclass
class Serving:
    """A server that listens. Its log says where, and what happens to it."""

    process: "subprocess.Popen[str]"
    log: list[str]
    port: int = 0

    def wait_for(self, message: str) -> dict[str, object]:
        """The next line of the log with this message."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if message in line:
                entry: dict[str, object] = json.loads(line)
                return entry
        raise AssertionError(f"ended before it said {message!r}: {self.log}")

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def stop(self) -> str:
        """Everything that it logged."""
        assert self.process.stderr is not None
        self.process.terminate()
        self.log += self.process.stderr.readlines()
        assert self.process.wait(PATIENCE_S) == 0
        return "".join(self.log)


def environment(home: Path, database_url: str, **variables: str) -> dict[str, str]:
    others = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
    given = {"HOME": str(home), "DATABASE_URL": database_url, "JWT_SECRET": SECRET, **variables}
    return {**others, **{f"GREENROOM_{name}": text for name, text in given.items()}}


@contextmanager
def serving(
    folder: Path, database_url: str, made: Made, *options: str, **variables: str
) -> Iterator[Serving]:
    tls = ("--tls-cert", str(made.cert), "--tls-key", str(made.key))
    process = subprocess.Popen(
        [sys.executable, "-m", "greenroom", "serve", "--port", "0", *tls, *options],
        env=environment(folder, database_url, **variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = Serving(process, [])
    try:
        port = server.wait_for('"listening"')["port"]
        assert isinstance(port, int)
        server.port = port
        yield server
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, database_url: str, made: Made
) -> Iterator[Serving]:
    home = tmp_path_factory.mktemp("home")
    with serving(home, database_url, made, LIMIT_REQUEST_HEAD_S="2") as running:
        yield running
        log = running.stop()
        assert "Traceback" not in log
        assert '"level":"error"' not in log


def trusting(made: Made) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(made.cert))


def get(server: Serving, made: Made, path: str) -> httpx.Response:
    with httpx.Client(verify=trusting(made), timeout=PATIENCE_S, trust_env=False) as http:
        return http.get(server.url + path)


@contextmanager
def speaking(server: Serving, made: Made) -> Iterator[ssl.SSLSocket]:
    plain = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
    with trusting(made).wrap_socket(plain, server_hostname="127.0.0.1") as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("path", "status"), [("/healthz", 200), ("/v1/me", 401), ("/nowhere", 404), ("/app", 200)]
)
def test_every_answer_tells_browsers_to_stay_with_https(
    server: Serving, made: Made, path: str, status: int
) -> None:
    answer = get(server, made, path)
    assert (answer.status_code, answer.headers["strict-transport-security"]) == (status, HSTS)


def test_so_does_the_answer_to_what_is_no_request(server: Serving, made: Made) -> None:
    with speaking(server, made) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nstrict-transport-security: max-age=31536000\r\n" in answer.lower()


def test_the_connection_is_modern_and_speaks_http_1(server: Serving, made: Made) -> None:
    context = trusting(made)
    context.set_alpn_protocols(["h2", "http/1.1"])
    plain = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
        assert connection.version() in ("TLSv1.2", "TLSv1.3")
        assert connection.selected_alpn_protocol() == "http/1.1"


def test_a_body_that_is_refused_while_it_comes_is_answered(server: Serving, made: Made) -> None:
    with speaking(server, made) as connection:
        connection.sendall(
            b"POST /v1/threads HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n"
            b"Content-Type: application/json\r\n\r\n" + b"x" * 100_000
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 401 ")


async def test_a_websocket_works_over_tls(server: Serving, made: Made) -> None:
    token = sign_token(SECRET.encode(), "maya", clock=system_clock, ttl_s=600)
    async with (
        asyncio.timeout(PATIENCE_S),
        connect(
            f"wss://127.0.0.1:{server.port}/v1/ws",
            ssl=trusting(made),
            additional_headers={"authorization": f"Bearer {token}"},
            proxy=None,
        ) as stream,
    ):
        assert stream.response is not None
        assert stream.response.headers["strict-transport-security"] == HSTS
        await stream.send('{"type": "ping", "ref": "1"}')
        assert json.loads(await stream.recv()) == {"type": "pong", "ref": "1"}


def test_plain_http_is_refused_and_the_server_goes_on(server: Serving, made: Made) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{server.port}/healthz", timeout=PATIENCE_S, trust_env=False)
    assert get(server, made, "/healthz").status_code == 200


def test_whoever_does_not_finish_the_handshake_is_hung_up_on(server: Serving) -> None:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as silent:
        assert silent.recv(1) == b""


def test_a_handshake_under_way_does_not_hold_up_the_end(
    tmp_path: Path, database_url: str, made: Made
) -> None:
    patient = {"LIMIT_REQUEST_HEAD_S": "600", "LIMIT_SHUTDOWN_GRACE_S": "600"}
    with (
        serving(tmp_path, database_url, made, **patient) as server,
        socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as silent,
    ):
        silent.sendall(b"\x16")
        # Connections are accepted in their order, so the silent one has been by now.
        assert get(server, made, "/healthz").status_code == 200
        assert "Traceback" not in server.stop()


def presented(server: Serving) -> bytes:
    """The certificate that a new connection gets."""
    pem = ssl.get_server_certificate(("127.0.0.1", server.port), timeout=PATIENCE_S)
    return ssl.PEM_cert_to_DER_cert(pem)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_renewed_certificate_is_read_on_sighup(
    tmp_path: Path, database_url: str, workers: int
) -> None:
    old = make_certificate(tmp_path)
    with serving(tmp_path, database_url, old, "--workers", str(workers)) as server:
        for _ in range(workers - 1):
            server.wait_for('"listening"')
        assert presented(server) == old.der
        renewed = make_certificate(tmp_path)
        server.process.send_signal(signal.SIGHUP)
        for _ in range(workers):
            server.wait_for("the certificate was read again")
        assert presented(server) == renewed.der
        renewed.cert.write_text("half a file")
        server.process.send_signal(signal.SIGHUP)
        for _ in range(workers):
            server.wait_for("the certificate stays as it was")
        assert presented(server) == renewed.der
        assert "Traceback" not in server.stop()


@pytest.mark.parametrize(
    ("cert", "key", "complaint"),
    [
        ("missing.pem", "server.key", "missing.pem cannot be read: No such file or directory."),
        ("server.pem", "folder", "folder cannot be read: Is a directory."),
        ("server.pem", "other.key", "other.key does not belong to the certificate"),
        ("server.key", "server.key", "are not a certificate and its private key in PEM"),
        ("text", "server.key", "are not a certificate and its private key in PEM"),
        ("locked.pem", "locked.key", "The private key is encrypted"),
        ("server.pem", None, "give both --tls-cert and --tls-key"),
        (None, "server.key", "give both --tls-cert and --tls-key"),
    ],
)
def test_files_that_cannot_be_used_are_told_with_the_reason(
    tmp_path: Path, cert: str | None, key: str | None, complaint: str
) -> None:
    make_certificate(tmp_path)
    make_certificate(tmp_path, "other")
    make_certificate(tmp_path, "locked", password="a password")
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no certificate")
    given = {"GREENROOM_TLS_CERT": cert, "GREENROOM_TLS_KEY": key}
    settings = load_settings({name: str(tmp_path / file) for name, file in given.items() if file})
    with pytest.raises((TlsError, UsageError), match=re.escape(complaint)):
        certificate(settings)


def test_the_command_tells_them_in_one_line(tmp_path: Path) -> None:
    made = make_certificate(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "greenroom", "serve", "--port", "0", "--tls-cert", made.cert],
        env=environment(tmp_path, "postgresql://nobody@127.0.0.1:1/nothing", TLS_KEY="missing"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith("greenroom: The TLS file ")


async def test_doctor_says_whether_the_certificate_can_be_used(tmp_path: Path) -> None:
    made = make_certificate(tmp_path)
    both = {"GREENROOM_TLS_CERT": str(made.cert), "GREENROOM_TLS_KEY": str(made.key)}
    verdicts = {}
    for name, environ in {
        "both": both,
        "one": {"GREENROOM_TLS_CERT": str(made.cert)},
        "wrong": {**both, "GREENROOM_TLS_KEY": str(made.cert)},
    }.items():
        home = {"GREENROOM_HOME": str(tmp_path), "GREENROOM_PORT": "0"}
        findings = await examine(load_settings({**home, **environ}))
        verdicts[name] = next(each.verdict for each in findings if each.subject == "tls")
    assert verdicts == {"both": "ok", "one": "missing", "wrong": "missing"}
