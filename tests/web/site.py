"""A real `greenroom serve` for the TypeScript client, and Node to run the client with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from greenroom.kernel.clock import system_clock
from greenroom.platform.auth import sign_token

WEB = Path(__file__).parents[2] / "web"
SDK, APP = WEB / "sdk", WEB / "app"
BIN = Path(sys.executable).parent
SECRET = "a secret that is long enough for tests"
PATIENCE_S = 120.0
LOOK_S = 0.01

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


def token(user: str) -> str:
    return sign_token(SECRET.encode(), user, clock=system_clock, ttl_s=3600)


class Server:
    """One process that can be killed and started again at the same address."""

    def __init__(self, home: Path, database_url: str) -> None:
        self._log = home / "server.log"
        self._environment = {
            "GREENROOM_HOME": str(home),
            "GREENROOM_DATABASE_URL": database_url,
            "GREENROOM_JWT_SECRET": SECRET,
            "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
            "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000",
            "GREENROOM_LIMIT_STARTS_PER_DAY": "1000",
        }
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        given = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
        before = len(self._said("listening"))
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "greenroom", "serve", "--port", str(self._port)],
                env={**given, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline_s = time.monotonic() + PATIENCE_S
        while len(self._said("listening")) == before:
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline_s, "the server does not start"
            time.sleep(LOOK_S)
        self._port = self._said("listening")[-1]["port"]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE_S)

    def complaints(self) -> list[Json]:
        """What it logged as its own mistakes."""
        return [each for each in self._lines() if each["level"] in ("error", "critical")]

    def _said(self, message: str) -> list[Json]:
        return [each for each in self._lines() if each["message"] == message]

    def _lines(self) -> list[Json]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
