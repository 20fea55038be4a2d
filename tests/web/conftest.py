"""The client, installed and built once, and a server of its own for each module that needs one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess

from .node import APP, LIVE, SDK, run_npm


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
    # Apart from where the client's own tests are built, which another worker may do at this moment.
    run_npm("exec", "--", "tsc", "-p", "tsconfig.test.json", "--outDir", LIVE)
    return installed_sdk


@pytest.fixture(scope="module")
def server(open_home: Path, database_url: str) -> Iterator[ServerProcess]:
    started = ServerProcess(open_home, {"GREENROOM_DATABASE_URL": database_url})
    started.start()
    yield started
    assert started.end() == 0
    assert started.complaints() == []
