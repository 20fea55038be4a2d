"""`pip install` of the wheel is enough for `greenroom demo`: no clone, no make, no Node.js."""

import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from greenroom.platform.embedded.postgres import EmbeddedPostgres
from tools.webapp import build_web_app

from .wheels import REPOSITORY, Environment, build_wheel, without_greenroom

PATIENCE_S = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's tmp_path: as root, PostgreSQL's account could not enter it.
    folder = Path(tempfile.mkdtemp(prefix="greenroom-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    EmbeddedPostgres(folder / "empty" / ".greenroom").stop()
    shutil.rmtree(folder)


def test_the_demo_runs_from_the_wheel_in_an_empty_folder(folder: Path) -> None:
    build_web_app()
    environment = Environment(folder / "venv")
    environment.install(build_wheel(REPOSITORY, folder / "wheel"))
    empty = folder / "empty"
    empty.mkdir()
    log = folder / "demo.log"
    with log.open("w") as output:
        demo = subprocess.Popen(
            [environment.bin / "greenroom", "demo", "--port", "0", "--no-host-page"],
            cwd=empty,
            # No node, no npm, no make, nothing of this environment.
            env={**without_greenroom(), "PATH": str(environment.bin), "PYTHONPATH": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
    try:
        assert demo.stdout is not None
        said = (re.search(r"App +(http://\S+)/app$", line.rstrip()) for line in demo.stdout)
        found = next(filter(None, said), None)
        assert found, log.read_text()
        for path, text in (("/readyz", "ready"), ("/app", "<script"), ("/embed.js", "export")):
            answer = httpx.get(found[1] + path, timeout=PATIENCE_S, follow_redirects=True)
            assert answer.status_code == 200
            assert text in answer.text
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 0
    assert [each.name for each in empty.iterdir()] == [".greenroom"]
