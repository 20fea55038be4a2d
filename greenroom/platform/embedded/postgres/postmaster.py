"""Finds, starts and stops the postmaster, the main process of PostgreSQL."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.embedded.postgres.account import account_for
from greenroom.platform.embedded.postgres.engine import programs_for
from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError, last_lines
from greenroom.platform.embedded.postgres.files import write
from greenroom.platform.embedded.postgres.layout import Layout

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 120
ORPHAN_PATIENCE_S = 3
START_ATTEMPTS = 3
POLL_S = 0.02

# Below Linux's range for outgoing connections: a client that reconnects to a stopped server on a
# port of that range can be connected to itself, and then blocks the port.
PORTS = range(20_000, 32_768)

# fsync, full_page_writes and synchronous_commit keep their default: on. No WAL compression: the
# package is built without lz4, and pglz would take more processor time than it saves. Terse errors,
# because the detail of a violated constraint quotes the row, and logs must not contain messages.
SETTINGS = """\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
shared_buffers = 128MB
max_wal_size = 2GB
min_wal_size = 256MB
checkpoint_timeout = 15min
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
logging_collector = on
log_directory = '../log'
log_filename = 'postgres-%a.log'
log_rotation_age = 1d
log_rotation_size = 0
log_truncate_on_rotation = on
log_statement = none
log_error_verbosity = terse
"""
ACCESS = "host all greenroom 127.0.0.1/32 scram-sha-256\n"


@dataclass(frozen=True)
class Postmaster:
    pid: int
    port: int | None
    ready: bool


def find_postmaster(data: Path) -> Postmaster | None:
    """The running postmaster of a data folder, if its pid file and /proc agree."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    if not lines or not lines[0].isdigit() or not _works_in(int(lines[0]), data):
        return None
    port = int(lines[3]) if len(lines) > 3 else None
    return Postmaster(int(lines[0]), port, ready=len(lines) > 7 and lines[7].strip() == "ready")


def start_postmaster(layout: Layout) -> None:
    """Start the server unless it runs, and wait until it accepts connections."""
    for attempt in range(1, START_ATTEMPTS + 1):
        if _wait_until_settled(layout):
            return
        # Another program may take the port after we have checked it; then try again.
        complaint = _launch(layout)
        if complaint is None:
            return
        if attempt == START_ATTEMPTS:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL did not start: {complaint}\n"
                f"Its log is in {layout.log}; its data in {layout.data} is untouched."
            )


def _wait_until_settled(layout: Layout) -> bool:
    """Wait until the server is ready (true) or none of its processes is left (false).

    Backends outlive a killed postmaster for a moment; a server that another process started may
    still be recovering.
    """
    began = time.monotonic()
    while True:
        postmaster = find_postmaster(layout.data)
        if postmaster and postmaster.ready:
            return True
        processes = processes_in(layout.data)
        if not processes:
            return False
        waited_s = time.monotonic() - began
        if waited_s > START_TIMEOUT_S:
            raise EmbeddedPostgresError(
                f"PostgreSQL processes {processes} of {layout.data} neither serve nor exit. "
                f"See the log in {layout.log}, kill them, and start again."
            )
        if postmaster is None and waited_s > ORPHAN_PATIENCE_S:
            for orphan in processes:
                with suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGQUIT)
        time.sleep(POLL_S)


def processes_in(data: Path) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _works_in(pid, data)]


def _works_in(pid: int, data: Path) -> bool:
    """Whether this is a PostgreSQL process whose working directory is this data folder."""
    try:
        command = Path(f"/proc/{pid}/comm").read_text().strip()
        return command == "postgres" and Path(f"/proc/{pid}/cwd").samefile(data)
    except OSError:
        return False


def _launch(layout: Layout) -> str | None:
    """Start the server once. Returns its error output, or None if it started."""
    account = account_for(layout.data)
    _forget_stale_pid(layout.data)
    port = _choose_port(layout.port)
    write(layout.place / "postgresql.conf", f"{SETTINGS}port = {port}\n", mode=0o644)
    write(layout.place / "pg_hba.conf", ACCESS, mode=0o644)
    # Relative names, because pg_ctl passes them to a shell without escaping.
    started = account.run(
        programs_for(account, layout.shelter) / "pg_ctl",
        *("start", "-w", "-t", str(START_TIMEOUT_S), "-D", "data", "-l", "log/start.log"),
        *("-o", "-c config_file=postgresql.conf -c hba_file=pg_hba.conf"),
        cwd=layout.place,
        timeout_s=START_TIMEOUT_S + 30,
    )
    if started.returncode == 0:
        return None
    newest = max(layout.log.iterdir(), key=lambda log: log.stat().st_mtime, default=None)
    return last_lines(newest.read_text(errors="replace") if newest else started.stderr)


def _forget_stale_pid(data: Path) -> None:
    """Remove a pid file whose pid now belongs to another program.

    PostgreSQL would take any process with that pid for a running server and refuse to start. Called
    only when no PostgreSQL process uses the data folder.
    """
    pid = _first_number(data / "postmaster.pid")
    if pid and Path(f"/proc/{pid}").exists() and not _works_in(pid, data):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _choose_port(remembered: Path) -> int:
    """The previous port if it is free, so that the server's address stays the same."""
    port = _first_number(remembered)
    if port and _is_free(port):
        return port
    for port in secrets.SystemRandom().sample(PORTS, 100):
        if _is_free(port):
            write(remembered, f"{port}\n")
            return port
    raise EmbeddedPostgresError(
        "No free port on 127.0.0.1 was found. Stop programs that use many ports."
    )


def _first_number(path: Path) -> int | None:
    with suppress(FileNotFoundError, IndexError, ValueError):
        return int(path.read_text().split()[0])
    return None


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Like PostgreSQL: connections of the last run in TIME_WAIT do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def stop_postmaster(layout: Layout) -> None:
    # Checked here, because pg_ctl would signal any process that has the pid.
    if find_postmaster(layout.data) is None:
        return
    account = account_for(layout.data)
    stopped = account.run(
        programs_for(account, layout.shelter) / "pg_ctl",
        *("stop", "-m", "fast", "-D", "data", "-t", str(STOP_TIMEOUT_S)),
        cwd=layout.place,
        timeout_s=STOP_TIMEOUT_S + 30,
    )
    if stopped.returncode != 0 and find_postmaster(layout.data):
        raise EmbeddedPostgresError(
            f"The embedded PostgreSQL did not stop: {last_lines(stopped.stderr)}\n"
            f"Its log is in {layout.log}. Try `greenroom db stop` again."
        )
