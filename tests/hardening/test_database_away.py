"""If the database goes away or its disk is full: 503, no false 201, and recovery without a
restart."""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import httpx
import pytest

from greenroom.platform.embedded.dynamodb.engine import ensure_engine, stop_engine
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from tests.support import BEFORE_ALL
from tests.support.waiting import wait_until

from .server import Server
from .wire import Json

DISK = "160m"
ENOUGH = 400
REFUSALS = 10
SECRETS = ("asyncpg", "postgres", "dynamodb", "dynoxide", "127.0.0.1", "/tmp", "select", "disk")  # noqa: S108
RAISED = {
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000",
}


class Talk:
    """A thread, and a record of every message that was acknowledged."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._path = f"/v1/threads/{server.thread('ann', 'bob')}/messages"
        self._numbers = itertools.count(1)
        self._acknowledged: list[str] = []
        self._refused: list[str] = []

    def send(self, body: str = "Hello", client_id: str | None = None) -> httpx.Response:
        client_id = client_id or f"c{next(self._numbers)}"
        draft = {"client_id": client_id, "body": body}
        answer = self._server.call("ann", "POST", self._path, draft)
        if answer.status_code in (200, 201):
            self._acknowledged.append(client_id)
        else:
            check_unavailable(answer)
            self._refused.append(client_id)
        return answer

    def repeat_refused(self) -> None:
        """As clients are told to; each is then there once."""
        refused, self._refused = self._refused, []
        for client_id in refused:
            assert self.send(client_id=client_id).status_code in (200, 201)

    def check(self) -> None:
        """What was acknowledged is there once; what was not is there at most once."""
        found = [each["client_id"] for each in self._all()][1:]
        assert len(found) == len(set(found))
        assert set(self._acknowledged) <= set(found)
        assert set(found) <= {*self._acknowledged, *self._refused}

    def _all(self) -> list[Json]:
        found: list[Json] = []
        has_more = True
        while has_more:
            after = found[-1]["id"] if found else BEFORE_ALL
            answer = self._server.call("ann", "GET", f"{self._path}?limit=50&after={after}")
            assert answer.status_code == 200, answer.text
            found += answer.json()["items"]
            has_more = answer.json()["has_more"]
        return found


def check_unavailable(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) >= 1
    problem = answer.json()
    assert problem["code"] == "UNAVAILABLE"
    for secret in SECRETS:
        assert secret not in answer.text.lower(), "nothing internal leaves"
    assert problem["corr_id"] == answer.headers["x-correlation-id"]


def is_ready(server: Server) -> bool:
    return server.http.get("/readyz").status_code == 200


class Embedded(Protocol):
    """The database in which conversations are kept, in a home of its own."""

    environment: Mapping[str, str]

    def start(self) -> object: ...

    def stop(self) -> object: ...


class Postgres(EmbeddedPostgres):
    environment: Mapping[str, str] = {}


class DynamoDb:
    def __init__(self, home: Path, database_url: str) -> None:
        self.environment: Mapping[str, str] = {
            "GREENROOM_DATABASE_URL": database_url,
            "GREENROOM_CONVERSATIONS": "dynamodb",
            "GREENROOM_DYNAMODB_ENDPOINT": "embedded",
        }
        self._folder = home / "dynamodb"

    def start(self) -> None:
        ensure_engine(self._folder)

    def stop(self) -> None:
        stop_engine(self._folder)


@pytest.fixture(scope="module")
def embedded(open_home: Path, database_url: str, conversations: str) -> Iterator[Embedded]:
    made = embedded_in(open_home, database_url, conversations)
    yield made
    made.stop()


def embedded_in(home: Path, database_url: str, conversations: str) -> Embedded:
    return Postgres(home) if conversations == "postgres" else DynamoDb(home, database_url)


@pytest.fixture(scope="module")
def server(open_home: Path, embedded: Embedded) -> Iterator[Server]:
    server = Server(open_home, {**RAISED, **embedded.environment})
    yield server
    assert server.end() == 0


def test_the_database_is_stopped_and_started_again(
    server: Server, embedded: Embedded, conversations: str
) -> None:
    talk = Talk(server)
    for _ in range(2):
        for _ in range(5):
            assert talk.send().status_code == 201
        embedded.stop()
        for _ in range(5):
            assert talk.send().status_code == 503
        check_unavailable(server.http.get("/readyz"))
        check_unavailable(server.call("ann", "GET", "/v1/inbox"))
        check_unavailable(server.call("ann", "GET", "/v1/sync"))
        if conversations == "postgres":
            # Where people are known.
            check_unavailable(server.call("newcomer", "GET", "/v1/me"))
        assert server.http.get("/healthz").status_code == 200
        assert server.http.get("/metrics").status_code == 200
        assert server.http.get("/openapi.json").status_code == 200
        embedded.start()
        wait_until(lambda: is_ready(server), "ready again")
        talk.check()
        assert talk.send().status_code == 201
        talk.repeat_refused()
        talk.check()
    assert not server.has_ended()


@pytest.fixture
def tiny_disk() -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    folder = Path(tempfile.mkdtemp(prefix="greenroom-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


def test_a_full_disk(
    tiny_disk: Path, tmp_path: Path, database_url: str, conversations: str
) -> None:
    embedded = embedded_in(tiny_disk, database_url, conversations)
    environment = {**RAISED, **embedded.environment}
    server = Server(tiny_disk, environment, log=tmp_path / "server.log")
    try:
        talk = Talk(server)
        assert talk.send().status_code == 201
        filler = tiny_disk / "filler"
        fill(filler)
        long = "word " * 400
        statuses: list[int] = []
        while statuses[-REFUSALS:] != [503] * REFUSALS:
            assert len(statuses) < ENOUGH, "the disk was not full enough to prove anything"
            statuses.append(talk.send(long).status_code)
        assert server.http.get("/healthz").status_code == 200
        filler.unlink()
        wait_until(lambda: talk.send().status_code == 201, "room again")
        talk.repeat_refused()
        talk.check()
        assert not server.has_ended()
    finally:
        server.end()
        embedded.stop()


def fill(path: Path) -> None:
    with path.open("wb") as file:
        while (free := shutil.disk_usage(path.parent).free) >= 4096 * 4:
            # The database may take some of it meanwhile.
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), free)
