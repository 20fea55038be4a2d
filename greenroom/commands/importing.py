"""`greenroom import`: history of another system."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from greenroom.accounts.actions import Accounts
from greenroom.accounts.model import UserChanges, check_changes
from greenroom.bootstrap import Rooms, database
from greenroom.commands.failures import UsageError
from greenroom.conversations.importing.converters import CONVERTERS, converted
from greenroom.conversations.importing.dry_run import DryHistory, DryPeople
from greenroom.conversations.importing.importer import Importer, Numbered, Refuse, Summary
from greenroom.conversations.importing.lines import PersonLine
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings

REFUSALS_SHOWN = 20


def import_history(args: argparse.Namespace, settings: Settings) -> int:
    if not args.file.is_file():
        raise UsageError(f"there is no file {args.file}")
    with database(settings) as url, _report(args.report) as report:

        async def work() -> Summary:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                importer = _importer(rooms, report.refuse, is_dry=args.dry_run)
                with args.file.open("rb") as file:
                    lines = _lines(file, args.source, settings.limits.import_line_bytes)
                    return await importer.run(lines, _progress)

        summary = run_until_sigterm(work())
    _show(args, summary, report)
    return 1 if summary.refused else 0


def _importer(rooms: Rooms, refuse: Refuse, *, is_dry: bool) -> Importer:
    people = _People(rooms.accounts)
    clock, limits = rooms.clock, rooms.settings.limits
    if is_dry:
        dry = DryHistory(rooms.store.thread_by_key)
        dry_people = DryPeople(people, _check)
        return Importer(dry, dry.find, dry_people, refuse, clock=clock, limits=limits)

    async def find(key: str) -> str | None:
        found = await rooms.store.thread_by_key(key)
        return None if found is None else found.id

    return Importer(rooms.history, find, people, refuse, clock=clock, limits=limits)


class _People:
    """Registers people in their own room."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def missing(self, user_ids: Sequence[str]) -> list[str]:
        return await self._accounts.gone(user_ids) if user_ids else []

    async def register(self, line: PersonLine) -> None:
        await self._accounts.put_user(line.id, _changes(line))


def _changes(line: PersonLine) -> UserChanges:
    return UserChanges(
        display_name=line.display_name,
        avatar_url=line.avatar_url,
        roles=line.roles,
        timezone=line.timezone,
        locale=line.locale,
        verified=line.verified,
    )


def _check(line: PersonLine) -> None:
    check_changes(_changes(line))


def _lines(file: IO[bytes], source: str | None, most_bytes: int) -> Iterator[Numbered]:
    if source is None:
        return _own_lines(file, most_bytes)
    return converted(file, CONVERTERS[source])


def _own_lines(file: IO[bytes], most_bytes: int) -> Iterator[Numbered]:
    """The lines with their numbers. Of a line that is too long only the beginning is read, which is
    one byte more than the importer takes."""
    number = 0
    while text := file.readline(most_bytes + 1):
        number += 1
        end = text
        while len(end) > most_bytes and not end.endswith(b"\n"):
            end = file.readline(most_bytes + 1)
        yield number, text


class _Report:
    """Refused lines: all of them in a file, the first ones for the terminal."""

    def __init__(self, out: IO[str] | None) -> None:
        self._out = out
        self.first: list[tuple[int, str]] = []

    def refuse(self, number: int, reason: str) -> None:
        if len(self.first) < REFUSALS_SHOWN:
            self.first.append((number, reason))
        if self._out is not None:
            print(json.dumps({"line": number, "reason": reason}), file=self._out)


@contextmanager
def _report(path: Path | None) -> Iterator[_Report]:
    if path is None:
        yield _Report(None)
        return
    with path.open("w") as out:
        yield _Report(out)


def _progress(lines: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{lines} lines", end="", file=sys.stderr, flush=True)


def _show(args: argparse.Namespace, summary: Summary, report: _Report) -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if args.json:
        refusals = [{"line": number, "reason": reason} for number, reason in report.first]
        totals = {"lines": summary.lines, "refused": summary.refused, "refusals": refusals}
        totals["past_retention"] = summary.past_retention
        by_kind = {"new": summary.new, "known": summary.known}
        print(json.dumps({**totals, **by_kind}, indent=2))
        return
    for number, reason in report.first:
        print(f"line {number}: {reason}")
    if summary.refused > len(report.first):
        print(f"… and {summary.refused - len(report.first)} more; --report FILE has them all")
    for title, counts in (("new", summary.new), ("known before", summary.known)):
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        print(f"{title}: {listed or 'nothing'}")
    if summary.past_retention:
        print(
            f"{summary.past_retention} messages are older than the server keeps messages, which "
            "deletes them soon. To keep them, set GREENROOM_LIMIT_MESSAGE_KEPT_DAYS for the server "
            "before you import.",
            file=sys.stderr,
        )
    done = "checked" if args.dry_run else "read"
    print(f"{summary.lines} lines {done}, {summary.refused} refused")
