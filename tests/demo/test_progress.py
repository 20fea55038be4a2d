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
    assert screen.getvalue().startswith("\r\x1b[K███████░")
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


class Watch:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_once_there_was_time_to_measure_a_rate_and_what_is_left_are_told() -> None:
    log, watch = io.StringIO(), Watch()
    progress = Progress(1000, "messages", log, timer=watch)
    for now_s, count in ((1, 100), (10, 100), (300, 400), (7200, 200), (7300, 200)):
        watch.now_s = now_s
        progress.advance(count)
    assert log.getvalue().splitlines() == [
        " 10% 100 of 1,000 messages",
        " 20% 200 of 1,000 messages, 20 per second, 40 s left",
        " 60% 600 of 1,000 messages, 2.0 per second, 3 min left",
        " 80% 800 of 1,000 messages, 0.1 per second, 30 min left",
        "100% 1,000 of 1,000 messages, 0.1 per second",
    ]


def test_what_was_there_before_says_nothing_about_the_rate() -> None:
    log, watch = io.StringIO(), Watch()
    progress = Progress(100_000, "messages", log, timer=watch)
    progress.skip(60_000)
    watch.now_s = 10_000
    progress.advance(10_000)
    assert log.getvalue() == " 70% 70,000 of 100,000 messages, 1.0 per second, 8.3 h left\n"


def test_what_is_soon_done_is_done_in_silence() -> None:
    log, watch = io.StringIO(), Watch()
    progress = Progress(100, "steps", log, quiet_s=2, timer=watch)
    progress.advance(50)
    assert log.getvalue() == ""
    watch.now_s = 2
    progress.advance(30)
    assert log.getvalue() == " 80% 80 of 100 steps, 40 per second, 0 s left\n"
