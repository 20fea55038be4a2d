"""Keeps N worker processes running on one listening socket. It handles no requests itself.

One thread waits for signals: the end of a child (SIGCHLD), the order to stop, or the time at which
a dead worker may be started again.
"""

import contextlib
import fcntl
import logging
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from greenroom.platform.metrics import MULTIPROCESS_VARIABLE

log = logging.getLogger("greenroom.supervisor")

PARENT_PIPE_VARIABLE = "GREENROOM_PARENT_PIPE_FD"

RESTART_FIRST_S = 0.5
RESTART_MOST_S = 30.0
# A worker that ran this long was healthy, so its end does not count as a quick end.
HEALTHY_S = 60.0
METRICS_PREFIX = "greenroom-metrics-"
METRICS_LOCK = "supervisor.lock"
# After its own grace period uvicorn needs time to cancel tasks and run the shutdown.
KILL_AFTER_GRACE_S = 10.0

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(slots=True)
class Worker:
    """A slot for one worker process."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    start_at_s: float = 0.0
    quick_ends: int = 0

    def end(self, now_s: float) -> float:
        """Record that the process has ended. Returns the seconds until the next may start."""
        self.process = None
        self.quick_ends = 0 if now_s - self.started_s >= HEALTHY_S else self.quick_ends + 1
        delay_s = restart_delay_s(self.quick_ends)
        self.start_at_s = now_s + delay_s
        return delay_s


def restart_delay_s(quick_ends: int) -> float:
    if quick_ends <= 1:
        return 0.0
    return float(min(RESTART_MOST_S, RESTART_FIRST_S * 2 ** min(quick_ends - 2, 10)))


class Supervisor:
    def __init__(
        self,
        argv_for_worker: Callable[[int], Sequence[str]],
        listener: socket.socket,
        *,
        workers: int,
        grace_s: float,
        takes_hangup: bool = False,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._argv_for_worker = argv_for_worker
        self._listener = listener
        self._workers = [Worker(number) for number in range(workers)]
        self._kill_after_s = grace_s + KILL_AFTER_GRACE_S
        self._takes_hangup = takes_hangup
        self._clock_s = clock_s
        self._stop_orders = 0
        self._kill_at_s: float | None = None
        self._killed = False

    def run(self) -> int:
        """Returns when every worker has ended: 0, or 1 if one had to be killed."""
        handlers = dict.fromkeys(_STOP_SIGNALS, self._order_stop)
        if self._takes_hangup:
            handlers[signal.SIGHUP] = lambda: self._signal_all(signal.SIGHUP)
        with _wakeups(handlers) as wakeup, _pipe() as parent_pipe, _metrics_dir() as folder:
            while not self._finished():
                self._reap(folder)
                if self._stop_orders:
                    self._stop()
                else:
                    self._start_due(parent_pipe, folder)
                if not self._finished():
                    select.select([wakeup], [], [], self._wait_s())
                    _drain(wakeup)
        return 1 if self._killed else 0

    def _order_stop(self) -> None:
        self._stop_orders += 1

    def _finished(self) -> bool:
        return self._stop_orders > 0 and all(each.process is None for each in self._workers)

    def _reap(self, metrics_dir: str) -> None:
        for worker in self._workers:
            process = worker.process
            if process is None or process.poll() is None:
                continue
            mark_process_dead(process.pid, metrics_dir)  # type: ignore[no-untyped-call]
            delay_s = worker.end(self._clock_s())
            if not self._stop_orders:
                log.error(
                    "a worker ended and is started again",
                    extra={
                        "worker": worker.number,
                        "exit_code": process.returncode,
                        "delay_s": delay_s,
                    },
                )

    def _start_due(self, parent_pipe: int, metrics_dir: str) -> None:
        now_s = self._clock_s()
        for worker in self._workers:
            if worker.process is None and worker.start_at_s <= now_s:
                worker.started_s = now_s
                worker.process = self._spawn(parent_pipe, metrics_dir)

    def _spawn(self, parent_pipe: int, metrics_dir: str) -> subprocess.Popen[bytes]:
        listener = self._listener.fileno()
        return subprocess.Popen(
            self._argv_for_worker(listener),
            pass_fds=(listener, parent_pipe),
            env=_environment(os.environ, parent_pipe, metrics_dir),
            # Ctrl-C goes to the whole terminal session; workers get one signal, from this process.
            start_new_session=True,
        )

    def _stop(self) -> None:
        now_s = self._clock_s()
        if self._kill_at_s is None:
            self._kill_at_s = now_s + self._kill_after_s
            # The workers still hold the socket; it closes with the last of them.
            self._listener.close()
            self._signal_all(signal.SIGTERM)
        elif self._stop_orders > 1 or now_s >= self._kill_at_s:
            self._killed = True
            self._signal_all(signal.SIGKILL)

    def _signal_all(self, which: signal.Signals) -> None:
        for worker in self._workers:
            if worker.process is not None:
                worker.process.send_signal(which)

    def _wait_s(self) -> float | None:
        """Seconds until the next timeout (a restart or a kill); None when there is none."""
        now_s = self._clock_s()
        if self._kill_at_s is not None:
            return None if self._killed else max(0.0, self._kill_at_s - now_s)
        due = [each.start_at_s for each in self._workers if each.process is None]
        return max(0.0, min(due) - now_s) if due else None


def _environment(base: Mapping[str, str], parent_pipe: int, metrics_dir: str) -> dict[str, str]:
    return {
        **base,
        PARENT_PIPE_VARIABLE: str(parent_pipe),
        MULTIPROCESS_VARIABLE: metrics_dir,
    }


@contextlib.contextmanager
def _wakeups(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[int]:
    """A descriptor that becomes readable with each signal, so that `select` misses none."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    handlers = {**handlers, signal.SIGCHLD: lambda: None}
    before = {which: signal.signal(which, _calling(handlers[which])) for which in handlers}
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(previous)
        for each, handler in before.items():
            signal.signal(each, handler)
        os.close(reader)
        os.close(writer)


def _calling(handler: Callable[[], None]) -> Callable[..., None]:
    return lambda *_: handler()


def _drain(wakeup: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(wakeup, 4096):
            pass


@contextlib.contextmanager
def _pipe() -> Iterator[int]:
    """A pipe that nobody writes to. Workers see its end close when this process is gone."""
    reader, writer = os.pipe()
    try:
        yield reader
    finally:
        os.close(reader)
        os.close(writer)


@contextlib.contextmanager
def _metrics_dir() -> Iterator[str]:
    given = os.environ.get(MULTIPROCESS_VARIABLE)
    if given:
        yield given
        return
    _remove_abandoned_metrics()
    folder = tempfile.mkdtemp(prefix=METRICS_PREFIX)
    with _lock_in(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned_metrics() -> None:
    """Remove the folders of supervisors that were killed: nobody holds their lock any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{METRICS_PREFIX}*"):
        if not (folder / METRICS_LOCK).exists():
            continue
        with contextlib.suppress(OSError), _lock_in(str(folder)):
            shutil.rmtree(folder)


@contextlib.contextmanager
def _lock_in(folder: str) -> Iterator[None]:
    """Raises BlockingIOError if another process holds it. The kernel drops it with the process."""
    with Path(folder, METRICS_LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
