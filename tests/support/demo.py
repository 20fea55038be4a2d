"""`greenroom demo` as a process."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from tests.support import command
from tools.demo import Demo, run_demo


def start_demo(given: Mapping[str, str]) -> AbstractContextManager[Demo]:
    """In a new home that is gone afterwards. `given` are environment variables."""
    return run_demo(given, start=command.start)
