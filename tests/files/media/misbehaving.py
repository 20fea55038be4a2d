"""A media process whose jobs do what their upload says. Started by tests as a module."""

import ctypes
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

from greenroom.files.media.refusals import RefusalError
from greenroom.files.media.supervisor import Supervisor, orders_of_parent
from greenroom.files.media.wire import Answer, AnsweredRendition, Hello, Order


def handle(_order: Order, upload: int) -> Answer:
    command = os.read(upload, 100).decode()
    text = str(DEEDS[command]())
    return _ready(text)


def _ready(text: str, name: str = "preview.jpg") -> Answer:
    Path(name).write_bytes(b"\xff\xd8\xff" + text.encode())
    made = AnsweredRendition("preview", name, "image/jpeg", 1, 1)
    return Answer(state="ready", media="image", mime="image/jpeg", renditions=[made])


def _crash() -> None:
    ctypes.string_at(0)


def _hang() -> None:
    while True:
        time.sleep(60)


def _spin() -> None:
    while True:
        pass


def _hog() -> None:
    kept = []
    while True:
        kept.append(bytearray(16 * 1024**2))


def _fill_disk() -> None:
    with Path("preview.jpg").open("wb") as stream:
        while True:
            stream.write(bytes(1024**2))


def _leave_a_child() -> str:
    """A child that outlives its parent, if it is let."""
    pid = os.fork()
    if pid == 0:
        _hang()
    return str(pid)


def _attempt(deed: object) -> str:
    try:
        assert callable(deed)
        deed()
    except OSError as error:
        return type(error).__name__
    return "done"


def _kill_supervisor() -> str:
    return _attempt(lambda: os.kill(os.getppid(), signal.SIGKILL))


def _descriptors() -> str:
    """Of those that the tests' worker could have left open; not of this list itself."""
    opened = []
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        opened.append(number)
    return str(len(opened))


def _refuse() -> None:
    raise RefusalError("damaged")


DEEDS: dict[str, Callable[[], object]] = {
    "crash": _crash,
    "hang": _hang,
    "spin": _spin,
    "hog": _hog,
    "fill": _fill_disk,
    "child": _leave_a_child,
    "kill": _kill_supervisor,
    "exit": lambda: os._exit(0),
    "socket": lambda: _attempt(lambda: socket.socket(socket.AF_INET)),
    "environment": lambda: sorted(os.environ),
    "user": lambda: (os.getuid(), os.getgid(), os.getgroups()),
    "folder": lambda: sorted(each.name for each in Path().iterdir()),
    "descriptors": _descriptors,
    "passwd": lambda: _attempt(lambda: Path("/etc/shadow").read_bytes()),
    "read": lambda: _attempt(lambda: Path("/etc/hostname").read_bytes()),
    "list": lambda: _attempt(lambda: list(Path("/").iterdir())),
    "upload": lambda: _attempt(lambda: Path("../upload").write_bytes(b"changed")),
    "raise": _refuse,
    "nothing": lambda: "",
}

if __name__ == "__main__":
    hello = Hello(has_classifier=False, has_ffmpeg=False)
    Supervisor(orders_of_parent(), handle, set()).run(hello)
