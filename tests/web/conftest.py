"""The client, installed and built once, and a server of its own for each module that needs one."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .site import SDK, Server, run_npm


@pytest.fixture(scope="session")
def installed_sdk() -> Path:
    """Its tools as the lock names them; installed anew only if the lock has changed."""
    lock = hashlib.sha256((SDK / "package-lock.json").read_bytes()).hexdigest()
    stamp = SDK / "node_modules" / ".installed-lock"
    if not stamp.exists() or stamp.read_text() != lock:
        run_npm("ci")
        stamp.write_text(lock)
    return SDK


@pytest.fixture(scope="session")
def built_sdk(installed_sdk: Path) -> Path:
    run_npm("run", "build")
    run_npm("run", "build:tests")
    return installed_sdk


@pytest.fixture(scope="module")
def server(database_url: str) -> Iterator[Server]:
    # Not pytest's tmp_path: only root may enter that.
    home = Path(tempfile.mkdtemp(prefix="greenroom-web-"))
    home.chmod(0o755)
    started = Server(home, database_url)
    yield started
    assert started.stop() == 0
    assert started.complaints() == []
    shutil.rmtree(home, ignore_errors=True)
