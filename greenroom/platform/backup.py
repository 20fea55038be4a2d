"""Backs up the whole database to one file and restores it, with pg_dump, pg_restore and psql.

A backup is one snapshot, so it is consistent while servers write. A restore is one transaction: it
replaces everything or nothing. It also gives the feeds a new epoch, so that clients load everything
again instead of waiting for feed numbers that do not exist any more.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from greenroom.platform.embedded.postgres.engine import package_folder
from greenroom.platform.embedded.postgres.errors import last_lines
from greenroom.platform.embedded.postgres.files import sync_folder
from greenroom.platform.postgres.connecting import connected
from greenroom.platform.postgres.migrations import default_folder, load, migrate

CHUNK_BYTES = 1 << 20
POLL_S = 0.1
MAGIC = b"PGDMP"

# A checksum at the end of the file, after what PostgreSQL reads: pg_restore may accept a truncated
# file and silently restore only a part.
SEAL = b"\ngreenroom backup sha256=%s\n"
SEAL_PATTERN = re.compile(rb"\ngreenroom backup sha256=([0-9a-f]{64})\n")
SEAL_BYTES = len(SEAL % (b"0" * 64))
SCHEMA = "public"

BytesProgress = Callable[[int], None]

# Tables that have rows in a new, unused database.
FILLED_BY_MIGRATIONS = ("schema_migration", "schema_function", "feed_epoch")
TABLES = "select tablename from pg_tables where schemaname = 'public' order by tablename"

# Disconnects the servers, to avoid deadlocks with them. They reconnect, and then wait until the
# restore is done.
CUT_OFF = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
"""

# Drops everything in the schema, except what belongs to extensions and what is dropped with
# something else, such as the functions of a range type.
MAKE_ROOM = """
begin;
set local lock_timeout = '60s';
do $$
declare
    statement text;
    tables text := (select string_agg(c.oid::regclass::text, ', ') from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p'));
begin
    -- All tables at once and without waiting: a server that has reconnected may hold some of them
    -- and wait for others, which would be a deadlock.
    for attempt in 1..600 loop
        perform pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and usename = current_user and pid <> pg_backend_pid();
        begin
            if tables is not null then
                execute 'lock table ' || tables || ' in access exclusive mode nowait';
            end if;
            exit;
        exception when lock_not_available then
            if attempt = 600 then
                raise;
            end if;
            perform pg_sleep(0.1);
        end;
    end loop;
    for statement in
        select format('drop %s if exists %s cascade', case c.relkind when 'v' then 'view'
            when 'm' then 'materialized view' when 'S' then 'sequence'
            when 'f' then 'foreign table' else 'table' end, c.oid::regclass)
        from pg_class c
        where c.relnamespace = 'public'::regnamespace
            and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
            and not exists (select 1 from pg_depend d where d.objid = c.oid
                and d.classid = 'pg_class'::regclass and d.deptype in ('e', 'a', 'i'))
        union all
        select format('drop routine if exists %s cascade', p.oid::regprocedure) from pg_proc p
        where p.pronamespace = 'public'::regnamespace
            and not exists (select 1 from pg_depend d where d.objid = p.oid
                and d.classid = 'pg_proc'::regclass and d.deptype in ('e', 'i'))
        union all
        select format('drop type if exists %s cascade', t.oid::regtype) from pg_type t
        where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd', 'r')
            and not exists (select 1 from pg_depend d where d.objid = t.oid
                and d.classid = 'pg_type'::regclass and d.deptype = 'e')
    loop
        execute statement;
    end loop;
end
$$;
"""

FINISH = """
update public.feed_epoch set epoch = '{epoch}';
commit;
"""

# PostgreSQL before 17 does not know this setting, and psql would stop there.
NOT_EVERYWHERE = b"SET transaction_timeout = 0;\n"


class BackupError(Exception):
    """The backup or the restore failed; the message says why and what to do next."""


