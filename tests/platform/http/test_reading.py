"""The server waits for slow readers, and closes connections of clients that do not read at all."""

from collections.abc import Callable
from typing import Any

from greenroom.platform.http.uvicorn_internals.flow_control import ReaderWatch


class Loop:
    """Holds the one call that is due later."""

    def __init__(self) -> None:
        self.due: Callable[[], None] | None = None

    def call_later(self, _delay_s: float, call: Callable[[], None]) -> "Loop":
        self.due = call
        return self

    def cancel(self) -> None:
        self.due = None

    def pass_time(self) -> None:
        due, self.due = self.due, None
        assert due is not None
        due()


class Transport:
    def __init__(self, unread_bytes: int) -> None:
        self.unread_bytes = unread_bytes
        self.is_aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes

    def abort(self) -> None:
        self.is_aborted = True


def watch(transport: Any, loop: Any) -> ReaderWatch:
    return ReaderWatch(transport, loop, patience_s=20)


def test_a_client_that_reads_a_little_each_time_is_waited_for() -> None:
    transport, loop = Transport(3), Loop()
    watch(transport, loop).start()
    for left in (2, 1, 0):
        transport.unread_bytes = left
        loop.pass_time()
    assert not transport.is_aborted
    assert loop.due is None


def test_a_client_that_reads_nothing_loses_the_connection() -> None:
    transport, loop = Transport(3), Loop()
    watch(transport, loop).start()
    transport.unread_bytes = 2
    loop.pass_time()
    loop.pass_time()
    assert transport.is_aborted


def test_nothing_is_watched_when_everything_was_read_or_the_client_reads_again() -> None:
    transport, loop = Transport(0), Loop()
    watching = watch(transport, loop)
    watching.start()
    assert loop.due is None
    transport.unread_bytes = 1
    watching.start()
    watching.stop()
    assert loop.due is None
