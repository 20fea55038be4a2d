"""A database that cannot be reached at start-up is explained in one line, without the password."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from greenroom.bootstrap import Rooms, http_app
from greenroom.kernel.clock import system_clock
from greenroom.platform.postgres.connecting import UnreachableError, connected, explained
from greenroom.platform.postgres.pool import open_pool
from greenroom.settings import load_settings

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "hunter2"
NOBODY_LISTENS = f"postgresql://greenroom:{PASSWORD}@127.0.0.1:1/greenroom"

CASES = {
    "wrong password": ["does not let", "password authentication failed", "the password in"],
    "unknown database": ["no database 'nowhere'", "`createdb nowhere`"],
    "unknown host": ["no such host is known", "Check the host"],
    "nobody listens": ["nothing listens there", "Start PostgreSQL", "embedded PostgreSQL"],
}


def wrong_url(case: str, right: str) -> str:
    parts = urlsplit(right)
    if case == "wrong password":
        return parts._replace(netloc=f"{parts.username}:{PASSWORD}@{address(right)}").geturl()
    if case == "unknown database":
        return parts._replace(path="/nowhere").geturl()
    if case == "unknown host":
        return f"postgresql://greenroom:{PASSWORD}@no-such-host.invalid/greenroom"
    return NOBODY_LISTENS


def address(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


@pytest.mark.parametrize("case", CASES)
async def test_each_reason_has_its_own_way_out(postgres_url: str, case: str) -> None:
    url = wrong_url(case, postgres_url)
    told = []
    with pytest.raises(UnreachableError) as one:
        async with connected(url):
            pass
    told.append(str(one.value))
    with pytest.raises(UnreachableError) as several:
        await open_pool(url, min_size=1, max_size=1, statement_timeout_ms=0)
    told.append(str(several.value))
    password = urlsplit(url).password
    for text in told:
        assert text.startswith("The database at ")
        assert "cannot be reached" in text
        assert "GREENROOM_DATABASE_URL" in text
        for hint in CASES[case]:
            assert hint in text
        assert "\n" not in text
        assert password is not None
        assert password not in text


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (asyncpg.TooManyConnectionsError("sorry, too many clients already"), "max_connections"),
        (asyncpg.CannotConnectNowError("the database system is starting up"), "in a moment"),
        (TimeoutError(), "firewalls"),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer. Check"),
    ],
)
async def test_reasons_that_cannot_be_made_here(error: Exception, hint: str) -> None:
    with pytest.raises(UnreachableError, match=hint):
        async with explained("postgresql://greenroom@db-1,db-2:5433/greenroom"):
            raise error


async def test_hosts_are_named_with_their_ports() -> None:
    for url, shown in (
        ("postgresql://u:x@a,b:2/d", "at a:5432, b:2 "),
        ("postgresql://u@/d?host=/run/pg&password=x", "at /run/pg "),
        ("postgresql:///d", "at localhost:5432 "),
    ):
        with pytest.raises(UnreachableError, match=shown):
            async with explained(url):
                raise ConnectionRefusedError


async def test_a_server_that_cannot_start_logs_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As a worker process, which leaves migrations to its supervisor."""
    settings = load_settings({"GREENROOM_HOME": str(tmp_path)})
    app = http_app(Rooms(settings, NOBODY_LISTENS, clock=system_clock))
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, str]:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "lifespan"}, receive, send)
    assert [message["type"] for message in sent] == ["lifespan.startup.failed"]
    [record] = [each for each in caplog.records if each.levelname == "CRITICAL"]
    assert "nothing listens there" in record.getMessage()
    assert PASSWORD not in record.getMessage()
    assert record.exc_info is None


@pytest.mark.parametrize("argv", ["serve --port 0", "worker", "demo --port 0"])
def test_a_command_says_it_in_one_line(tmp_path: Path, argv: str) -> None:
    others = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
    ours = {"GREENROOM_HOME": str(tmp_path), "GREENROOM_DATABASE_URL": NOBODY_LISTENS}
    done = subprocess.run(
        [sys.executable, "-m", "greenroom", *argv.split()],
        env={**others, **ours},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("greenroom: The database at 127.0.0.1:1 cannot be reached")
    assert PASSWORD not in line
