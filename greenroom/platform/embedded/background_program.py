"""A program that runs in the background and outlives the process that started it.

It is found by its working directory, because a pid file could name another process after a crash.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOP_TIMEOUT_S = 10
POLL_S = 0.02
LOG = "engine.log"

# As in /proc/net/tcp: the address 127.0.0.1, and the state LISTEN.
_LOOPBACK = "0100007F"
_LISTENING = "0A"

# The shell exits at once, so the program is not our child and outlives this process.
_LAUNCH = f'"$@" < /dev/null >> {LOG} 2>&1 & echo $!'


def find_program(folder: Path, program: str) -> tuple[int, list[str]] | None:
    """The pid and the words of the command line of the program that runs in this folder."""
    for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        if works_in(pid, folder) and (words := command_line(pid, program)):
            return pid, words
    return None


def works_in(pid: int, folder: Path) -> bool:
    """Also false for a zombie, which has no working directory."""
    try:
        return Path(f"/proc/{pid}/cwd").samefile(folder)
    except OSError:
        return False


def command_line(pid: int, program: str) -> list[str]:
    """Empty unless the process runs this program."""
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() != program:
            return []
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except (OSError, ValueError):
        return []


def launch(folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Start the program in the folder. Returns its pid."""
    owner = folder.stat()
    as_owner = must_give_away(folder)
    launched = subprocess.run(
        ["/bin/sh", "-c", _LAUNCH, "sh", *words],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
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


def must_give_away(folder: Path) -> bool:
    """Run by root, a program must not create files that the folder's owner cannot open."""
    return os.geteuid() == 0 and folder.stat().st_uid != 0


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Like the programs: connections of the last run in TIME_WAIT do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def listens(pid: int, port: int) -> bool:
    """Whether this very process listens on the port."""
    address = f"{_LOOPBACK}:{port:04X}"
    try:
        rows = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
        sockets = [row.split() for row in rows]
        inodes = {each[9] for each in sockets if each[1] == address and each[3] == _LISTENING}
        mine = {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return False
    return any(f"socket:[{inode}]" in mine for inode in inodes)


def stop_program(folder: Path, program: str, patience_s: float = STOP_TIMEOUT_S) -> None:
    """Stop the program of a folder, if one runs. It is killed if it needs longer."""
    for ask, timeout_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, STOP_TIMEOUT_S)):
        found = find_program(folder, program)
        if found is None:
            return
        with suppress(ProcessLookupError):
            os.kill(found[0], ask)
        deadline = time.monotonic() + timeout_s
        while _is_ending(found[0], folder) and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _is_ending(pid: int, folder: Path) -> bool:
    """A process keeps its ports until its last thread is gone, and the first goes first."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False
    return any(works_in(int(thread.name), folder) for thread in threads)


def log_tail(folder: Path) -> str:
    try:
        lines = (folder / LOG).read_text(errors="replace").strip().splitlines()
    except FileNotFoundError:
        lines = []
    return "\n".join(lines[-5:]) or "its log is empty"
