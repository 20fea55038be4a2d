"""The built web app, for whoever needs it and was not started by `make`."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
STAMP = ".venv/.installed"
PATIENCE_S = 600


class BuildError(Exception):
    """`make web` has failed; what it said follows."""


def build_web_app() -> None:
    """If it is not there, or older than what it is built from. Safe for several processes at once:
    one builds, the others wait and find it done."""
    # The lock is on the folder itself, so that no file has to be kept for it.
    folder = os.open(REPOSITORY / "web", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        _make_web()
    finally:
        os.close(folder)


def _make_web() -> None:
    done = subprocess.run(
        # Not the virtual environment that we are running in.
        ["make", "--silent", f"--old-file={STAMP}", "web"],
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
    """The environment in which `node` is the one that we have installed."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
