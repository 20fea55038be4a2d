"""Runs a peer's server program in a folder of its own during the measurement."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.peers.system import UnavailableError

START_TIMEOUT_S = 90
STOP_TIMEOUT_S = 20
LAST_LINES = 12


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    argv: Sequence[str | Path], folder: Path, port: int, environ: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run the program; yields once it listens on the port."""
    log = folder / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_listening(process, port, log)
        yield
    finally:
        _stop(process)


def _wait_until_listening(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    gives_up_at = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < gives_up_at:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    last = "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])
    raise UnavailableError(f"{process.args} does not listen:\n{last}")  # type: ignore[str-bytes-safe]


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_briefly(argv: Sequence[str | Path], timeout_s: float) -> str:
    """Run a program that ends by itself and return its output. Raises `UnavailableError`."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(str(error)) from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).splitlines()[-LAST_LINES:]
        raise UnavailableError("\n".join([f"{argv[0]} failed:", *said]))
    return done.stdout
