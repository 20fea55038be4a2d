"""dynoxide as a process of this machine: finding, starting and stopping the one of a folder.

The engine works inside its folder, and by that it is known: no number in a file can be mistaken for
it after a crash. The port it listens on is in its command line.
"""

import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded_postgres.files import write
from greenroom.platform.embedded_postgres.postmaster import PORTS

PROGRAM = "dynoxide"
START_ATTEMPTS = 3
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
ANSWER_TIMEOUT_S = 5
POLL_S = 0.02

# As the kernel writes them: 127.0.0.1, and the state of a socket that takes connections.
LOOPBACK = "0100007F"
LISTENING = "0A"

# The shell leaves at once and the engine is nobody's child, so that it outlives whoever began it.
_LAUNCH = '"$@" < /dev/null >> engine.log 2>&1 & echo $!'


@dataclass(frozen=True, slots=True)
class Engine:
    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def find_engine(folder: Path) -> Engine | None:
    """The living engine that works in this folder."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    found = (_engine(pid) for pid in numbers if _works_in(pid, folder))
    return next((engine for engine in found if engine is not None), None)


def _works_in(pid: int, folder: Path) -> bool:
    """False also for a process that has ended and waits to be noticed: it has no folder."""
    try:
        return Path(f"/proc/{pid}/cwd").samefile(folder)
    except OSError:
        return False


def _engine(pid: int) -> Engine | None:
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() != PROGRAM:
            return None
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        return Engine(pid, int(words[words.index("--port") + 1]))
    except (OSError, ValueError, IndexError):
        return None


def ensure_engine(folder: Path) -> Engine:
    """Start the engine unless it runs; return when it answers. One process at a time may do so."""
    for _ in range(START_ATTEMPTS):
        running = find_engine(folder)
        # Somebody may take the port between our look at it and the engine's bind: then it ends.
        engine = _wait_until_it_answers(running.pid if running else _launch(folder), folder)
        if engine is not None:
            return engine
    raise DynamoDbError(
        f"The embedded DynamoDB did not start: {_last_words(folder)}\n"
        f"Its log is {folder / 'engine.log'}. Set that right and start again."
    )


def _launch(folder: Path) -> int:
    """Begin to start the engine; the number of its process."""
    program = find_program()
    port = _choose_port(folder / "port")
    owner = folder.stat()
    # Root's visit must not leave a database behind that the owner of the folder cannot open.
    as_owner = os.geteuid() == 0 and owner.st_uid != 0
    launched = subprocess.run(
        [
            *("/bin/sh", "-c", _LAUNCH, "sh", program, "serve", "--host", "127.0.0.1"),
            *("--port", str(port), "--db-path", "items.db"),
        ],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        umask=0o077,
        start_new_session=True,
        user=owner.st_uid if as_owner else None,
        group=owner.st_gid if as_owner else None,
        extra_groups=[] if as_owner else None,
    )
    return int(launched.stdout)


def find_program() -> Path:
    installed = Path(sys.prefix, "engines/node_modules/@dynoxide/linux-x64", PROGRAM)
    if installed.exists():
        return installed
    found = shutil.which(PROGRAM)
    if found is None:
        raise DynamoDbError(
            "The embedded DynamoDB needs the program dynoxide. In a checkout run `make setup`; "
            "elsewhere run `npm install @dynoxide/linux-x64` and put its folder on PATH. Or set "
            "GREENROOM_DYNAMODB_ENDPOINT to an engine of your own, or unset it to use AWS."
        )
    return Path(found)


def _choose_port(remembered: Path) -> int:
    """The port of last time if it is free, so that those who lost the engine find it again."""
    with suppress(FileNotFoundError, ValueError):
        port = int(remembered.read_text())
        if port in PORTS and _is_free(port):
            return port
    for port in secrets.SystemRandom().sample(PORTS, 100):
        if _is_free(port):
            write(remembered, f"{port}\n")
            return port
    raise DynamoDbError("No free port on 127.0.0.1 was found. End what holds them.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the engine does: connections of the last run in TIME_WAIT do not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _wait_until_it_answers(pid: int, folder: Path) -> Engine | None:
    """The engine, or None if it ended instead."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while _works_in(pid, folder):
        engine = _engine(pid)
        if engine is not None and _listens(engine) and _answers(engine):
            return engine
        if time.monotonic() > deadline:
            raise DynamoDbError(
                f"The embedded DynamoDB in {folder} runs but does not answer. End its process "
                f"{pid} and start again; its log is {folder / 'engine.log'}."
            )
        time.sleep(POLL_S)
    return None


def _listens(engine: Engine) -> bool:
    """Whether the port is this engine's own, and not that of another one, say."""
    address = f"{LOOPBACK}:{engine.port:04X}"
    try:
        rows = Path(f"/proc/{engine.pid}/net/tcp").read_text().splitlines()[1:]
        sockets = [row.split() for row in rows]
        inodes = {each[9] for each in sockets if each[1] == address and each[3] == LISTENING}
        mine = {str(fd.readlink()) for fd in Path(f"/proc/{engine.pid}/fd").iterdir()}
    except OSError:
        return False
    return any(f"socket:[{inode}]" in mine for inode in inodes)


def _answers(engine: Engine) -> bool:
    """Whether a real request succeeds; that it listens says less."""
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=ANSWER_TIMEOUT_S)
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "X-Amz-Date": "20250101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, "
        "SignedHeaders=host, Signature=0",
    }
    try:
        connection.request("POST", "/", b'{"Limit":1}', headers)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def stop_engine(folder: Path) -> None:
    """End the engine of a folder, if one runs. What was written is on disk already."""
    for ask in (signal.SIGTERM, signal.SIGKILL):
        engine = find_engine(folder)
        if engine is None:
            return
        with suppress(ProcessLookupError):
            os.kill(engine.pid, ask)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while _works_in(engine.pid, folder) and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _last_words(folder: Path) -> str:
    try:
        lines = (folder / "engine.log").read_text(errors="replace").strip().splitlines()
    except FileNotFoundError:
        lines = []
    return "\n".join(lines[-5:]) or "it said nothing"
