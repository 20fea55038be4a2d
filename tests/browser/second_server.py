"""A second server on the sample's database, which a test may kill and start again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tools.demo import Demo

PATIENCE_S = 60.0
LOOK_S = 0.02


class SecondServer:
    """With the sample's people and their tokens, at an address of its own that it keeps."""

    def __init__(self, demo: Demo, database_url: str, log: Path) -> None:
        self._environment = {
            **{name: text for name, text in os.environ.items() if "GREENROOM" not in name},
            "GREENROOM_HOME": str(demo.settings.home),
            "GREENROOM_DATABASE_URL": database_url,
        }
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self.start()
        self.demo = replace(demo, url=f"http://127.0.0.1:{self._port}", log=log)

    def start(self) -> None:
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "greenroom", "serve", "--port", str(self._port)],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._port = self._listening_port(self._process)

    def _listening_port(self, process: "subprocess.Popen[bytes]") -> int:
        deadline_s = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < deadline_s:
            lines = [line for line in self._log.read_text().split("\n")[:-1] if line[:1] == "{"]
            for record in map(json.loads, lines):
                if record["message"] == "listening":
                    return int(record["port"])
            time.sleep(LOOK_S)
        raise RuntimeError(f"the server did not start: {self._log.read_text()}")

    def end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            self._process = None

    def kill(self) -> None:
        """It has no time to say goodbye to anybody."""
        self.end(signal.SIGKILL)


@contextmanager
def second_server(demo: Demo, database_url: str) -> Iterator[SecondServer]:
    server = SecondServer(demo, database_url, demo.settings.home / "second.log")
    try:
        yield server
    finally:
        server.end(signal.SIGTERM)
