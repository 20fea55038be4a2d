"""Reads lines window by window and imports them: people first, then thread by thread.

What was imported before is found again, so an import that has died goes on when it is run again.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, TypeVar

from greenroom.conversations.history_store import (
    AT_ONCE,
    KNOWN,
    NEW,
    HistoryStore,
    PastMark,
    PastMessage,
)
from greenroom.conversations.importing.lines import (
    Line,
    MessageLine,
    ParticipantLine,
    PersonLine,
    Reader,
    ReadLine,
    Refused,
    ThreadLine,
    parse_line,
)
from greenroom.conversations.model import Role
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Problem, Unavailable
from greenroom.kernel.limits import Limits

DAY_MS = 24 * 60 * 60 * 1000

NO_THREAD = "there is no such thread: its line is missing, refused or comes later"

Numbered = tuple[int, bytes]
Refuse = Callable[[int, str], None]
"""Called with the number of a line and the reason for which it was refused."""
FindThread = Callable[[str], Awaitable[str | None]]
"""The id of the thread that was imported under a key."""
T = TypeVar("T")


class People(Protocol):
    async def missing(self, user_ids: Sequence[str]) -> list[str]:
        """Those of the ids that are not people here."""
        ...

    async def register(self, line: PersonLine) -> None:
        """Raises a Problem for values that are not taken."""
        ...


@dataclass(slots=True)
class Summary:
    lines: int = 0
    refused: int = 0
    past_retention: int = 0
    """Messages so old that the server deletes them soon, because it keeps none for so long."""
    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class _OfThread:
    """The lines of a window about one thread, in their order."""

    threads: list[tuple[int, ThreadLine]] = field(default_factory=list)
    participants: list[tuple[int, ParticipantLine]] = field(default_factory=list)
    messages: list[tuple[int, PastMessage]] = field(default_factory=list)
    marks: list[tuple[int, PastMark]] = field(default_factory=list)


class Importer:
    def __init__(
        self,
        history: HistoryStore,
        find_thread: FindThread,
        people: People,
        refuse: Refuse,
        *,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._history = history
        self._find_thread = find_thread
        self._people = people
        self._refuse_line = refuse
        self._reader = Reader(limits, clock())
        self._window = limits.import_window
        self._most_bytes = limits.import_line_bytes
        self._kept_from_ms = clock() - limits.message_kept_days * DAY_MS
        self.summary = Summary()

    async def run(
        self, lines: Iterable[Numbered], progress: Callable[[int], None] = lambda _: None
    ) -> Summary:
        for window in _windows(lines, self._window):
            parsed = list(self._parse(window))
            await self._import_people(parsed)
            for key, group in self._by_thread(parsed).items():
                await self._import_group(key, group)
            self.summary.lines += len(window)
            progress(self.summary.lines)
        return self.summary

    def _parse(self, window: Sequence[Numbered]) -> Iterator[tuple[int, Line]]:
        for number, text in window:
            if len(text) > self._most_bytes:
                self._refuse(number, f"the line has more than {self._most_bytes} bytes")
            elif text.strip():
                try:
                    yield number, parse_line(text)
                except Refused as refused:
                    self._refuse(number, str(refused))

    async def _import_people(self, parsed: Sequence[tuple[int, Line]]) -> None:
        people = [(number, line) for number, line in parsed if isinstance(line, PersonLine)]
        missing = set(await self._people.missing([line.id for _, line in people]))
        for number, line in people:
            if line.id not in missing:
                self.summary.known["person"] += 1
                continue
            try:
                await self._people.register(line)
            except Unavailable:
                raise
            except Problem as problem:
                self._refuse(number, str(problem))
                continue
            missing.discard(line.id)
            self.summary.new["person"] += 1

    def _by_thread(self, parsed: Sequence[tuple[int, Line]]) -> dict[str, _OfThread]:
        groups: dict[str, _OfThread] = {}
        for number, line in parsed:
            try:
                if isinstance(line, ThreadLine):
                    groups.setdefault(line.id, _OfThread()).threads.append((number, line))
                elif isinstance(line, ParticipantLine):
                    of = groups.setdefault(line.thread, _OfThread())
                    of.participants.append((number, line))
                elif isinstance(line, MessageLine):
                    message = self._reader.message(line)
                    self.summary.past_retention += message.created_at_ms < self._kept_from_ms
                    groups.setdefault(line.thread, _OfThread()).messages.append((number, message))
                elif isinstance(line, ReadLine):
                    mark = self._reader.mark(line)
                    groups.setdefault(line.thread, _OfThread()).marks.append((number, mark))
            except Refused as refused:
                self._refuse(number, str(refused))
        return groups

    async def _import_group(self, key: str, group: _OfThread) -> None:
        thread_id = None
        for number, line in group.threads:
            thread_id = await self._import_thread(number, line) or thread_id
        if thread_id is None:
            thread_id = await self._find_thread(key)
        if thread_id is None:
            for number, _ in [*group.participants, *group.messages, *group.marks]:
                self._refuse(number, NO_THREAD)
            return
        for number, joining in group.participants:
            await self._import_participant(number, thread_id, joining)
        for messages in _batches(group.messages):
            past = [message for _, message in messages]
            outcomes = await self._history.import_messages(thread_id, past)
            self._count("message", [number for number, _ in messages], outcomes)
        for marks in _batches(group.marks):
            outcomes = await self._history.import_marks(thread_id, [mark for _, mark in marks])
            self._count("read", [number for number, _ in marks], outcomes)

    async def _import_thread(self, number: int, line: ThreadLine) -> str | None:
        try:
            thread = self._reader.thread(line)
            await self._require(list(thread.draft.members))
            thread_id, is_new = await self._history.import_thread(thread)
        except (Refused, Problem) as refused:
            self._refuse_problem(number, refused)
            return None
        self._count("thread", [number], [NEW if is_new else KNOWN])
        return thread_id

    async def _import_participant(self, number: int, thread_id: str, line: ParticipantLine) -> None:
        try:
            joined_at_ms = self._reader.joined_at_ms(line)
            await self._require([line.user])
            outcome = await self._history.import_participant(
                thread_id, line.user, Role(line.role), joined_at_ms, has_left=line.left
            )
        except (Refused, Problem) as refused:
            self._refuse_problem(number, refused)
            return
        self._count("participant", [number], [outcome])

    async def _require(self, user_ids: list[str]) -> None:
        missing = await self._people.missing(user_ids)
        if missing:
            raise Refused(f"there is no person {missing[0]}: a person line has to come first")

    def _refuse_problem(self, number: int, refused: Exception) -> None:
        if isinstance(refused, Unavailable):
            raise refused
        self._refuse(number, str(refused))

    def _count(self, kind: str, numbers: Sequence[int], outcomes: Sequence[str]) -> None:
        for number, outcome in zip(numbers, outcomes, strict=True):
            if outcome == NEW:
                self.summary.new[kind] += 1
            elif outcome == KNOWN:
                self.summary.known[kind] += 1
            else:
                self._refuse(number, outcome)

    def _refuse(self, number: int, reason: str) -> None:
        self.summary.refused += 1
        self._refuse_line(number, reason)


def _windows(lines: Iterable[Numbered], size: int) -> Iterator[list[Numbered]]:
    rest = iter(lines)
    while window := list(islice(rest, size)):
        yield window


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]
