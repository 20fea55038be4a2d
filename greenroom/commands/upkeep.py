"""Commands on stored data: check, users export and erase, threads hold and release, backup,
restore."""

import argparse
import json
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import msgspec

from greenroom.bootstrap import Rooms, database
from greenroom.conversations.upkeep import Fault, HeldError
from greenroom.doctor import MissingError
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import InvalidRequest, ThreadNotFound, UserNotFound
from greenroom.platform.backup import (
    BackupError,
    after_restore,
    check_backup,
    rows_by_table,
)
from greenroom.platform.backup import backup as write_backup
from greenroom.platform.backup import restore as replace_by_backup
from greenroom.platform.blobs.place import S3Place
from greenroom.platform.embedded.dynamodb.shared import EMBEDDED
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.platform.tokens.verifying import is_user_id
from greenroom.settings import Settings

FAULTS_LISTED = 1000
_UNUSABLE_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
REASON_CHARACTERS = 200


def check(args: argparse.Namespace, settings: Settings) -> int:
    counts: Counter[str] = Counter()
    listed: list[Fault] = []
    left = 0

    async def work(rooms: Rooms) -> None:
        nonlocal left
        with _line() as show:
            progress = _fraction(show)
            for faults in (
                rooms.upkeep.check(repair=args.repair, progress=progress),
                rooms.contract.upkeep.check(),
                rooms.files.upkeep.check(repair=args.repair),
                rooms.event_upkeep.check(),
            ):
                async with aclosing(faults):
                    async for fault in faults:
                        counts[fault.kind] += 1
                        left += not fault.is_mended
                        if len(listed) < FAULTS_LISTED:
                            listed.append(fault)

    _with_rooms(settings, work)
    if args.json:
        faults = [asdict(fault) for fault in listed]
        print(json.dumps({"faults": faults, "counts": counts, "left": left}, indent=2))
    else:
        _print_check(listed, counts, left)
    return 1 if left else 0


def _print_check(listed: list[Fault], counts: Counter[str], left: int) -> None:
    for fault in listed:
        where = " ".join(each for each in (fault.thread_id, fault.user_id) if each)
        mended = " (mended)" if fault.is_mended else ""
        print(f"{fault.kind}: {where}: {fault.found}, should be {fault.right}{mended}")
    total = counts.total()
    if not total:
        print("everything agrees")
        return
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    if left == total:
        print(f"{total} faults; `greenroom check --repair` corrects what it can")
    elif left:
        print(f"{total} faults, {left} of them cannot be mended here: restore from a backup")
    else:
        print(f"{total} faults, all mended")


def export_user(args: argparse.Namespace, settings: Settings) -> int:
    _check_user_id(args.user)
    counts: Counter[str] = Counter()
    if args.files is not None:
        _make_folder(args.files)

    async def work(rooms: Rooms) -> None:
        user = await rooms.accounts.find_user(args.user)
        with _output(args.out) as out, _line() as show:
            document = Document(out)
            profile = msgspec.to_builtins(user)
            for name in ("created_at", "updated_at"):
                profile[name] = rfc3339(profile[name])
            document.value("user", profile)
            preferences = await rooms.accounts.find_preferences(args.user)
            document.value("preferences", msgspec.to_builtins(preferences))
            parts = (
                rooms.upkeep.export(args.user),
                rooms.contract.upkeep.export(args.user),
                rooms.files.upkeep.export(args.user, args.files),
            )
            for part in parts:
                # Close it if writing fails: it holds a connection, and closing the pool waits.
                async with aclosing(part):
                    async for section, item in part:
                        document.item(section, item)
                        counts[section] += 1
                        if counts.total() % 1000 == 0:
                            show(f"{counts.total()} items")
            document.end()

    _with_rooms(settings, work, user=args.user)
    if args.out is not None:
        items = ", ".join(f"{count} {name}" for name, count in counts.items()) or "a profile only"
        print(f"{args.out}: {items}")
    return 0


class Document:
    """A JSON object that is written incrementally: single values, then lists, item by item."""

    SECTIONS = (
        *("threads", "messages", "earlier_versions", "blocks", "bookings", "cards"),
        *("payment_accounts", "files"),
    )

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._before = b"{\n"
        self._waiting = list(self.SECTIONS)
        self._items = 0

    def value(self, name: str, value: Any) -> None:
        self._out.write(self._before + _json(name) + b": " + _json(value))
        self._before = b",\n"

    def item(self, section: str, item: Any) -> None:
        while section in self._waiting:
            self._open(self._waiting.pop(0))
        self._out.write((b",\n  " if self._items else b"\n  ") + _json(item))
        self._items += 1

    def _open(self, section: str) -> None:
        self._out.write(self._before + _json(section) + b": [")
        self._before, self._items = b"],\n", 0

    def end(self) -> None:
        while self._waiting:
            self._open(self._waiting.pop(0))
        self._out.write(b"]\n}\n")


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def erase_user(args: argparse.Namespace, settings: Settings) -> int:
    _check_user_id(args.user)
    if not args.yes:
        raise InvalidRequest(
            f"this removes the profile, every message and every file of {args.user} for good; "
            "`greenroom users export` keeps a copy. Add --yes to do it."
        )
    messages = threads = files = 0

    async def work(rooms: Rooms) -> None:
        nonlocal messages, threads, files
        await rooms.upkeep.check_may_erase(args.user)
        await rooms.accounts.erase_user(args.user)
        await rooms.contract.upkeep.erase(args.user)
        files = await rooms.files.upkeep.erase(args.user)
        steps = rooms.upkeep.erase(args.user)
        with _line() as show:
            async with aclosing(steps):
                async for step in steps:
                    messages += step.messages
                    threads += step.threads
                    show(f"{messages} messages in {threads} threads")
        # Records of changes contain the last words of a thread until their events are collected.
        await rooms.collector.drain()

    try:
        _with_rooms(settings, work, user=args.user)
    except HeldError as error:
        done = f" {messages} messages had gone before it was set." if messages else ""
        raise MissingError(f"{error}{done}") from error
    seconds = settings.limits.known_user_s
    print(f"{args.user} is erased: {messages} messages in {threads} threads, {files} files")
    print(
        f"Running servers may accept their token for {seconds} s more; run this again after that "
        "to be sure. Earlier backups still contain the data."
    )
    return 0


