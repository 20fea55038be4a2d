"""`make test-clock`: runs the tests that depend on time at other hours, days, years and zones.

Every program that they start sees the shifted clock: Python, PostgreSQL, node and Chromium
(tests/browser/test_one_clock.py checks that). Only the embedded DynamoDB, which is linked
statically, sees the real clock. That does not matter, because the server writes all times of its
items and ignores expired ones before the engine removes them.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

LIBRARY = Path(__file__).with_name("clock_shift.c")
COMPILER = "cc"

PARTS = (
    "tests/browser/test_one_clock.py",
    "tests/browser/test_accessibility.py",
    "tests/browser/test_cards.py",
    "tests/web/test_app_unit.py",
    "tests/web/test_sdk_unit.py",
    "tests/demo/test_walk.py",
    "tests/demo/test_host_page.py",
    "tests/bookings/test_calendar.py",
    "tests/bookings/charging/test_timers.py",
    "tests/worker/test_tasks.py",
    "tests/bookings/money/test_http_provider.py",
    "tests/platform/tokens/test_token_page.py",
    "tests/stores/test_repeats_over_http.py",
)
"""The tests that read the clock or the zone of the machine or of PostgreSQL: servers, pages in the
browser, background work. All other tests inject a clock."""


@dataclass(frozen=True, slots=True)
class Moment:
    name: str
    at: datetime
    zone: str = "UTC"

    def __str__(self) -> str:
        return f"{self.name:22} {self.at:%Y-%m-%d %H:%M} UTC, TZ={self.zone}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.moments", description=__doc__)
    text = "one of those that `--list` names, or a time: 2031-03-01T09:59Z, …Z@Asia/Tokyo"
    parser.add_argument("--moment", metavar="MOMENT", help=text)
    parser.add_argument("--list", action="store_true", help="list the moments")
    parser.add_argument("tests", nargs="*", default=PARTS, help="instead of the chosen ones")
    args = parser.parse_args()
    moments = list(_chosen(args.moment, datetime.now(UTC)))
    if args.list:
        print(*moments, sep="\n")
        return 0
    _find_compiler()
    results = []
    for number, moment in enumerate(moments, 1):
        print(f"\n{number} of {len(moments)}: {moment}", flush=True)
        results.append((moment, _run(moment, args.tests)))
    print()
    for moment, result in results:
        print(f"{'ok    ' if result.is_fine else 'FAILED'} {moment}: {result.summary}")
    return 0 if all(result.is_fine for _, result in results) else 1


def _chosen(wanted: str | None, now: datetime) -> Iterator[Moment]:
    moments = list(every_moment(now))
    named = [each for each in moments if wanted in (None, each.name)]
    if named or wanted is None:
        yield from named
        return
    at, _, zone = wanted.partition("@")
    try:
        moment = datetime.fromisoformat(at)
        ZoneInfo(zone or "UTC")
    except (ValueError, OSError):
        moment = None
    if moment is None or moment.tzinfo is None:
        names = ", ".join(each.name for each in moments)
        sys.exit(f"{wanted} is no moment. Take a time such as 2031-03-01T09:59Z, or: {names}.")
    yield Moment("given", moment.astimezone(UTC), zone or "UTC")


def every_moment(now: datetime) -> Iterator[Moment]:
    """Each moment is in the future: a database's clock must not go back."""
    for hour, minute in ((0, 1), (3, 0), (9, 59), (12, 0), (23, 59)):
        at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        yield Moment(f"{hour:02}:{minute:02}", at if at > now else at + timedelta(days=1))
    yield Moment("29-february", _next_day(now, 2, 29).replace(hour=12))
    yield Moment("31-december", _next_day(now, 12, 31).replace(hour=23, minute=58))
    for zone in ("Europe/Berlin", "America/Los_Angeles"):
        for name, at in _changes(now, ZoneInfo(zone)):
            yield Moment(f"{_city(zone)}-{name}", at, zone)
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        yield Moment(_city(zone), now, zone)
    yield Moment("in-five-years", now + timedelta(days=5 * 365))


def _city(zone: str) -> str:
    return zone.partition("/")[2].lower().replace("_", "-")


def _next_day(now: datetime, month: int, day: int) -> datetime:
    at = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    while (at.month, at.day) != (month, day):
        at += timedelta(days=1)
    return at


def _changes(now: datetime, zone: ZoneInfo) -> Iterator[tuple[str, datetime]]:
    """Two minutes before the next changes to and from daylight saving time."""
    hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    names: set[str] = set()
    while len(names) < 2:
        before, hour = hour, hour + timedelta(hours=1)
        change = _offset(hour, zone) - _offset(before, zone)
        if change:
            name = "forward" if change > timedelta(0) else "back"
            names.add(name)
            yield name, hour - timedelta(minutes=2)


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)


@dataclass(frozen=True, slots=True)
class Result:
    is_fine: bool
    summary: str


def _run(moment: Moment, tests: Sequence[str]) -> Result:
    # PostgreSQL runs as another user and needs access to the folder.
    with tempfile.TemporaryDirectory(prefix="greenroom-clock-") as folder:
        Path(folder).chmod(0o755)
        library = _build(Path(folder), moment.at)
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", *tests],
            env={**os.environ, "LD_PRELOAD": str(library), "TZ": moment.zone},
            stdout=subprocess.PIPE,
            text=True,
        )
        summary = _show(process)
        process.wait()
    return Result(process.returncode == 0, summary)


def _build(folder: Path, at: datetime) -> Path:
    shift_s = round((at - datetime.now(UTC)).total_seconds())
    library = folder / "clock.so"
    options = ("-O2", "-Wall", "-Wextra", "-shared", "-fPIC", f"-DSHIFT_S={shift_s}")
    subprocess.run([COMPILER, *options, "-o", library, LIBRARY], check=True)
    return library


def _show(process: "subprocess.Popen[str]") -> str:
    """Prints pytest's output and returns its last line, the summary."""
    assert process.stdout is not None  # noqa: S101 (it was asked for)
    summary = "no test was run"
    for line in process.stdout:
        print(line, end="", flush=True)
        found = re.search(r"\d+ (?:passed|failed|error|skipped).* in \S+", line)
        summary = found[0] if found else summary
    return summary


def _find_compiler() -> None:
    """Install a C compiler from Debian if there is none."""
    if shutil.which(COMPILER) is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print("installing a C compiler (once)", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "gcc", "libc6-dev"]
        for command in (install, ["apt-get", "update", "-qq"], install):
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if shutil.which(COMPILER) is None:
        sys.exit("There is no C compiler `cc`, which shifts the clock: install gcc and libc6-dev.")


if __name__ == "__main__":
    sys.exit(main())
