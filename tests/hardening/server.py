"""A server to be treated badly, with a caller and a look at its memory."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.support.server_process import ServerProcess
from tests.support.waiting import PATIENCE_S

from .wire import bearer


class Server(ServerProcess):
    """Started at once, and only once."""

    def __init__(self, home: Path, given: Mapping[str, str], *, log: Path | None = None) -> None:
        super().__init__(home, given, log=log)
        self.start()
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE_S)

    def end(self) -> int:
        self.http.close()
        return super().end()

    def rss_bytes(self) -> int:
        return self._memory_bytes("VmRSS")

    def peak_rss_bytes(self) -> int:
        """The most since the last `forget_peak`."""
        return self._memory_bytes("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def _memory_bytes(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        [line] = [each for each in status.splitlines() if each.startswith(name)]
        return int(line.split()[1]) * 1024

    def call(self, user: str, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {"authorization": bearer(user)}
        return self.http.request(method, path, headers=headers, json=body)

    def thread(self, *users: str) -> str:
        """A thread of the first user with the others."""
        for user in users:
            assert self.call(user, "GET", "/v1/me").status_code == 200
        first = {"client_id": f"first-{time.monotonic_ns()}", "body": "Hello"}
        new = {"kind": "inquiry", "to": list(users[1:]), "first_message": first}
        answer = self.call(users[0], "POST", "/v1/threads", new)
        assert answer.status_code == 201, answer.text
        thread_id: str = answer.json()["thread"]["id"]
        return thread_id
