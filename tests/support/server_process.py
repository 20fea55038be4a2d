"""A real `greenroom serve` that can be killed and started again, and tokens for people on it."""

import json
import secrets
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from greenroom.kernel.clock import system_clock
from greenroom.platform.tokens.verifying import sign_token
from tests.support import command
from tests.support.waiting import PATIENCE_S, wait_until

SECRET = "a secret that is long enough for tests"
GIVEN = {
    "GREENROOM_JWT_SECRET": SECRET,
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000",
}

Json = dict[str, Any]


def token_of(user: str, *, ttl_s: int = 6 * 3600) -> str:
    return sign_token(SECRET.encode(), user, clock=system_clock, ttl_s=ttl_s)


class ServerProcess:
    """Not started. Its first start takes a free port, which every later one takes again."""

    def __init__(
        self,
        home: Path,
        given: Mapping[str, str],
        *,
        workers: int = 1,
        log: Path | None = None,
    ) -> None:
        self._given = {**GIVEN, "GREENROOM_HOME": str(home), **given}
        self._workers = workers
        self._process: command.Process | None = None
        self.log = log or home / f"server-{secrets.token_hex(4)}.log"
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Returns when it listens."""
        expected = len(self.said("listening")) + self._workers
        options = ["--port", str(self.port), "--workers", str(self._workers)]
        with self.log.open("ab") as log:
            self._process = command.start("serve", *options, given=self._given, output=log)
        wait_until(
            lambda: self.has_ended() or len(self.said("listening")) >= expected,
            "the start of the server",
        )
        assert not self.has_ended(), self.log.read_text()
        self.port = self.said("listening")[-1]["port"]

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def kill(self) -> None:
        """As the kernel or a power cut would: no farewell."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def stop(self) -> int:
        """In order: what was accepted is finished. Returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE_S)

    def end(self) -> int:
        """In order if it can, whatever a test has done to it. Returns the exit code."""
        try:
            return self.stop()
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def said(self, message: str) -> list[Json]:
        """What it has logged with this message, in order."""
        return [each for each in self._lines() if each["message"] == message]

    def complaints(self) -> list[Json]:
        """What it has logged as its own mistakes."""
        return [each for each in self._lines() if each["level"] in ("error", "critical")]

    def _lines(self) -> list[Json]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