def hold_thread(args: argparse.Namespace, settings: Settings) -> int:
    reason = " ".join(args.reason.split())
    if not 1 <= len(reason) <= REASON_CHARACTERS or not reason.isprintable():
        raise InvalidRequest(f"--reason takes 1 to {REASON_CHARACTERS} characters.")
    _with_rooms(settings, lambda rooms: rooms.upkeep.hold(args.thread, reason))
    print(f"{args.thread} is on legal hold; `greenroom threads release {args.thread}` ends it")
    return 0


def release_thread(args: argparse.Namespace, settings: Settings) -> int:
    _with_rooms(settings, lambda rooms: rooms.upkeep.release(args.thread))
    print(f"{args.thread} is not on hold; messages past their retention time will be deleted")
    return 0


def backup(args: argparse.Namespace, settings: Settings) -> int:
    with database(settings) as url, _line() as show, _explained(args.file):
        size = write_backup(url, args.file, progress=lambda done: show(f"{done:,} bytes"))
    print(f"{args.file}: {size:,} bytes")
    print(f"The secrets are not in it; keep {_secrets_of(settings)} apart.")
    print(f"It has which files there are, not their bytes: {_where_files_are(settings)}")
    if settings.conversations == "dynamodb":
        print(f"Nor are conversations: {_where_conversations_are(settings)}")
    return 0


def _secrets_of(settings: Settings) -> str:
    """Where the secrets are that sign tokens and the payment gateway's reports."""
    secrets = {
        "jwt-secret": settings.jwt_secret and "GREENROOM_JWT_SECRET",
        "payments-secret": settings.payments_secret and "GREENROOM_PAYMENTS_SECRET",
    }
    return " and ".join(given or str(settings.home / name) for name, given in secrets.items())


def restore(args: argparse.Namespace, settings: Settings) -> int:
    with _explained(args.file):
        check_backup(args.file)
        with database(settings) as url:
            there = run_until_sigterm(rows_by_table(url))
            if there and not args.yes:
                rows = ", ".join(f"{name} {count:,}" for name, count in there.items())
                raise BackupError(
                    f"The database is not empty ({rows}). Add --yes to replace all of it by the "
                    "backup; make a backup of it first. Nothing was changed."
                )
            with _line() as show:
                replace_by_backup(url, args.file, progress=lambda done: show(f"{done:,} bytes"))
            applied = run_until_sigterm(after_restore(url))
    for name in applied:
        print(f"migrated {name}")
    if settings.conversations == "dynamodb":
        print(f"restored {args.file}: people and keys. Conversations are as they were.")
        print(f"They are not in it: {_where_conversations_are(settings)}")
    else:
        print(f"restored {args.file}; every client will reload")
    print("Tokens need the secret of that time. People erased since are back: erase them again.")
    return 0


def _where_files_are(settings: Settings) -> str:
    """Where the bytes of files are, and how to keep them."""
    place = settings.blob_place
    if isinstance(place, S3Place):
        kept = f"they are in the bucket {place.bucket}; keep a copy of it, made after this."
    else:
        kept = f"they lie in {place}; copy that after this."
    return f"{kept} Once both are restored, `greenroom check` compares them."


def _where_conversations_are(settings: Settings) -> str:
    """Where conversations in DynamoDB are, and how to restore them."""
    if settings.dynamodb_endpoint == EMBEDDED:
        place = f"they lie in {settings.home / 'dynamodb'}; copy that while nothing runs."
    else:
        place = (
            f"they are in the table {settings.dynamodb_table} of DynamoDB, and its point-in-time "
            "recovery keeps every second of the last 35 days."
        )
    return f"{place} Once it is restored: `greenroom dynamodb new-epoch`, then restart the servers."


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    try:
        yield
    except BackupError as error:
        raise MissingError(str(error)) from error
    except _UNUSABLE_FILE as error:
        raise MissingError(f"{file}: {error.strerror}. Check the path.") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise InvalidRequest(f"--files takes a folder that can be made: {error}") from error


def _check_user_id(user_id: str) -> None:
    if not is_user_id(user_id):
        raise InvalidRequest("a user id has 1 to 64 characters of A-Z a-z 0-9 _ . : -")


def _with_rooms(
    settings: Settings, work: Callable[[Rooms], Any], *, user: str | None = None
) -> None:
    async def run(url: str) -> None:
        await migrate(url)
        async with Rooms(settings, url) as rooms:
            if user is not None:
                await rooms.accounts.find_user(user)
            await work(rooms)

    try:
        with database(settings) as url:
            run_until_sigterm(run(url))
    except (UserNotFound, ThreadNotFound) as problem:
        raise MissingError(f"{problem}. Check the id.") from problem


@contextmanager
def _output(file: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that appears only when complete, readable by its owner only."""
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _line() -> Iterator[Callable[[str], None]]:
    """A progress line that is overwritten, if the output is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _fraction(show: Callable[[str], None]) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        of = f" of {total:,}" if total else ""
        show(f"{done:,}{of} threads and people")

    return progress
