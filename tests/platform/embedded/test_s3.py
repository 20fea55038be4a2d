"""The embedded S3 under real processes and real signals."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.aws.signing import FixedKeys
from greenroom.platform.blobs.port import BlobStore
from greenroom.platform.blobs.s3.client import S3Client
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.blobs.s3.signing import Bucket
from greenroom.platform.blobs.s3.store import S3Blobs
from greenroom.platform.embedded.background_program import listens
from greenroom.platform.embedded.s3 import engine
from greenroom.platform.embedded.s3.engine import Engine, find_engine
from greenroom.platform.embedded.s3.shared import EmbeddedS3
from tests.platform.blobs.chunks import chunks, joined
from tests.support import REPOSITORY
from tests.support.databases import new_home
from tests.support.waiting import PATIENCE_S, wait_until

USER = """
import sys
from pathlib import Path
from greenroom.platform.embedded.s3.shared import EmbeddedS3
with EmbeddedS3(Path(sys.argv[1])).using() as url:
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


@pytest.fixture
def home() -> Iterator[Path]:
    folder = new_home()
    yield folder
    engine.stop_engine(folder / "s3")
    shutil.rmtree(folder)


def running(home: Path) -> Engine | None:
    return find_engine(home / "s3")


def blobs_of(shared: EmbeddedS3, url: str) -> S3Blobs:
    return S3Blobs(S3Client(Bucket(f"{url}/files", "us-east-1"), FixedKeys(shared.keys())))


async def put(blobs: BlobStore, data: bytes) -> None:
    await blobs.put("a/b", chunks(data), mime="text/plain", byte_count=len(data))


def test_building_one_leaves_the_home_alone(home: Path) -> None:
    EmbeddedS3(home).release()
    assert list(home.iterdir()) == []


async def test_it_runs_on_loopback_while_it_is_used_and_keeps_what_was_stored(home: Path) -> None:
    shared = EmbeddedS3(home)
    with shared.using() as url:
        found = running(home)
        assert found is not None
        assert url == f"http://127.0.0.1:{found.port}"
        assert only_loopback(found.pid)
        shared.prepare("files", ["*"])
        blobs = blobs_of(shared, url)
        await put(blobs, b"kept")
        await blobs.close()
    assert running(home) is None
    assert (home / "s3").stat().st_mode & 0o777 == 0o700
    assert (home / "s3" / "identities.json").stat().st_mode & 0o777 == 0o600
    with shared.using() as again:
        assert again == url
        shared.prepare("files", ["*"])
        blobs = blobs_of(shared, url)
        assert await joined(blobs.read("a/b")) == b"kept"
        await blobs.close()


def only_loopback(pid: int) -> bool:
    """Every port that the process listens on is one that was chosen, on 127.0.0.1."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    chosen = {int(word.partition("=")[2]) for word in words if ".port" in word} - {0}
    inodes = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    listening = []
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            address, state, inode = (row.split()[at] for at in (1, 3, 9))
            if state == "0A" and f"socket:[{inode}]" in inodes:
                listening.append(address)
    ports = {int(address.partition(":")[2], 16) for address in listening}
    return ports == chosen and all(each.startswith("0100007F:") for each in listening)


async def test_what_was_stored_survives_a_killed_engine(home: Path) -> None:
    shared = EmbeddedS3(home)
    with shared.using() as url:
        shared.prepare("files", ["*"])
        blobs = blobs_of(shared, url)
        await put(blobs, b"kept" * 100_000)
        killed = running(home)
        assert killed is not None
        os.kill(killed.pid, signal.SIGKILL)
        wait_until(lambda: running(home) is None, "the end of the engine")
        with pytest.raises(Unavailable):
            await blobs.find("a/b")
        other = User(home)
        # On the same port, so that those who lost it find it again.
        assert other.url() == url
        assert await joined(blobs.read("a/b")) == b"kept" * 100_000
        await blobs.close()
        other.leave()
        assert running(home) is not None
    assert running(home) is None


def test_users_who_come_at_once_share_one_engine(home: Path) -> None:
    users = [User(home) for _ in range(3)]
    assert len({user.url() for user in users}) == 1
    for user in users:
        user.leave()
    assert running(home) is None


def test_remembered_ports_that_somebody_has_are_left_to_them(home: Path) -> None:
    shared = EmbeddedS3(home)
    with shared.using() as url:
        port = int(url.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)), shared.using() as other:
        assert other != url
        found = running(home)
        assert found is not None
        assert listens(found.pid, found.port)


def test_a_missing_program_is_told_with_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(home))
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(S3Error, match="run `make setup`"):
        EmbeddedS3(home).acquire()


def test_damaged_keys_are_told(home: Path) -> None:
    (home / "s3").mkdir()
    (home / "s3" / "identities.json").write_text("{}")
    with pytest.raises(S3Error, match="Delete it"):
        EmbeddedS3(home).acquire()


def test_a_home_that_is_a_file_is_told(home: Path) -> None:
    (home / "s3").write_text("")
    with pytest.raises(S3Error, match="GREENROOM_S3_ENDPOINT"):
        EmbeddedS3(home).acquire()
    (home / "s3").unlink()


def test_its_address_is_known_only_while_it_runs(home: Path) -> None:
    with pytest.raises(S3Error, match="Start a server first"):
        EmbeddedS3(home).url()
