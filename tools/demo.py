"""`greenroom demo` as a process of its own, with the addresses that it tells when it is ready."""

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
from typing import Any

import httpx

from greenroom.demo.welcome import person_token
from greenroom.kernel.clock import system_clock
from greenroom.settings import Settings, load_settings

PATIENCE_S = 120.0
LOOK_S = 0.02
RULE = "─" * 78

Json = dict[str, Any]


class DemoError(Exception):
    """The demo did not start; what it said follows."""


@dataclass(frozen=True, slots=True)
class Demo:
    url: str
    host_url: str
    """Of the marketplace's page, which is another origin."""
    settings: Settings
    log: Path

    def token(self, user_id: str) -> str:
        """Of one of the sample's people, or of somebody new."""
        return person_token(self.settings, user_id, system_clock)

    def call(self, user_id: str, method: str, path: str, json: Json | None = None) -> Json:
        """What the API answers that person. Raises httpx.HTTPStatusError."""
        headers = {"authorization": f"Bearer {self.token(user_id)}"}
        answer = httpx.request(
            method, self.url + path, json=json, headers=headers, timeout=PATIENCE_S
        )
        body: Json = answer.raise_for_status().json() if answer.content else {}
        return body

    def complaints(self) -> list[str]:
        """What it logged as its own mistakes."""
        return [line for line in self.log.read_text().splitlines() if '"level":"error"' in line]


@contextmanager
def run_demo(environment: Mapping[str, str] | None = None) -> Iterator[Demo]:
    """In a new home that is gone afterwards; with `GREENROOM_DATABASE_URL` on that database."""
    # The embedded PostgreSQL does not run as root, and must be able to enter.
    home = Path(tempfile.mkdtemp(prefix="greenroom-demo-"))
    home.chmod(0o755)
    others = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
    log = home / "demo.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "greenroom", "demo", "--port", "0", "--host-port", "0"],
            env={**others, **(environment or {}), "GREENROOM_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        box = _read_box(process, log)
        settings = load_settings({"GREENROOM_HOME": str(home)})
        yield Demo(_find("API", "/v1", box), _find("Host page", "/", box), settings, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        shutil.rmtree(home, ignore_errors=True)


def _read_box(process: "subprocess.Popen[bytes]", log: Path) -> str:
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
        raise DemoError(f"It does not tell its {name}:\n{box}")
    return found[1]