def backup(url: str, file: Path, *, progress: BytesProgress) -> int:
    """Write the database to a file, atomically replacing an existing one. Returns its size."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "r+b") as out:
            _dump(url, out.fileno(), part, progress)
            digest = _digest(out, part.stat().st_size)
            out.seek(0, os.SEEK_END)
            out.write(SEAL % digest)
            out.flush()
            os.fsync(out.fileno())
        if not _migrations_in(part):
            raise BackupError("This database has no tables of Greenroom: there is nothing to keep.")
        size = part.stat().st_size
        part.replace(file)
        sync_folder(file.absolute().parent)
    finally:
        part.unlink(missing_ok=True)
    return size


def _dump(url: str, descriptor: int, part: Path, progress: BytesProgress) -> None:
    # Unlogged tables have only short-lived rows: tickets, typing, presence.
    options = (
        *("--format=custom", f"--schema={SCHEMA}", "--no-owner", "--no-privileges"),
        "--no-unlogged-table-data",
    )
    with _running("pg_dump", *options, url=url, stdout=descriptor) as (process, complaints):
        while process.poll() is None:
            progress(part.stat().st_size)
            time.sleep(POLL_S)
        if process.returncode != 0:
            raise BackupError(f"pg_dump failed: {_said(complaints)}. No file was written.")


def _digest(file: IO[bytes], size: int) -> bytes:
    """The SHA-256 of a file's first bytes, in hex."""
    file.seek(0)
    digest = hashlib.sha256()
    while size > 0 and (chunk := file.read(min(size, CHUNK_BYTES))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest().encode()


def check_backup(file: Path) -> None:
    """Raises BackupError unless the file is complete, of Greenroom, and not of a newer version."""
    _check_seal(file)
    recorded = _migrations_in(file)
    if not recorded:
        raise BackupError(f"{file} is a dump of something else. Nothing was changed.")
    known = [(each.name, each.sha256) for each in load(default_folder() / "migrations")]
    for position, found in enumerate(recorded):
        if position >= len(known):
            raise BackupError(
                f"{file} was made by a newer Greenroom: it has {found[0]}, which this one does not "
                "know. Install that version or a later one. Nothing was changed."
            )
        if found != known[position]:
            raise BackupError(
                f"{file} has migration {found[0]} in another form than this Greenroom. "
                "Restore it with the version that made it. Nothing was changed."
            )


def _check_seal(file: Path) -> None:
    with file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            raise BackupError(f"{file} is not a backup of Greenroom. Nothing was changed.")
        size = opened.seek(0, os.SEEK_END) - SEAL_BYTES
        opened.seek(max(size, 0))
        seal = SEAL_PATTERN.fullmatch(opened.read())
        if seal is None or seal[1] != _digest(opened, size):
            raise BackupError(
                f"{file} is not whole, or has changed since it was made. Nothing was changed."
            )


def _migrations_in(file: Path) -> list[tuple[str, str]]:
    """Names and checksums of the migrations recorded in a dump, in order."""
    text = bytearray()
    _read_all(file, text.extend, "--file=-", "--data-only", "--table=schema_migration")
    rows: list[tuple[int, str, str]] = []
    columns: list[str] | None = None
    for line in text.decode(errors="replace").splitlines():
        if line.startswith(f"COPY {SCHEMA}.schema_migration ("):
            columns = line.partition("(")[2].partition(")")[0].split(", ")
        elif columns is not None and line == "\\.":
            break
        elif columns is not None:
            row = dict(zip(columns, line.split("\t"), strict=False))
            rows.append((int(row["version"]), row["name"], row["sha256"]))
    return [(name, sha256) for _, name, sha256 in sorted(rows)]


def _read_all(file: Path, take: Callable[[bytes], object], *options: str) -> None:
    with _running("pg_restore", *options, str(file), stdout=subprocess.PIPE) as (reader, said):
        while chunk := _stdout(reader).read(CHUNK_BYTES):
            take(chunk)
        if reader.wait() != 0:
            raise BackupError(f"{file} cannot be read: {_said(said)}. Nothing was changed.")


async def rows_by_table(url: str) -> dict[str, int]:
    """Row counts of the tables that are not empty; none: a restore would lose nothing."""
    async with connected(url) as connection:
        tables = [row["tablename"] for row in await connection.fetch(TABLES)]
        counts = {
            name: await connection.fetchval(
                f'select count(*) from {SCHEMA}."{name}"'  # noqa: S608 (a name from the catalogue)
            )
            for name in tables
            if name not in FILLED_BY_MIGRATIONS
        }
    return {name: count for name, count in counts.items() if count}


def restore(url: str, file: Path, *, progress: BytesProgress) -> None:
    """Replace everything in the database by a checked backup, in one transaction."""
    options = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1")
    with _running("psql", *options, url=url, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as (
        writer,
        said,
    ):
        try:
            _pump(file, _stdin(writer), progress)
            # Without this final commit, psql rolls back everything.
            _stdin(writer).write(FINISH.format(epoch=secrets.token_hex(4)).encode())
            _stdin(writer).close()
        except BrokenPipeError:
            pass
        if writer.wait() != 0:
            raise BackupError(
                f"The backup could not be restored: {_said(said)}. Nothing was changed; "
                "stop the servers that use the database, and try again."
            )


def _pump(file: Path, script: IO[bytes], progress: BytesProgress) -> None:
    script.write(MAKE_ROOM.encode())
    written = 0

    def take(chunk: bytes) -> None:
        nonlocal written
        script.write(chunk.replace(NOT_EVERYWHERE, b"", 1) if written == 0 else chunk)
        written += len(chunk)
        progress(written)

    _read_all(file, take, "--file=-", f"--schema={SCHEMA}", "--no-owner", "--no-privileges")


async def after_restore(url: str) -> list[str]:
    """Disconnect all servers and bring tables and functions up to date. Returns the names of what
    was applied."""
    async with connected(url) as connection:
        await connection.execute(CUT_OFF)
    applied = await migrate(url)
    async with connected(url) as connection:
        await connection.execute("analyze")
    return applied


@contextmanager
def _running(
    program: str,
    *options: str,
    url: str | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int,
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Runs one of PostgreSQL's programs; yields it and its error output. Ends it at the end."""
    env = {**os.environ, "LC_ALL": "C", "PGAPPNAME": "greenroom", "PGCLIENTENCODING": "UTF8"}
    address = []
    if url is not None:
        plain, password = without_password(url)
        address = [f"--dbname={plain}"]
        if password is not None:
            env["PGPASSWORD"] = password
    path = package_folder() / "pginstall" / "bin" / program
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [path, *address, *options], env=env, stdin=stdin, stdout=stdout, stderr=complaints
        )
        try:
            yield process, complaints
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            if process.poll() is None:
                process.terminate()
                process.wait()


def without_password(url: str) -> tuple[str, str | None]:
    """The URL without its password, and the password: command lines are visible to other users."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name, separator, password = user.partition(":")
    query = parse_qsl(parts.query)
    given = unquote(password) if separator else dict(query).get("password")
    kept = urlencode([(key, value) for key, value in query if key != "password"], quote_via=quote)
    netloc = f"{name}@{host}" if user else host
    return parts._replace(netloc=netloc, query=kept).geturl(), given


def _stdin(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 (asked for)
    return process.stdin


def _stdout(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None  # noqa: S101 (asked for)
    return process.stdout


def _said(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    return last_lines(complaints.read().decode(errors="replace")).rstrip(".")
