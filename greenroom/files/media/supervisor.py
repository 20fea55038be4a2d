"""The process that has everything loaded and starts a process for each job.

It reads orders from its parent and nothing of any upload, so no file can harm a later one. Loading
the libraries and the classifier takes more time than most jobs; a fork of a loaded process takes
some milliseconds. Libraries may be loaded here but not used: libvips starts threads, and threads
do not survive a fork.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import msgspec

from greenroom.files.media.confinement import confine, die_with_parent, leave_network
from greenroom.files.media.wire import Answer, Ending, Hello, Order

ORDER_BYTES = 64 * 1024
# The upload, the folder of the job, and the pipe for the answer.
DESCRIPTORS = 3

Handle = Callable[[Order, int], Answer]


@dataclass(frozen=True, slots=True)
class RunningJob:
    pid: int
    answer: int
    deadline_s: float


class Supervisor:
    def __init__(self, orders: socket.socket, handle: Handle, programs: Collection[int]) -> None:
        """`programs` are open descriptors of what jobs may execute."""
        self._orders = orders
        self._handle = handle
        self._programs = programs
        self._jobs: dict[int, RunningJob] = {}
        self._late: set[int] = set()

    def run(self, hello: Hello) -> None:
        """Until the parent closes its end."""
        die_with_parent()
        leave_network()
        wake_reader, wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        self._orders.send(msgspec.json.encode(hello))
        try:
            while self._wait(wake_reader):
                self._kill_late()
                self._reap()
        finally:
            for job in self._jobs.values():
                _kill_group(job.pid)

    def _wait(self, wake_reader: int) -> bool:
        """Until something happens, and start what was ordered. False: the parent is gone."""
        poll = select.poll()
        poll.register(self._orders, select.POLLIN)
        poll.register(wake_reader, select.POLLIN)
        for job in self._jobs.values():
            # Nobody waits for this answer any more: the other end was closed.
            poll.register(job.answer, 0)
        ready = dict(poll.poll(self._timeout_ms()))
        for job in self._jobs.values():
            if ready.get(job.answer, 0) & select.POLLERR:
                _kill_group(job.pid)
        if wake_reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(wake_reader, 4096)
        return self._orders.fileno() not in ready or self._take_order()

    def _timeout_ms(self) -> int | None:
        if not self._jobs:
            return None
        first_s = min(job.deadline_s for job in self._jobs.values())
        return max(0, int((first_s - time.monotonic()) * 1000) + 1)

    def _take_order(self) -> bool:
        packet, descriptors, _, _ = socket.recv_fds(self._orders, ORDER_BYTES, DESCRIPTORS)
        if not packet:
            return False
        order = msgspec.json.decode(packet, type=Order)
        upload, folder, answer = descriptors
        pid = os.fork()
        if pid == 0:
            self._run_job(order, upload, folder, answer)
        os.close(upload)
        os.close(folder)
        deadline_s = time.monotonic() + order.limits.wall_s
        self._jobs[pid] = RunningJob(pid, answer, deadline_s)
        return True

    def _run_job(self, order: Order, upload: int, folder: int, answer: int) -> None:
        """In the process of the job. Never returns."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # The user of this process may not be able to read modules, so it always has none.
            sys.meta_path.clear()
            kept = {upload, answer}
            confine(order.limits, kept=kept, programs=self._programs, folder=folder)
            text = msgspec.json.encode(self._handle(order, upload))
            with open(answer, "wb", closefd=False) as stream:
                stream.write(text)
            os._exit(0)
        finally:
            os._exit(1)

    def _kill_late(self) -> None:
        now_s = time.monotonic()
        for job in self._jobs.values():
            if job.deadline_s <= now_s and job.pid not in self._late:
                self._late.add(job.pid)
                _kill_group(job.pid)

    def _reap(self) -> None:
        for job in list(self._jobs.values()):
            if os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            # What it has started goes with it, while its number cannot be another's yet.
            _kill_group(job.pid)
            _, status, usage = os.wait4(job.pid, 0)
            ending = Ending(
                exit_code=os.waitstatus_to_exitcode(status),
                is_late=job.pid in self._late,
                peak_rss_kb=usage.ru_maxrss,
            )
            del self._jobs[job.pid]
            self._late.discard(job.pid)
            with contextlib.suppress(OSError):
                os.write(job.answer, b"\n" + msgspec.json.encode(ending))
            os.close(job.answer)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    # It may not have made its group yet.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def orders_of_parent() -> socket.socket:
    """The socket that the parent has given as standard input."""
    orders = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if orders.family != socket.AF_UNIX:
        sys.exit("This program is started by the worker.")
    return orders
