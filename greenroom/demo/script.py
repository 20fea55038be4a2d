"""The sample's conversations as they stand in `scenes/`: plain scripts, one thread per file.

A file begins with `name: value` lines about the thread. Then come its steps, in order:

    -12 10:14 maya              what Maya says is indented below
    -12 10:31 theo replies 1    an answer to the scene's first message; also indented
    -12 10:33 theo edits        the last message of his, as it reads afterwards
    -12 10:34 theo deletes      the last message of his
    -12 10:40 maya reads        up to the newest; also: stars, pins, archives
    -11 09:00 maya adds ada as host
    * -11 15:00 books leg_1     the marketplace's backend makes a project of it

A step's day counts from the sample's last day, which is 0; its time is the local one of whoever
opened the thread. In a text `{+9}` is a date, nine days after the last day, and `{+9s}` is short.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from greenroom.demo.people import PEOPLE

_STEP = re.compile(r"(?P<who>\* )?(?P<day>0|-\d+) (?P<hour>\d\d):(?P<minute>\d\d) (?P<rest>\S.*)")
_DATE = re.compile(r"\{([+-]\d+)(s?)\}")
_SAYING = ("says", "replies", "edits")


@dataclass(frozen=True, slots=True)
class Step:
    day: int
    at: time
    who: str | None
    """None: the marketplace's backend."""
    verb: str
    args: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    key: str
    subject: str
    kind: str
    opener: str
    to: str
    role_context: str
    city: str
    steps: tuple[Step, ...]

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(PEOPLE[self.opener].timezone)


@cache
def scenes() -> tuple[Scene, ...]:
    folder = resources.files("greenroom.demo") / "scenes"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return tuple(
        parse_scene(file.name.removesuffix(".txt"), file.read_text("utf-8"))
        for file in files
        if file.name.endswith(".txt")
    )


def parse_scene(key: str, text: str) -> Scene:
    head, _, play = text.partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return Scene(
        key,
        subject=fields["subject"],
        kind=fields["kind"],
        opener=fields["from"],
        to=fields["to"],
        role_context=fields["role_context"],
        city=fields["city"],
        steps=tuple(_steps(play)),
    )


def _steps(play: str) -> Iterator[Step]:
    blocks: list[list[str]] = []
    for line in play.splitlines():
        if line and not line.startswith(" "):
            blocks.append([])
        blocks[-1].append(line)
    for heading, *lines in blocks:
        yield _step(heading, "\n".join(line.removeprefix("    ") for line in lines).strip())


def _step(heading: str, text: str) -> Step:
    match = _STEP.fullmatch(heading)
    if match is None:
        raise ValueError(f"not a step of a scene: {heading!r}")
    words = match["rest"].split()
    who = None if match["who"] else words.pop(0)
    verb, args = (words[0], tuple(words[1:])) if words else ("says", ())
    if bool(text) != (verb in _SAYING):
        raise ValueError(f"what is said stands indented below its step: {heading!r}")
    at = time(int(match["hour"]), int(match["minute"]))
    return Step(int(match["day"]), at, who, verb, args, text)


def moment_ms(scene: Scene, step: Step, last_day: date) -> int:
    local = datetime.combine(last_day + timedelta(days=step.day), step.at, scene.zone)
    return int(local.timestamp()) * 1000


def latest_day(now_ms: int) -> date:
    """The newest last day on which everything has already happened."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    minute_ms = 60_000
    newest = max(moment_ms(scene, step, today) for scene in scenes() for step in scene.steps)
    return today if newest + minute_ms <= now_ms else today - timedelta(days=1)


def with_dates(text: str, last_day: date) -> str:
    """The text with each `{+9}` as a date that can be read on the day it names."""

    def written(match: re.Match[str]) -> str:
        day = last_day + timedelta(days=int(match[1]))
        weekday, month = f"{day:%A}", f"{day:%B}"
        return (
            f"{weekday[:3]} {day.day} {month[:3]}" if match[2] else f"{weekday} {day.day} {month}"
        )

    return _DATE.sub(written, text)
