"""One server per module, on a database of its own."""

import os
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from .site import Pair, Server


@pytest.fixture
def seed() -> random.Random:
    """Printed with a failure, as pytest shows what a failed test wrote."""
    given = os.environ.get("GREENROOM_SEED")
    number = int(given) if given else random.SystemRandom().randrange(1 << 32)
    print(f"replay with GREENROOM_SEED={number}")
    return random.Random(number)


@pytest.fixture(scope="module")
def open_home() -> Iterator[Path]:
    # Not pytest's tmp_path: only root may enter that, and the server may not run as root.
    folder = Path(tempfile.mkdtemp(prefix="greenroom-client-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
async def server(
    open_home: Path, database_url: str, conversations_environment: dict[str, str]
) -> AsyncIterator[Server]:
    environment = {"GREENROOM_DATABASE_URL": database_url, **conversations_environment}
    started = Server(open_home, environment)
    await started.start()
    yield started
    await started.stop()
    print(*started.complaints()[-20:], sep="\n")


@pytest.fixture
def pair(server: Server) -> Pair:
    return Pair(server)
