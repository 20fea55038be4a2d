"""The embedded PostgreSQL under real processes, real signals and real folders."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from greenroom.platform.embedded.postgres import EmbeddedPostgres, EmbeddedPostgresError, postmaster
from tests.support import REPOSITORY
from tests.support.databases import new_home
from tests.support.waiting import PATIENCE_S

AS_ROOT = os.geteuid() == 0

USER = """
import sys
from pathlib import Path
from greenroom.platform.embedded.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])).using() as url:
    print(url, flush=True)
    sys.stdin.readline()
"""


class User:
    """Another process that holds the server open until it is told to let go."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(home)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def url(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate("\n", timeout=PATIENCE_S)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def kill_postmaster(postgres: EmbeddedPostgres) -> None:
    pid = postgres.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: postgres.status().pid is None)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def read(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@pytest.fixture
def street() -> Iterator[Path]:
    """A folder everybody may enter; pytest's own tmp_path is for its owner only."""
    folder = new_home()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(street: Path) -> Iterator[Path]:
    yield street / "home"
    EmbeddedPostgres(street / "home").stop()


@pytest.fixture
def postgres(home: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(home)


async def test_from_an_empty_home_to_a_query(postgres: EmbeddedPostgres, home: Path) -> None:
    with postgres.using() as url:
        assert await read(url, "SHOW server_version_num") >= "180000"  # type: ignore[operator]
        assert await read(url, "SELECT current_user || ' ' || current_database()") == (
            "greenroom greenroom"
        )
        assert await read(url, "SELECT lower('ÄÖ') || ' ' || current_setting('TimeZone')") == (
            "äö UTC"
        )
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "data_checksums"):
            assert await read(url, f"SHOW {setting}") == "on"
        status = postgres.status()
        assert (status.running, status.users, status.pinned) == (True, 1, False)
        assert url == postgres.url()
    assert not postgres.status().running
    assert mode(home / "postgres" / "password") == 0o600


async def test_the_application_is_no_superuser_and_needs_its_password(
    postgres: EmbeddedPostgres,
) -> None:
    with postgres.using() as url:
        assert await read(url, "SHOW is_superuser") == "off"
        await execute(url, "CREATE EXTENSION pg_trgm", "CREATE DATABASE another")
        password = url.split(":")[2].split("@")[0]
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(url.replace(password, "guess"))
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
            await asyncpg.connect(url.replace("//greenroom:", "//postgres:"))


def test_looking_at_an_empty_home_leaves_it_alone(postgres: EmbeddedPostgres, home: Path) -> None:
    assert not postgres.status().running
    postgres.stop()
    postgres.release()
    with pytest.raises(EmbeddedPostgresError, match="is not running"):
        postgres.url()
    assert not home.exists()


async def test_the_last_user_stops_the_server(postgres: EmbeddedPostgres, home: Path) -> None:
    url = postgres.acquire()
    other = User(home)
    assert other.url() == url
    assert postgres.status().users == 2
    postgres.release()
    assert await read(url, "SELECT 1") == 1
    other.leave()
    assert not postgres.status().running


def test_every_acquire_needs_its_release(postgres: EmbeddedPostgres) -> None:
    postgres.acquire()
    postgres.acquire()
    postgres.release()
    assert postgres.status().running
    postgres.release()
    assert not postgres.status().running


def test_a_pinned_server_stays_until_it_is_stopped(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    with postgres.using():
        pass
    assert postgres.status().running
    assert postgres.status().pinned
    postgres.stop()
    assert not postgres.status().running
    assert not postgres.status().pinned


def test_a_killed_user_does_not_keep_the_server(postgres: EmbeddedPostgres, home: Path) -> None:
    other = User(home)
    other.url()
    other.kill()
    assert postgres.status().running
    with postgres.using():
        pass
    assert not postgres.status().running


def test_two_starting_at_once_share_one_cluster(postgres: EmbeddedPostgres, home: Path) -> None:
    users = [User(home) for _ in range(4)]
    urls = {user.url() for user in users}
    assert urls == {postgres.url()}
    assert postgres.status().users == 4
    for user in users:
        user.leave()
    assert not postgres.status().running
    assert not list((home / "postgres").glob("initialising-*"))


async def test_data_survives_a_killed_postmaster(postgres: EmbeddedPostgres) -> None:
    url = postgres.acquire()
    await execute(url, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
    kill_postmaster(postgres)
    assert await read(postgres.acquire(), "SELECT n FROM kept") == 7


async def test_data_survives_killing_everybody(postgres: EmbeddedPostgres, home: Path) -> None:
    user = User(home)
    await execute(user.url(), "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (8)")
    kill_postmaster(postgres)
    user.kill()
    with postgres.using() as url:
        assert await read(url, "SELECT n FROM kept") == 8
    assert not postgres.status().running


async def test_a_busy_orphan_is_ended_before_the_next_start(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "ORPHAN_PATIENCE_S", 0.2)
    connection = await asyncpg.connect(postgres.acquire())
    backend = connection.get_server_pid()
    busy = asyncio.create_task(connection.execute("SELECT count(*) FROM generate_series(1, 1e12)"))
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_S):
        query = "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'generate_s' AND NOT pid = "
        while await read(postgres.url(), f"{query} pg_backend_pid()") != 1:
            pass
    kill_postmaster(postgres)
    assert await read(postgres.acquire(), "SELECT 1") == 1
    assert backend not in postmaster.processes_in(postgres.status().data_dir)
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await busy
    connection.terminate()


async def test_a_stale_pid_that_is_somebody_else_now_is_not_believed(
    postgres: EmbeddedPostgres,
) -> None:
    postgres.acquire()
    pid_file = postgres.status().data_dir / "postmaster.pid"
    owner = pid_file.stat()
    content = pid_file.read_text().split("\n", 1)[1]
    kill_postmaster(postgres)
    with stranger_of(owner.st_uid) as stranger:
        pid_file.write_text(f"{stranger.pid}\n{content}")
        assert postgres.status().pid is None
        postgres.stop()
        assert stranger.poll() is None
        assert await read(postgres.acquire(), "SELECT 1") == 1
        assert stranger.poll() is None


@contextlib.contextmanager
def stranger_of(uid: int) -> Iterator[subprocess.Popen[bytes]]:
    """A living process of the same account, which PostgreSQL alone would take for itself."""
    stranger = subprocess.Popen(["sleep", "600"], user=uid if AS_ROOT else None)
    try:
        yield stranger
    finally:
        stranger.kill()
        stranger.wait(PATIENCE_S)


async def test_a_half_finished_initialisation_is_redone(
    postgres: EmbeddedPostgres, home: Path
) -> None:
    folder = home / "postgres"
    user = User(home)
    wait_until(lambda: bool(list(folder.glob("initialising-*/PG_VERSION"))))
    half = next(folder.glob("initialising-*"))
    user.kill()
    assert not (folder / "data").exists()
    with postgres.using() as url:
        assert await read(url, "SELECT 1") == 1
    wait_until(lambda: not any(str(half) in line for line in command_lines()))


def command_lines() -> list[str]:
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_text(errors="replace"))
    return lines


def test_a_taken_port_is_left_to_its_owner(postgres: EmbeddedPostgres) -> None:
    with postgres.using():
        port = postgres.status().port
    with postgres.using():
        assert postgres.status().port == port
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        with postgres.using():
            assert postgres.status().port != port


def test_it_listens_on_loopback_alone_and_holds_no_lock_of_ours(
    postgres: EmbeddedPostgres,
) -> None:
    postgres.acquire()
    status = postgres.status()
    links = [str(link.readlink()) for link in Path(f"/proc/{status.pid}/fd").iterdir()]
    assert not [link for link in links if "lock" in link]
    inodes = {link[8:-1] for link in links if link.startswith("socket:")}
    assert inodes
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    assert [row[1] for row in rows if row[9] in inodes] == [f"0100007F:{status.port:04X}"]
    unix = Path("/proc/net/unix").read_text().splitlines()[1:]
    assert not [line for line in unix if line.split()[6] in inodes]


def test_a_home_that_is_a_file_is_explained(street: Path) -> None:
    (street / "home").write_text("not a folder")
    with pytest.raises(EmbeddedPostgresError, match="GREENROOM_DATABASE_URL"):
        EmbeddedPostgres(street / "home").acquire()


async def test_a_path_with_spaces_and_quotes_works(street: Path) -> None:
    with EmbeddedPostgres(street / """my "own" $HOME's""").using() as url:
        assert await read(url, "SELECT 1") == 1
