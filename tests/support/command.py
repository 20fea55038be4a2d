"""The `greenroom` command as tests run it: a process of its own, with its output and exit code."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from tests.support import REPOSITORY

PATIENCE_S = 120.0
PYTHON = (sys.executable, "-W", "error")
PROGRAM = (*PYTHON, "-m", "greenroom")
"""For the few tests that are about how the program itself starts."""


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Ours without what configures Greenroom or how it prints, and with what is given."""
    others = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("GREENROOM_") and name != "PYTHONUNBUFFERED"
    }
    return {**others, **given}


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: str, given: Mapping[str, str], folder: Path = REPOSITORY) -> Result:
    """`given` are environment variables. No command ends with a stack."""
    with start(*arguments, given=given, folder=folder) as process:
        out, err = process.communicate(PATIENCE_S)
    assert "Traceback" not in err, err
    return Result(process.wait(), out, err)


class Process:
    """Can do what tests need of a `subprocess.Popen`. Killed at the end of `with`, if it still
    runs."""

    def __init__(self, status: int, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self._status = os.fdopen(status, "rb", buffering=0)
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self.pid = self._read_number()

    def _read_number(self) -> int:
        read = b""
        while not read.endswith(b"\n"):
            part = self._status.read(1)
            assert part, "the process was not started"
            read += part
        return int(read)

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"greenroom (process {self.pid})", timeout or 0)
        return code

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            looking = select.poll()
            looking.register(self._status, select.POLLIN)
            if looking.poll(None if seconds is None else seconds * 1000):
                self.returncode = self._read_number()
                self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it writes until its end."""
        heard: dict[str, str] = {"stdout": "", "stderr": ""}

        def hear(name: str, stream: IO[str]) -> None:
            heard[name] = stream.read()

        streams = {"stdout": self.stdout, "stderr": self.stderr}
        readers = [
            threading.Thread(target=hear, args=(name, stream), daemon=True)
            for name, stream in streams.items()
            if stream is not None and not stream.closed
        ]
        for each in readers:
            each.start()
        self.wait(timeout)
        for each in readers:
            each.join(timeout)
        self._close()
        return heard["stdout"], heard["stderr"]

    def _close(self) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait(PATIENCE_S)
        self._close()


def start(
    *arguments: str,
    given: Mapping[str, str],
    output: IO[bytes] | None = None,
    stdout: int | None = None,
    folder: Path = REPOSITORY,
) -> Process:
    """Writes all to `output`, or into pipes, of which `stdout` can be one that there is."""
    order = {
        "arguments": arguments,
        "environment": environment(given),
        "folder": str(folder),
    }
    status, told = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    theirs = [told, nothing]
    ours: list[IO[str] | None] = []
    if output is not None:
        theirs += [os.dup(output.fileno()), os.dup(output.fileno())]
        ours += [None, None]
    elif stdout is not None:
        theirs.append(os.dup(stdout))
        ours.append(None)
    while len(ours) < 2:
        here, there = os.pipe()
        ours.append(os.fdopen(here, encoding="utf-8"))
        theirs.append(there)
    _server().send(order, theirs)
    for each in theirs:
        os.close(each)
    return Process(status, *ours)


class _CommandServer:
    def __init__(self) -> None:
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [*PYTHON, "-m", "tests.support.command_server", str(there.fileno())],
            cwd=REPOSITORY,
            env=environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[there.fileno()],
        )
        there.close()
        atexit.register(self._close)

    def send(self, order: dict[str, Any], fds: list[int]) -> None:
        socket.send_fds(self._control, [json.dumps(order).encode()], fds)

    def _close(self) -> None:
        self._control.close()
        self._process.wait(PATIENCE_S)


_started: list[_CommandServer] = []


def _server() -> _CommandServer:
    """One per test process, started when the first command is run."""
    if not _started:
        _started.append(_CommandServer())
    return _started[0]
