"""Builds the web app for tests and tools that were not started by `make`."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
STAMPS = (".venv/.runnable", ".venv/.installed")
PATIENCE_S = 600


class BuildError(Exception):
    """`make` has failed; the message contains its output."""


EXAMPLES = "web/examples/node_modules/.installed"


def build_web_app() -> None:
    """Build it if it is missing or older than its sources."""
    _make("web")


def install_examples() -> None:
    """Install the packages that the examples in docs/ are built with."""
    _make(EXAMPLES)


def _make(target: str) -> None:
    """Safe for several processes at once: one runs make, the others wait."""
    # The folder itself is locked, so that no lock file is needed.
    folder = os.open(REPOSITORY / "web", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        _run_make(target)
    finally:
        os.close(folder)


def _run_make(target: str) -> None:
    done = subprocess.run(
        # Not the virtual environment that we are running in.
        ["make", "--silent", *(f"--old-file={stamp}" for stamp in STAMPS), target],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(done.stdout)


def with_node() -> dict[str, str]:
    """The environment variables with the installed `node` first in PATH."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
