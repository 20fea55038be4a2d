"""The product under measurement: a real server process on an embedded PostgreSQL of its own."""

import json
import os
import resource
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

from greenroom.bootstrap import database, jwt_secret
from greenroom.kernel.clock import system_clock
from greenroom.platform.tokens.verifying import sign_token
from greenroom.settings import Settings, load_settings

# The limits are evaluated but set very high, because few people send very much here.
LIMITS = {
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000000",
}
START_CHECK_S = 0.05


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
def product(workers: int = 1, more: Mapping[str, str] | None = None) -> Iterator[Product]:
    _raise_open_files()
    home = Path(tempfile.mkdtemp(prefix="greenroom-bench-"))
    home.chmod(0o755)
    environ = {**os.environ, "GREENROOM_HOME": str(home), **LIMITS, **(more or {})}
    settings = load_settings(environ)
    try:
        with database(settings) as url, _server(environ, home, workers) as (port, pid):
            yield Product(settings, url, port, pid)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _raise_open_files() -> None:
    """Allow as many open connections as possible, for this process and the server."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _server(environ: dict[str, str], home: Path, workers: int) -> Iterator[tuple[int, int]]:
    # Into a file: a pipe that is not read would fill up and block the server.
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "greenroom", "serve", "--port", "0", "--workers", str(workers)],
            env=environ,
            stderr=output,
        )
    try:
        yield _listening_port(process, log, workers), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def _listening_port(process: "subprocess.Popen[bytes]", log: Path, workers: int) -> int:
    while process.poll() is None:
        records = [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]
        ports = [int(each["port"]) for each in records if each["message"] == "listening"]
        if len(ports) == workers:
            return ports[0]
        time.sleep(START_CHECK_S)
    raise RuntimeError(f"the server did not start: {log.read_text()}")
