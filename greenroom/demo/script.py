"""Reads the sample's scripts in `scenes/`: one thread per file.

A file begins with `name: value` lines about the thread. Then come its steps, in order:

    -12 10:14 maya              what Maya says is indented below
    -12 10:31 theo replies 1    an answer to the scene's first message; also indented
    -12 10:32 theo sends wall steps   files of `media/album.py`; a caption is indented below
    -12 10:33 theo edits        the last message of his, as it reads afterwards
    -12 10:34 theo deletes      the last message of his
    -12 10:40 maya reads        up to the newest; also: stars, pins, archives
    -11 09:00 maya adds ada as host

Steps about bookings and cards have JSON below them. A line that begins with `*` is a call of the
backend:

    * -11 15:00 books           a booking that is proposed and confirmed: `currency` and `legs`
    * -10 09:00 documents       one to be signed: `title`, `url`, `bytes` and `signers`
    -5 10:00 theo cards extras  a card of this type, with its payload
    -4 09:12 maya accepts 1     the scene's first card, with the action's input if it takes one;
                                other verbs are in `ACTIONS`; what a counter makes has no number
    -3 17:00 theo uploads proof wall steps   files for a card, by the purpose of their upload
    -3 18:00 theo lists         a manifest: `items`, each with `name`, `bytes` and `url`

A step's day counts from the sample's last day, which is 0; its time is the local one of whoever
opened the thread. In a text `{+9}` is a date, nine days after the last day, and `{+9s}` is short.
In JSON `{+9d}` is that date and `{+9T10:30}` a time, where the scene takes place; `{leg1}`,
`{man1}` and `{doc1}` are ids of the scene's first leg, manifest and document, `{doc1.sha256}` is
what its signers have seen, and `{fil:wall}` is the id of an uploaded file.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from greenroom.demo.people import PEOPLE

_STEP = re.compile(r"(?P<who>\* )?(?P<day>0|-\d+) (?P<hour>\d\d):(?P<minute>\d\d) (?P<rest>\S.*)")
_DATE = re.compile(r"\{([+-]\d+)(s|d|T\d\d:\d\d)?\}")

ACTIONS = {
    "accepts": "accept",
    "approves": "approve",
    "confirms": "confirm",
    "counters": "counter",
    "declines": "decline",
    "requests_revision": "request_revision",
    "signs": "sign",
    "stops": "stop",
}
"""What people do with cards, by the verb that says so."""

BACKEND_VERBS = ("books", "documents")
CONTRACT_VERBS = (*BACKEND_VERBS, "cards", "lists", "uploads", *ACTIONS)

_WITH_TEXT = ("says", "replies", "edits")
_WITH_JSON = ("books", "documents", "cards", "lists")
_VERBS = (
    *(*_WITH_TEXT, *CONTRACT_VERBS, "sends"),
    *("deletes", "reads", "stars", "pins", "archives", "adds"),
)


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

    @property
    def place(self) -> ZoneInfo:
        """The time zone of the scene's city, if one of the sample's people lives there."""
        zones = {person.city: person.timezone for person in PEOPLE.values()}
        return ZoneInfo(zones.get(self.city, PEOPLE[self.opener].timezone))


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
    if verb not in _VERBS or (who is None) != (verb in BACKEND_VERBS):
        raise ValueError(f"unknown verb in a scene: {heading!r}")
    _check_below(heading, verb, text)
    at = time(int(match["hour"]), int(match["minute"]))
    return Step(int(match["day"]), at, who, verb, args, text)


def _check_below(heading: str, verb: str, text: str) -> None:
    needs_text = verb in (*_WITH_TEXT, *_WITH_JSON)
    if bool(text) != needs_text and verb not in (*ACTIONS, "sends"):
        raise ValueError(f"the text of a message must be indented below its step: {heading!r}")
    if text and verb in CONTRACT_VERBS and not isinstance(json.loads(text), dict):
        raise ValueError(f"a JSON object must be indented below: {heading!r}")


def moment_ms(scene: Scene, step: Step, last_day: date) -> int:
    local = datetime.combine(last_day + timedelta(days=step.day), step.at, scene.zone)
    return int(local.timestamp()) * 1000


def latest_day(now_ms: int) -> date:
    """The newest last day for which all steps of the sample are in the past."""
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    minute_ms = 60_000
    newest = max(moment_ms(scene, step, today) for scene in scenes() for step in scene.steps)
    return today if newest + minute_ms <= now_ms else today - timedelta(days=1)


def with_dates(text: str, last_day: date, zone: ZoneInfo) -> str:
    """The text with each `{+9}` replaced by that date."""

    def written(match: re.Match[str]) -> str:
        day, form = last_day + timedelta(days=int(match[1])), match[2] or ""
        weekday, month = f"{day:%A}", f"{day:%B}"
        if form == "d":
            return day.isoformat()
        if form.startswith("T"):
            return datetime.combine(day, time.fromisoformat(form[1:]), zone).isoformat()
        return f"{weekday[:3]} {day.day} {month[:3]}" if form else f"{weekday} {day.day} {month}"

    return _DATE.sub(written, text)
