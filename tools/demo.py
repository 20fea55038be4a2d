"""Runs `greenroom demo` as a process, and reads the addresses that it prints."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import httpx

from greenroom.demo.welcome import person_token
from greenroom.kernel.clock import system_clock
from greenroom.settings import Settings, load_settings

PATIENCE_S = 120.0
LOOK_S = 0.02
RULE = "─" * 78

Json = dict[str, Any]


class DemoError(Exception):
    """The demo did not start; the message contains its output."""


@dataclass(frozen=True, slots=True)
class Demo:
    url: str
    host_url: str
    """The address of the host page, which is another origin."""
    settings: Settings
    log: Path

    def token(self, user_id: str) -> str:
        """A token of one of the sample's people, or of a new person."""
        return person_token(self.settings, user_id, system_clock)

    def call(self, user_id: str, method: str, path: str, json: Json | None = None) -> Json:
        """Call the API as that person and return the answer. Raises httpx.HTTPStatusError."""
        headers = {"authorization": f"Bearer {self.token(user_id)}"}
        answer = httpx.request(
            method, self.url + path, json=json, headers=headers, timeout=PATIENCE_S
        )
        body: Json = answer.raise_for_status().json() if answer.content else {}
        return body

    def complaints(self) -> list[str]:
        """The errors in the demo's log."""
        return [line for line in self.log.read_text().splitlines() if '"level":"error"' in line]


class Process(Protocol):
    def poll(self) -> int | None: ...

    def send_signal(self, number: int, /) -> None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class Start(Protocol):
    def __call__(self, *arguments: str, given: Mapping[str, str], output: IO[bytes]) -> Process: ...


def start_program(*arguments: str, given: Mapping[str, str], output: IO[bytes]) -> Process:
    """`given` are environment variables."""
    others = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
    return subprocess.Popen(
        [sys.executable, "-m", "greenroom", *arguments],
        env={**others, **given},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )


@contextmanager
def run_demo(
    environment: Mapping[str, str] | None = None, start: Start = start_program
) -> Iterator[Demo]:
    """Run it in a temporary home. With `GREENROOM_DATABASE_URL` it uses that database."""
    # The embedded PostgreSQL does not run as root and needs access to the folder.
    home = Path(tempfile.mkdtemp(prefix="greenroom-demo-"))
    home.chmod(0o755)
    log = home / "demo.log"
    given = {**(environment or {}), "GREENROOM_HOME": str(home)}
    with log.open("wb") as output:
        process = start("demo", "--port", "0", "--host-port", "0", given=given, output=output)
    try:
        box = _read_box(process, log)
        settings = load_settings({"GREENROOM_HOME": str(home)})
        yield Demo(_find("API", "/v1", box), _find("Host page", "/", box), settings, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        shutil.rmtree(home, ignore_errors=True)


def _read_box(process: Process, log: Path) -> str:
    deadline_s = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline_s:
        said = log.read_text()
        if said.count(RULE) == 2:
            return said
        time.sleep(LOOK_S)
    raise DemoError(log.read_text())


def _find(name: str, end: str, box: str) -> str:
    found = re.search(rf"^ *{name} +(http://\S+?){end}$", box, re.MULTILINE)
    if found is None:
        raise DemoError(f"Its output has no {name}:\n{box}")
    return found[1]
