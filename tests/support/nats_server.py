"""A NATS server for tests, to be used by any test module, and to be killed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.support.waiting import PATIENCE_S

ANY_PORT = -1


class NatsServer:
    """`nats-server` on loopback. Started again it listens on the same port."""

    def __init__(self) -> None:
        self.port = ANY_PORT
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self, *options: str) -> None:
        """Returns when it listens."""
        place = ["--addr", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [_program(), *place, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        said = ""
        for line in self._process.stderr:
            said += line
            if found := re.search(r"Listening for client connections on \S+:(\d+)", line):
                self.port = int(found[1])
            if "Server is ready" in line:
                return
        raise AssertionError(f"nats-server did not start: {said}")

    def kill(self) -> None:
        """As the kernel or a power cut would: no farewell."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            if self._process.stderr is not None:
                self._process.stderr.close()


def _program() -> str:
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    assert found is not None, "nats-server is not installed: make setup"
    return found
