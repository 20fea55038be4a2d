"""The `greenroom` command. Exit codes: 0 done, 1 it failed and says why, 2 wrong usage."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

from greenroom import __version__
from greenroom.accounts.model import ApiKey
from greenroom.bootstrap import Rooms, database, http_app, jwt_secret
from greenroom.demo import load_sample, welcome
from greenroom.doctor import examine
from greenroom.kernel.clock import rfc3339, system_clock
from greenroom.kernel.errors import Problem
from greenroom.kernel.limits import Limits
from greenroom.platform.auth import DESKS, is_user_id, sign_token
from greenroom.platform.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from greenroom.platform.logs import configure_logging
from greenroom.platform.migrations import MigrationError, migrate
from greenroom.server import serve, serve_one
from greenroom.settings import SETTINGS, Settings, SettingsError, limit_variable, load_settings

Command = Callable[[argparse.Namespace, Settings], int]


class UsageError(Exception):
    """The command was called in a way that it does not take."""


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        settings = load_settings()
        command: Command = args.command
        return command(args, settings)
    except (UsageError, SettingsError) as error:
        return _fail(str(error), 2)
    except (EmbeddedPostgresError, MigrationError, PermissionError, ValueError) as error:
        return _fail(str(error), 1)
    except Problem as problem:
        return _fail(f"{problem.detail or problem.title()} {problem.hint}", 1)
    except OSError as error:
        return _fail(f"{error.strerror or error}. `greenroom doctor` says what is missing.", 1)
    except KeyboardInterrupt:
        return 130


def _fail(text: str, code: int) -> int:
    print(f"greenroom: {text}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="greenroom", description="The messaging server of a two-sided marketplace."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in (
        ("serve", _serve, "run the server"),
        ("demo", _demo, "run the server with sample people and print how to use it"),
    ):
        each = _add(commands, name, command, text)
        each.add_argument("--host", help="address to listen on (GREENROOM_HOST, 127.0.0.1)")
        each.add_argument("--port", type=int, help="port to listen on (GREENROOM_PORT, 8000)")
        each.add_argument("--workers", type=int, help="processes (GREENROOM_WORKERS, 1)")
        each.add_argument("--fd", type=int, help=argparse.SUPPRESS)

    _add(commands, "migrate", _migrate, "bring the database's tables up to date", as_json=True)

    token = _add(commands, "token", _token, "sign a token for a person")
    token.add_argument("user", help="the user id")
    token.add_argument("--desk", choices=sorted(DESKS), help="open operator routes in this role")
    token.add_argument("--hours", type=int, default=24, help="how long it is good for (24)")

    keys = _add_group(commands, "keys", "API keys of the marketplace's backend")
    create = _add(keys, "create", _keys_create, "make a key and show it once", as_json=True)
    create.add_argument("name", help="what it is for, such as production-backend")
    _add(keys, "list", _keys_list, "list keys", as_json=True)
    revoke = _add(keys, "revoke", _keys_revoke, "end a key at once", as_json=True)
    revoke.add_argument("key_id", help="its id as listed, key_…")

    _add(commands, "config", _config, "list every setting and its value", as_json=True)
    _add(commands, "doctor", _doctor, "say what works and what is missing", as_json=True)

    db = _add_group(commands, "db", "the embedded PostgreSQL")
    _add(db, "start", _db_start, "start it and keep it running")
    _add(db, "stop", _db_stop, "stop it")
    _add(db, "status", _db_status, "say whether it runs", as_json=True)
    _add(db, "url", _db_url, "print its address, password included")

    _add(commands, "version", _version, "print the version", as_json=True)
    return parser


def _add(
    commands: Any, name: str, command: Command, text: str, *, as_json: bool = False
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(command=command)
    if as_json:
        parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_group(commands: Any, name: str, text: str) -> Any:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    return parser.add_subparsers(required=True, metavar="COMMAND")


def _serve(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    with database(settings) as url:
        if args.fd is not None:
            return serve_one(
                lambda: http_app(Rooms(settings, url)), fd=args.fd, limits=settings.limits
            )
        asyncio.run(migrate(url))
        return _run_server(args, settings, url, lambda _: None)


def _demo(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    if settings.jwks_url is not None and settings.jwt_secret is None:
        raise UsageError("demo signs its own tokens: set GREENROOM_JWT_SECRET or unset the JWKS.")
    with database(settings) as url:
        asyncio.run(migrate(url, progress=lambda name: print(f"migrated {name}")))

        async def load() -> Any:
            async with Rooms(settings, url) as rooms:
                return await load_sample(rooms)

        sample = asyncio.run(load())
        host = args.host or settings.host
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 (compared only)
        return _run_server(
            args,
            settings,
            url,
            lambda port: print(welcome(sample, f"http://{shown}:{port}"), flush=True),
        )


def _run_server(
    args: argparse.Namespace, settings: Settings, url: str, on_ready: Callable[[int], None]
) -> int:
    workers = args.workers or settings.workers
    port = settings.port if args.port is None else args.port
    if not 0 <= port <= 65535 or not 1 <= workers <= 64:
        raise UsageError("--port takes 0–65535 and --workers takes 1–64.")
    try:
        return serve(
            lambda: http_app(Rooms(settings, url)),
            host=args.host or settings.host,
            port=port,
            workers=workers,
            limits=settings.limits,
            on_ready=on_ready,
        )
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}. Choose another with --port.") from error


def _migrate(args: argparse.Namespace, settings: Settings) -> int:
    with database(settings) as url:
        applied = asyncio.run(migrate(url))
    lines = [f"migrated {name}" for name in applied] or ["nothing to do: the tables are up to date"]
    return _print(args, {"applied": applied}, lines)


def _token(args: argparse.Namespace, settings: Settings) -> int:
    if not is_user_id(args.user):
        raise UsageError("a user id is 1–64 characters of A–Z a–z 0–9 _ . : -")
    if not 1 <= args.hours <= 24 * 366:
        raise UsageError("--hours takes 1–8784.")
    print(
        sign_token(
            jwt_secret(settings),
            args.user,
            clock=system_clock,
            ttl_s=args.hours * 3600,
            desk=args.desk,
            audience=settings.jwt_audience,
            issuer=settings.jwt_issuer,
        )
    )
    return 0


def _with_rooms(settings: Settings, work: Callable[[Rooms], Any]) -> Any:
    with database(settings) as url:

        async def run() -> Any:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                return await work(rooms)

        return asyncio.run(run())


def _keys_create(args: argparse.Namespace, settings: Settings) -> int:
    new = _with_rooms(settings, lambda rooms: rooms.accounts.create_key(args.name))
    lines = [new.text, f"({new.key.key_id}. It is shown this once; only its hash is kept.)"]
    return _print(args, {**_key_row(new.key), "key": new.text}, lines)


def _keys_list(args: argparse.Namespace, settings: Settings) -> int:
    keys = _with_rooms(settings, lambda rooms: rooms.accounts.list_keys())
    lines = [
        f"{key.key_id}  {'revoked' if key.revoked_at else 'active '}  {key.name}" for key in keys
    ]
    return _print(args, [_key_row(key) for key in keys], lines or ["there are no keys"])


def _keys_revoke(args: argparse.Namespace, settings: Settings) -> int:
    key = _with_rooms(settings, lambda rooms: rooms.accounts.revoke_key(args.key_id))
    return _print(args, _key_row(key), [f"{key.key_id} is revoked"])


def _key_row(key: ApiKey) -> dict[str, Any]:
    def shown(at_ms: int | None) -> str | None:
        return None if at_ms is None else rfc3339(at_ms)

    return {
        "key_id": key.key_id,
        "name": key.name,
        "created_at": shown(key.created_at),
        "revoked_at": shown(key.revoked_at),
        "last_used_at": shown(key.last_used_at),
    }


def _config(args: argparse.Namespace, settings: Settings) -> int:
    import os  # noqa: PLC0415

    rows = []
    for each in SETTINGS:
        value = os.environ.get(each.name, "")
        shown = "(set)" if each.secret and value else value or each.default
        rows.append({"name": each.name, "value": shown, "description": each.description})
    for limit in fields(Limits):
        value = str(getattr(settings.limits, limit.name))
        rows.append({"name": limit_variable(limit.name), "value": value, "description": "limit"})
    width = max(len(row["name"]) for row in rows)
    lines = [f"{r['name']:{width}}  {r['value'] or '(unset)':24}  {r['description']}" for r in rows]
    return _print(args, rows, lines)


def _doctor(args: argparse.Namespace, settings: Settings) -> int:
    findings = asyncio.run(examine(settings))
    lines = [f"{each.verdict:7} {each.subject}: {each.text}" for each in findings]
    _print(args, [asdict(each) for each in findings], lines)
    return 1 if any(each.verdict == "missing" for each in findings) else 0


def _db_start(_: argparse.Namespace, settings: Settings) -> int:
    server = EmbeddedPostgres(settings.home)
    server.start()
    print(f"running on 127.0.0.1:{server.status().port}; `greenroom db stop` ends it")
    return 0


def _db_stop(_: argparse.Namespace, settings: Settings) -> int:
    EmbeddedPostgres(settings.home).stop()
    print("stopped")
    return 0


def _db_status(args: argparse.Namespace, settings: Settings) -> int:
    status = EmbeddedPostgres(settings.home).status()
    row = {**asdict(status), "data_dir": str(status.data_dir), "log_dir": str(status.log_dir)}
    _print(args, row, [f"{name}: {value}" for name, value in row.items()])
    return 0 if status.running else 1


def _db_url(_: argparse.Namespace, settings: Settings) -> int:
    print(settings.database_url or EmbeddedPostgres(settings.home).url())
    return 0


def _version(args: argparse.Namespace, _: Settings) -> int:
    return _print(args, {"version": __version__}, [f"greenroom {__version__}"])


def _print(args: argparse.Namespace, row: Any, lines: Sequence[str]) -> int:
    print(json.dumps(row, indent=2) if args.json else "\n".join(lines))
    return 0
