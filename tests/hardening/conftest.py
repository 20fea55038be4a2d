"""Seeds that are printed, and a server of its own for each module that treats one badly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .server import Server


@pytest.fixture(scope="module")
def server(open_home: Path, database_url: str) -> Iterator[Server]:
    """Short patience for slow clients, so that tests need little of it too."""
    environment = {
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_LIMIT_REQUEST_HEAD_S": "2",
        "GREENROOM_LIMIT_REQUEST_BODY_S": "2",
        "GREENROOM_LIMIT_SLOW_READER_S": "2",
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
