"""A folder that all processes of one test run share, for what is expensive to make."""

import os
import pickle
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any

VARIABLE = "TESTS_RUN_FOLDER"
"""The environment variable with its path. Processes that tests start inherit it."""


def open_run_folder() -> bool:
    """Whether this process is the first of the run, which removes it in the end."""
    if VARIABLE in os.environ:
        return False
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="greenroom-run-")
    return True


def remove_run_folder() -> None:
    shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)


def kept(name: str) -> Any:
    """What a process of this run has kept under this name, or None."""
    path = Path(os.environ[VARIABLE]) / name
    return pickle.loads(path.read_bytes()) if path.exists() else None  # noqa: S301 (our own)


def keep(name: str, thing: object) -> None:
    """Whole or not at all: others may read, or keep the same."""
    path = Path(os.environ[VARIABLE]) / name
    begun = path.with_name(f"{name}.{secrets.token_hex(4)}")
    begun.write_bytes(pickle.dumps(thing))
    begun.replace(path)
