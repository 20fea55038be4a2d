"""The client, installed and built once, and a server of its own for each module that needs one."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .site import APP, SDK, Server, run_npm


@pytest.fixture(scope="session")
def installed_sdk() -> Path:
    return install(SDK)


@pytest.fixture(scope="session")
def installed_app() -> Path:
    return install(APP)


def install(folder: Path) -> Path:
    """Its tools as the lock names them, as `make check` installs them too."""
    lock, stamp = folder / "package-lock.json", folder / "node_modules" / ".installed"
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        run_npm("ci", folder=folder)
        stamp.touch()
    return folder


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
