"""The block of docs/files.md works as it is printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import REPOSITORY
from tests.support.ports import free_port
from tests.support.server_process import SECRET, ServerProcess


@pytest.fixture
def environment(tmp_path: Path, database_url: str) -> Iterator[dict[str, str]]:
    given = {"GREENROOM_DATABASE_URL": database_url}
    server = ServerProcess(tmp_path, given)
    server.port = free_port()
    server.start()
    others = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
    yield {
        **others,
        **given,
        "GREENROOM_HOME": str(tmp_path),
        "GREENROOM_JWT_SECRET": SECRET,
        "GREENROOM_PORT": str(server.port),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    server.stop()


def test_the_block_shows_a_picture_to_the_other_side(environment: dict[str, str]) -> None:
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here")
    page = (REPOSITORY / "docs/files.md").read_text()
    [block] = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
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
    assert '"hint"' not in done.stdout, done.stdout
    lines = done.stdout.splitlines()
    assert "204" in lines
    assert any('"state":"ready"' in line for line in lines), done.stdout
    assert lines[-1].startswith("200 image/"), lines[-1]
