"""Progress of a long load, on a terminal and in a log."""

import io

from greenroom.demo.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_that_ends_full() -> None:
    screen = Terminal()
    progress = Progress(1000, "messages", screen)
    progress.advance(250)
    assert screen.getvalue().startswith("\r███████░")
    progress.advance(750)
    assert screen.getvalue().endswith("█ 100% 1,000 of 1,000 messages\n")
    assert screen.getvalue().count("\n") == 1


def test_a_log_gets_a_line_per_tenth_at_most() -> None:
    log = io.StringIO()
    progress = Progress(1000, "messages", log)
    for _ in range(1000):
        progress.advance(1)
    lines = log.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1] == "100% 1,000 of 1,000 messages"
