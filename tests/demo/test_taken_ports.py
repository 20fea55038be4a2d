"""A port that somebody has is told in one line, with what to do about it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from greenroom.commands.failures import UsageError
from greenroom.commands.serving import explained_if_taken
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.http.app import HttpApp
from greenroom.server import bind, serve_one
from greenroom.settings import load_settings
from tests.support.databases import new_home

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
COMMANDS = ("demo", "serve")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with bind("127.0.0.1", 0) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def home() -> Iterator[Path]:
    # Not pytest's tmp_path: as root, PostgreSQL's account could not enter it.
    street = new_home()
    yield street / "home"
    EmbeddedPostgres(street / "home").stop()
    shutil.rmtree(street)


def open_command(home: Path, *argv: str) -> subprocess.Popen[str]:
    others = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "greenroom", *argv],
        cwd=REPOSITORY,
        env={**others, "GREENROOM_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refusal(home: Path, *argv: str) -> str:
    """The line in which the command says that it cannot start."""
    process = open_command(home, *argv)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (2, ""), err
    [line] = err.splitlines()
    return line


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_port_of_another_program(home: Path, taken: int, command: str) -> None:
    line = refusal(home, command, "--port", str(taken))
    found = re.fullmatch(
        rf"greenroom: Port {taken} of 127\.0\.0\.1 is taken, by another program\. Stop it, or use "
        r"--port (\d+), or set GREENROOM_PORT: `GREENROOM_PORT=(\d+) make run`\.",
        line,
    )
    assert found, line
    assert found[1] == found[2]
    assert is_free(int(found[1]))
    assert not home.exists()


def test_a_host_page_on_the_port_of_another_program(home: Path, taken: int) -> None:
    line = refusal(home, "demo", "--port", "0", "--host-port", str(taken))
    assert f"Port {taken} of 127.0.0.1 is taken, by another program" in line
    assert "or use --host-port " in line
    assert "GREENROOM_PORT" not in line


def test_the_port_of_a_server_with_the_same_home(home: Path) -> None:
    server = open_command(home, "serve", "--port", "0")
    try:
        assert server.stderr is not None
        said = next(line for line in server.stderr if '"message":"listening"' in line)
        found = re.search(r'"port":(\d+)', said)
        assert found, said
        for command in COMMANDS:
            line = refusal(home, command, "--port", found[1])
            assert f"taken, perhaps by the Greenroom that already runs on {home}: look at " in line
            assert f"http://127.0.0.1:{found[1]}. Stop it, or use --port " in line
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_S)


def test_a_port_that_is_taken_while_the_server_starts(tmp_path: Path, taken: int) -> None:
    def make_app() -> HttpApp:
        raise AssertionError("nothing starts before the port is ours")

    settings = load_settings({"GREENROOM_HOME": str(tmp_path), "GREENROOM_PORT": str(taken)})
    with (
        pytest.raises(UsageError, match=f"Port {taken} of 127.0.0.1 is taken"),
        explained_if_taken(settings),
    ):
        serve_one(make_app, host=settings.host, port=settings.port)
