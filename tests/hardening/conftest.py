"""Seeds that are printed, and a server of its own for each module that treats one badly."""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .site import Server


@pytest.fixture
def seed() -> random.Random:
    """Printed with a failure, as pytest shows what a failed test wrote."""
    given = os.environ.get("GREENROOM_SEED")
    number = int(given) if given else random.SystemRandom().randrange(1 << 32)
    print(f"replay with GREENROOM_SEED={number}")
    return random.Random(number)


@pytest.fixture(scope="module")
def open_home() -> Iterator[Path]:
    """Not pytest's tmp_path: only root may enter that, and the database does not run as root."""
    folder = Path(tempfile.mkdtemp(prefix="greenroom-hardening-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def server(open_home: Path, database_url: str) -> Iterator[Server]:
    """Short patience for slow clients, so that tests need little of it too."""
    environment = {
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_LIMIT_REQUEST_HEAD_S": "2",
        "GREENROOM_LIMIT_REQUEST_BODY_S": "2",
    }
    started = Server(open_home, environment)
    yield started
    assert started.end() == 0


@pytest.fixture
def still_serving(server: Server) -> Iterator[None]:
    """Whatever a test did: the server answers as before, and nothing surprised it."""
    yield
    assert server.http.get("/readyz").status_code == 200
    assert server.complaints() == []
