"""Node and npm, to run the TypeScript client and the web app's own tests with."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import REPOSITORY

WEB = REPOSITORY / "web"
SDK, APP = WEB / "sdk", WEB / "app"
LIVE = "dist/live"
"""Where the program that talks to a real server is built, in the client's folder."""
BIN = Path(sys.executable).parent
PATIENCE_S = 120.0

Json = dict[str, Any]


def with_node() -> dict[str, str]:
    """The environment in which `node` and `npm` are those of ours."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}


def run_npm(*words: str, folder: Path = SDK) -> str:
    done = subprocess.run(
        [BIN / "npm", *words],
        cwd=folder,
        env=with_node(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_node(*words: str | Path, **more: str) -> str:
    done = subprocess.run(
        [BIN / "node", "--enable-source-maps", *words],
        env={**with_node(), **more},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
