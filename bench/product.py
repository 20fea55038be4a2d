"""The product under measurement: a real server process on an embedded PostgreSQL of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from greenroom.bootstrap import database, jwt_secret
from greenroom.kernel.clock import system_clock
from greenroom.platform.auth import sign_token
from greenroom.settings import Settings, load_settings

# The limits are on and evaluated, but far away: a bench has few people who write very much.
LIMITS = {
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000000",
}


@dataclass(frozen=True, slots=True)
class Product:
    settings: Settings
    database_url: str
    port: int
    pid: int

    def token(self, user_id: str) -> str:
        return sign_token(
            jwt_secret(self.settings), user_id, clock=system_clock, ttl_s=24 * 60 * 60
        )

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        kilobytes = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(kilobytes.split()[1]) / 1024


@contextmanager
def product() -> Iterator[Product]:
    home = Path(tempfile.mkdtemp(prefix="greenroom-bench-"))
    home.chmod(0o755)
    environ = {**os.environ, "GREENROOM_HOME": str(home), **LIMITS}
    settings = load_settings(environ)
    try:
        with database(settings) as url, _server(environ) as (port, pid):
            yield Product(settings, url, port, pid)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _server(environ: dict[str, str]) -> Iterator[tuple[int, int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "greenroom", "serve", "--port", "0"],
        env=environ,
        stderr=subprocess.PIPE,
    )
    try:
        yield _listening_port(process), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def _listening_port(process: "subprocess.Popen[bytes]") -> int:
    assert process.stderr is not None
    for line in process.stderr:
        record = json.loads(line)
        if record["message"] == "listening":
            return int(record["port"])
    raise RuntimeError("the server did not start")
