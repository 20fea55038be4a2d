"""The embedded engine under real processes and real signals."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.credentials import Access, embedded_access
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.table import Put
from greenroom.platform.embedded.background_program import is_free
from greenroom.platform.embedded.dynamodb import engine
from greenroom.platform.embedded.dynamodb.engine import Engine, find_engine
from greenroom.platform.embedded.dynamodb.opening import running_access
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from tests.platform.dynamodb.faults import FaultyTable
from tests.support import REPOSITORY
from tests.support.databases import new_home
from tests.support.waiting import PATIENCE_S

USER = """
import sys
from pathlib import Path
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
with EmbeddedDynamoDb(Path(sys.argv[1])).using() as url:
    print(url, flush=True)
    sys.stdin.readline()
"""


class User:
    """Another process that holds the engine open until it is told to let go."""

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


@pytest.fixture
def home() -> Iterator[Path]:
    folder = new_home()
    yield folder
    engine.stop_engine(folder / "dynamodb")
    shutil.rmtree(folder)


def running(home: Path) -> Engine | None:
    return find_engine(home / "dynamodb")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def kill_engine(home: Path) -> Engine:
    found = running(home)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    wait_until(lambda: running(home) is None)
    return found


def test_building_one_leaves_the_home_alone(home: Path) -> None:
    EmbeddedDynamoDb(home).release()
    assert list(home.iterdir()) == []


async def test_it_runs_on_loopback_while_it_is_used(home: Path) -> None:
    with EmbeddedDynamoDb(home).using() as url:
        found = running(home)
        assert found is not None
        assert url == f"http://127.0.0.1:{found.port}"
        await write(url, "a")
    assert running(home) is None
    assert (home / "dynamodb").stat().st_mode & 0o777 == 0o700
    with EmbeddedDynamoDb(home).using() as again:
        assert again == url
        assert await read(again) == ["a"]


def test_the_last_user_stops_it(home: Path) -> None:
    mine = EmbeddedDynamoDb(home)
    url = mine.acquire()
    other = User(home)
    assert other.url() == url
    mine.release()
    assert running(home) is not None
    other.leave()
    assert running(home) is None


def test_its_address_is_known_to_those_who_do_not_hold_it(home: Path) -> None:
    with EmbeddedDynamoDb(home).using() as url:
        assert EmbeddedDynamoDb(home).url() == url
        assert running_access(home, "embedded", None).url == url
    with pytest.raises(DynamoDbError, match="Start a server first"):
        EmbeddedDynamoDb(home).url()


def test_every_acquire_needs_its_release(home: Path) -> None:
    mine = EmbeddedDynamoDb(home)
    assert mine.acquire() == mine.acquire()
    mine.release()
    assert running(home) is not None
    mine.release()
    assert running(home) is None


def test_users_who_come_at_once_share_one_engine(home: Path) -> None:
    users = [User(home) for _ in range(4)]
    assert len({user.url() for user in users}) == 1
    for user in users:
        user.leave()
    assert running(home) is None


def test_a_killed_user_neither_stops_nor_keeps_it(home: Path) -> None:
    owner = User(home)
    url = owner.url()
    with EmbeddedDynamoDb(home).using() as mine:
        owner.kill()
        assert mine == url
        assert running(home) is not None
    assert running(home) is None


def test_what_the_last_user_left_when_killed_is_taken_over(home: Path) -> None:
    owner = User(home)
    url = owner.url()
    left = running(home)
    owner.kill()
    with EmbeddedDynamoDb(home).using() as mine:
        assert mine == url
        assert running(home) == left
    assert running(home) is None


async def test_what_was_written_survives_a_killed_engine(home: Path) -> None:
    with EmbeddedDynamoDb(home).using() as url:
        await write(url, *"abc")
        killed = kill_engine(home)
        other = User(home)
        # On the same port, so that those who lost it find it again.
        assert other.url() == url
        after = running(home)
        assert after is not None
        assert after.pid != killed.pid
        assert await read(url) == ["a", "b", "c"]
        other.leave()
        assert await read(url) == ["a", "b", "c"]
    assert running(home) is None


async def test_calls_to_a_killed_engine_end_in_unavailable(home: Path) -> None:
    with EmbeddedDynamoDb(home).using() as url:
        await write(url, "a")
        kill_engine(home)
        with pytest.raises(Unavailable):
            await read(url)


def test_a_remembered_port_that_somebody_has_is_left_to_them(home: Path) -> None:
    with EmbeddedDynamoDb(home).using() as url:
        port = int(url.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)), EmbeddedDynamoDb(home).using() as other:
        assert other != url


@pytest.mark.parametrize("text", ["", "nonsense", "99999", "80\n81"])
def test_a_broken_port_file_is_replaced(home: Path, text: str) -> None:
    (home / "dynamodb").mkdir()
    (home / "dynamodb" / "port").write_text(text)
    with EmbeddedDynamoDb(home).using() as url:
        assert (home / "dynamodb" / "port").read_text().strip() == url.rpartition(":")[2]


def test_a_port_that_another_engine_takes_at_the_last_moment_is_left_to_it(
    home: Path, dynamodb_access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = is_free
    looks: list[int] = []

    def free_at_first_sight(port: int) -> bool:
        looks.append(port)
        return len(looks) == 1 or look(port)

    taken = int(dynamodb_access.url.rpartition(":")[2])
    (home / "dynamodb").mkdir()
    (home / "dynamodb" / "port").write_text(f"{taken}\n")
    monkeypatch.setattr(engine, "is_free", free_at_first_sight)
    with EmbeddedDynamoDb(home).using() as url:
        assert looks[0] == taken
        assert url != dynamodb_access.url


def test_a_database_that_is_none_is_told_with_the_engines_words(home: Path) -> None:
    (home / "dynamodb").mkdir()
    (home / "dynamodb" / "items.db").write_bytes(b"this is not a database" * 1000)
    with pytest.raises(DynamoDbError, match=r"did not start: (.|\n)*engine\.log"):
        EmbeddedDynamoDb(home).acquire()
    assert running(home) is None


def test_a_missing_program_is_told_with_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(home))
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(DynamoDbError, match="run `make setup`"):
        EmbeddedDynamoDb(home).acquire()


def test_a_program_on_the_path_is_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(engine.find_program().parent))
    monkeypatch.setattr(sys, "prefix", str(home))
    with EmbeddedDynamoDb(home).using():
        assert running(home) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it as somebody else")
def test_a_visit_of_root_leaves_the_home_to_its_owner(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The owner may not be able to enter the folder that the programs were installed in.
    program = Path(shutil.copy(engine.find_program(), home / engine.PROGRAM))
    monkeypatch.setattr(sys, "prefix", str(home))
    monkeypatch.setenv("PATH", str(program.parent))
    home.chmod(0o755)
    owner = pwd.getpwnam("nobody").pw_uid
    os.chown(home, owner, -1)
    with EmbeddedDynamoDb(home).using():
        found = running(home)
        assert found is not None
        assert Path(f"/proc/{found.pid}").stat().st_uid == owner
    assert {path.stat().st_uid for path in (home / "dynamodb", *home.glob("dynamodb/*"))} == {owner}


def test_a_home_that_is_a_file_is_told(home: Path) -> None:
    (home / "dynamodb").write_text("")
    with pytest.raises(DynamoDbError, match="GREENROOM_DYNAMODB_ENDPOINT"):
        EmbeddedDynamoDb(home).acquire()


async def write(url: str, *sort_keys: str) -> None:
    faulty = FaultyTable(embedded_access(url), "things")
    await create_table(faulty.client, "things")
    await faulty.table.write_many([Put({"pk": "p", "sk": sk}) for sk in sort_keys])
    await faulty.table.close()


async def read(url: str) -> list[str]:
    faulty = FaultyTable(embedded_access(url), "things")
    try:
        return [item["sk"] for item in await faulty.table.query("p")]
    finally:
        await faulty.table.close()
