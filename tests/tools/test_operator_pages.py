"""The commands in the operator's pages work as printed.

Those about a database are run on one, with its address and folders in the place of the page's.
Those that need a registry, a port or root are only read: every option in them exists.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from greenroom import cli
from tests.distributions.wheels import BUILD

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ("docs/install.md", "docs/deployment.md", "docs/operations.md")
PATIENCE_S = 120


def blocks(page: str) -> list[str]:
    return re.findall(r"```sh\n(.*?)```", (REPOSITORY / page).read_text(), re.DOTALL)


def commands(page: str) -> list[list[str]]:
    lines = [shlex.split(line) for block in blocks(page) for line in block.splitlines()]
    return [line[1:] for line in lines if Path(line[0]).name == "greenroom"]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_takes_its_options(page: str) -> None:
    assert commands(page)
    for argv in commands(page):
        cli._parser().parse_args(argv)


def run(script: str, folder: Path, database_url: str) -> str:
    page_url = re.compile(r"postgresql://\S+")
    script = page_url.sub(shlex.quote(database_url), script)
    for place in ("/var/lib/greenroom", "/var/backups"):
        script = script.replace(place, str(folder))
    others = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        env={**others, "PATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installation_on_ones_own_postgresql(tmp_path: Path, database_url: str) -> None:
    [start] = [block for block in blocks("docs/install.md") if "greenroom migrate" in block]
    [then] = [block for block in blocks("docs/install.md") if "keys create" in block]
    backup, restore = blocks("docs/operations.md")
    # The server itself would not come back; tests/test_cli.py starts it so.
    prepared, serve, _ = start.partition("greenroom serve\n")
    assert serve
    shown = run(prepared + then + backup + restore + "greenroom check", tmp_path, database_url)
    assert re.search(r"^grk_\w+$", shown, re.MULTILINE)
    assert re.search(r"^eyJ[\w-]+\.[\w-]+\.[\w-]+$", shown, re.MULTILINE)
    assert "every client will reload" in shown
    assert "everything agrees" in shown


def test_the_wheel_has_the_name_that_the_page_says() -> None:
    page = (REPOSITORY / "docs/install.md").read_text()
    project = (REPOSITORY / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.*)"$', project, re.MULTILINE)
    assert version
    assert set(re.findall(r"greenroom-(.*?)-py3", page)) == {version[1]}


def test_the_page_builds_the_wheel_as_the_tests_do() -> None:
    assert (
        f".venv/bin/python {' '.join(BUILD)} dist\n" in (REPOSITORY / "docs/install.md").read_text()
    )
