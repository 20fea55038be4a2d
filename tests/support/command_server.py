"""A process that has loaded the product, and forks one more for each command that tests ask for.

Loading the product takes more processor time than most commands and many servers need afterwards,
and tests start hundreds of them. What is forked here is a process like any other: it has its own
environment, output, signals and exit code, and can be killed.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import greenroom.commands
from greenroom.cli import main
from greenroom.demo import sample
from greenroom.demo.media.album import FILES
from tests.support.remembered_media import RememberedMedia, remembered_files

MAX_ORDER_BYTES = 1 << 17


def serve(control: socket.socket) -> list[str]:
    """Returns only in a process that was forked for a command, with the command's arguments."""
    while True:
        order, fds, _, _ = socket.recv_fds(control, MAX_ORDER_BYTES, 4)
        _reap()
        if not order:
            control.close()
            sys.exit(0)
        if os.fork() == 0:
            control.close()
            return _keep(json.loads(order), *fds)
        for each in fds:
            os.close(each)


def _reap() -> None:
    """Takes note of keepers that have ended, so that their processor time counts as ours."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(order: dict[str, Any], status: int, *outputs: int) -> list[str]:
    """Forks once more, tells who that is, waits for its end and tells how it ended."""
    pid = os.fork()
    if pid != 0:
        _watch(pid, status, outputs)
    os.close(status)
    return _become(order, *outputs)


def _watch(pid: int, status: int, outputs: Sequence[int]) -> NoReturn:
    for each in (0, 1, 2, *outputs):
        os.close(each)
    os.write(status, f"{pid}\n".encode())
    _, how = os.waitpid(pid, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(how)}\n".encode())
    os._exit(0)


def _become(order: dict[str, Any], *outputs: int) -> list[str]:
    for number, output in enumerate(outputs):
        os.dup2(output, number)
        os.close(output)
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    os.chdir(order["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments: list[str] = order["arguments"]
    return arguments


def load() -> None:
    """All that any command would load."""
    for each in pkgutil.iter_modules(greenroom.commands.__path__, "greenroom.commands."):
        importlib.import_module(each.name)
    importlib.import_module("greenroom.bootstrap")
    importlib.import_module("greenroom.server")
    # Tests load the sample in many processes, and most of that is drawing and making its files.
    FILES.update(remembered_files())
    setattr(sample, "MediaProcess", RememberedMedia)  # noqa: B010 (of another type)
    # Forked processes share this memory for as long as nobody writes to it.
    gc.freeze()


if __name__ == "__main__":
    load()
    sys.exit(main(serve(socket.socket(fileno=int(sys.argv[1])))))
