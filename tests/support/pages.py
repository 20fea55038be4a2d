"""Runs the block of commands that a page prints, against a server of its own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import REPOSITORY
from tests.support.ports import free_port
from tests.support.server_process import SECRET, ServerProcess


@contextmanager
def page_environment(home: Path, database_url: str) -> Iterator[dict[str, str]]:
    """A running server, and the variables with which commands of a page find it."""
    given = {"GREENROOM_DATABASE_URL": database_url}
    server = ServerProcess(home, given)
    server.port = free_port()
    server.start()
    others = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
    yield {
        **others,
        **given,
        "GREENROOM_HOME": str(home),
        "GREENROOM_JWT_SECRET": SECRET,
        "GREENROOM_PORT": str(server.port),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    server.stop()


def run_block(page: str, environment: dict[str, str]) -> str:
    """What the only `sh` block of the page prints."""
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here")
    [block] = re.findall(r"```sh\n(.*?)```", (REPOSITORY / page).read_text(), re.DOTALL)
    done = subprocess.run(
        ["bash", "-c", block],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
