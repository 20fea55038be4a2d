"""The `greenroom` command. Exit codes: 0 done, 1 it failed and says why, 2 wrong usage."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from typing import Any

import asyncpg

from greenroom import __version__
from greenroom.accounts.model import ApiKey
from greenroom.bootstrap import Rooms, database, http_app, openapi
from greenroom.cards.catalogue import CatalogueError
from greenroom.cli_cost import register as register_cost
from greenroom.cli_dynamodb import register as register_dynamodb
from greenroom.cli_upkeep import register as register_upkeep
from greenroom.cli_worker import register as register_worker
from greenroom.demo.bulk import load_bulk
from greenroom.demo.crowd import MESSAGES_PER_THREAD, Bulk
from greenroom.demo.host_listener import HostListener, host_listener
from greenroom.demo.rest import DemoRest
from greenroom.demo.sample import load_sample
from greenroom.demo.welcome import Sample, contents, describe_sample, welcome
from greenroom.doctor import MissingError, address_complaint, examine, signing_secret
from greenroom.kernel.clock import rfc3339, system_clock
from greenroom.kernel.errors import InvalidRequest, NotFound, Problem
from greenroom.platform.auth import DESKS, is_user_id, sign_token
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from greenroom.platform.http.app import HttpApp
from greenroom.platform.logs import configure_logging
from greenroom.platform.migrations import MigrationError, migrate
from greenroom.platform.termination import run_until_sigterm, unwind_on_sigterm
from greenroom.server import serve, serve_one
from greenroom.settings import WORKERS, Settings, SettingsError, as_whole, describe, load_settings
from greenroom.webapp.files import BUILT, read_files

Command = Callable[[argparse.Namespace, Settings], int]


_SAYING_WHAT_TO_DO = (
    MissingError,
    CatalogueError,
    EmbeddedPostgresError,
    MigrationError,
    DynamoDbError,
)


class UsageError(Exception):
    """The command was called in a way that it does not take."""


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    # Before the server has handlers of its own, an early end still lets go of the database.
    unwind_on_sigterm()
    try:
        command: Command = args.command
        return command(args, load_settings())
    except (UsageError, SettingsError, InvalidRequest) as error:
        return _fail(str(error), 2)
    except _SAYING_WHAT_TO_DO as error:
        return _fail(str(error), 1)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        hint = "Check GREENROOM_DATABASE_URL; the role in it must own the database."
        return _fail(f"the database cannot be used: {error.args[0]}. {hint}", 1)
    except Problem as problem:
        return _fail(f"{problem} `greenroom doctor` says what is missing.", 1)
    except OSError as error:
        return _fail(f"{error}. `greenroom doctor` says what is missing.", 1)
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
        option = _add(commands, name, command, text).add_argument
        option("--host", help="address to listen on (GREENROOM_HOST, 127.0.0.1)")
        option("--port", type=_whole(0, 65535), help="port, 0: any free (GREENROOM_PORT, 8000)")
        option("--workers", type=_whole(1, WORKERS), help="processes (GREENROOM_WORKERS, 1)")
        option("--fd", type=int, help=argparse.SUPPRESS)
        if command is _demo:
            option("--seed", type=_whole(0, 10**9), default=1, help="of the sample's chances (1)")
            option("--messages", type=_whole(1, 10**9), help="generate so many more messages")
            option("--threads", type=_whole(1, 10**8), help="… in so many threads (1 per 40)")
            option("--host-port", type=_whole(0, 65535), help="host page's, 0: any free (port + 1)")
            option("--no-host-page", action="store_true", help="leave the host page out")
            option("--load-only", action="store_true", help="load the sample, then exit")

    _add(commands, "migrate", _migrate, "bring the database's tables up to date", as_json=True)

    token = _add(commands, "token", _token, "sign a token for a person")
    token.add_argument("user", help="the user id")
    token.add_argument("--desk", choices=sorted(DESKS), help="open operator routes in this role")
    token.add_argument("--hours", type=_whole(1, 8784), default=24, help="how long it lasts (24)")

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

    register_upkeep(commands, _add, _add_group)
    register_dynamodb(commands, _add, _add_group)
    register_cost(commands, _add)
    register_worker(commands, _add, _add_group)

    reference = _add(commands, "openapi", _openapi, "print the API's reference as OpenAPI, in JSON")
    reference.add_argument("--demo", action="store_true", help="with the calls of `demo`")
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


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = as_whole(text, least=least, most=most)
        if number is None:
            raise argparse.ArgumentTypeError(f"takes a whole number from {least} to {most}")
        return number

    return parse


def _serve(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    if args.fd is not None:
        with database(settings) as url:
            return serve_one(
                lambda: http_app(Rooms(settings, url)), fd=args.fd, limits=settings.limits
            )
    settings = _with_options(args, settings)
    _check_address(settings)
    if settings.jwt_secret is not None or settings.jwks_url is None:
        signing_secret(settings)
    with database(settings) as url:
        run_until_sigterm(migrate(url))
        return serve(
            lambda: http_app(Rooms(settings, url)),
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            limits=settings.limits,
        )


def _demo(args: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    if args.fd is not None:
        with database(settings) as url:
            return serve_one(lambda: _demo_app(settings, url), fd=args.fd, limits=settings.limits)
    settings = _with_options(args, settings)
    bulk = _bulk(args)
    if args.load_only:
        signing_secret(settings)
        with database(settings) as url:
            print(f"loaded: {contents(_load_demo(settings, url, args.seed, bulk))}")
        return 0
    _check_address(settings)
    signing_secret(settings)
    with ExitStack() as stack:
        page = None if args.no_host_page else stack.enter_context(_host_page(args, settings))
        url = stack.enter_context(database(settings))
        sample = _load_demo(settings, url, args.seed, bulk)
        allowed = settings if page is None else page.let_in()

        def greet(port: int) -> None:
            if page is not None:
                page.start(port)
            print(
                welcome(
                    *(sample, settings.host, port),
                    host_page=None if page is None else page.url,
                    is_built="index.html" in read_files(BUILT),
                ),
                flush=True,
            )

        return serve(
            lambda: _demo_app(allowed, url),
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            limits=settings.limits,
            on_ready=greet,
            worker_command="demo",
        )


def _host_page(
    args: argparse.Namespace, settings: Settings
) -> AbstractContextManager[HostListener]:
    port = args.host_port
    if port:
        _check_address(replace(settings, port=port), "--host-port, --no-host-page")
    return host_listener(settings, port)


def _load_demo(settings: Settings, url: str, seed: int, bulk: Bulk | None) -> Sample:
    run_until_sigterm(migrate(url, progress=lambda name: print(f"migrated {name}")))
    run_until_sigterm(load_sample(settings, url, seed=seed))
    if bulk is not None and not run_until_sigterm(load_bulk(settings, url, bulk)):
        print(f"the messages of --seed {seed} are there already; another seed adds more")
    return run_until_sigterm(describe_sample(settings, url))


def _bulk(args: argparse.Namespace) -> Bulk | None:
    if args.messages is None:
        if args.threads is not None:
            raise UsageError("--threads goes with --messages.")
        return None
    threads = args.threads or max(1, args.messages // MESSAGES_PER_THREAD)
    if threads > args.messages:
        raise UsageError("a thread has at least one message: --threads is at most --messages.")
    return Bulk(args.seed, args.messages, threads)


def _demo_app(settings: Settings, url: str) -> HttpApp:
    rooms = Rooms(settings, url)
    return http_app(rooms, extra=DemoRest(settings, rooms.clock).endpoints())


def _with_options(args: argparse.Namespace, settings: Settings) -> Settings:
    options = ((name, getattr(args, name)) for name in ("host", "port", "workers"))
    return replace(settings, **{name: value for name, value in options if value is not None})


def _check_address(settings: Settings, options: str = "--port, --host") -> None:
    """Before the database starts, so that a taken port is told at once."""
    complaint = address_complaint(settings)
    if complaint is not None:
        raise UsageError(f"{complaint} Stop what holds it, or choose others with {options}.")


def _migrate(args: argparse.Namespace, settings: Settings) -> int:
    with database(settings) as url:
        applied = run_until_sigterm(migrate(url))
    lines = [f"migrated {name}" for name in applied] or ["nothing to do: the tables are up to date"]
    return _print(args, {"applied": applied}, lines)


def _token(args: argparse.Namespace, settings: Settings) -> int:
    if not is_user_id(args.user):
        raise UsageError(
            "a user id has 1 to 64 characters of A-Z a-z 0-9 _ . : - (an e-mail address is none); "
            "give the id that your marketplace has for the person."
        )
    print(
        sign_token(
            signing_secret(settings),
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

        return run_until_sigterm(run())


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
    try:
        key = _with_rooms(settings, lambda rooms: rooms.accounts.revoke_key(args.key_id))
    except NotFound as problem:
        raise MissingError(f"{problem} `greenroom keys list` shows what there is.") from problem
    return _print(args, _key_row(key), [f"{key.key_id} is revoked"])


def _key_row(key: ApiKey) -> dict[str, Any]:
    times = ((name, getattr(key, name)) for name in ("created_at", "revoked_at", "last_used_at"))
    shown = {name: None if at_ms is None else rfc3339(at_ms) for name, at_ms in times}
    return {"key_id": key.key_id, "name": key.name, **shown}


def _config(args: argparse.Namespace, _: Settings) -> int:
    rows = describe()
    width = max(len(row["name"]) for row in rows)
    lines = [f"{r['name']:{width}}  {r['value'] or '(unset)':24}  {r['description']}" for r in rows]
    return _print(args, rows, lines)


def _doctor(args: argparse.Namespace, settings: Settings) -> int:
    findings = run_until_sigterm(examine(settings))
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


def _openapi(args: argparse.Namespace, _: Settings) -> int:
    """The reference is the same everywhere, so that no setting counts and nothing is opened; what
    rooms make at once, such as secrets, goes with the folder."""
    with tempfile.TemporaryDirectory() as home:
        settings = load_settings({"GREENROOM_HOME": home})
        extra = DemoRest(settings, system_clock).endpoints() if args.demo else []
        print(json.dumps(openapi(Rooms(settings, "postgresql://"), extra), indent=2))
    return 0


def _version(args: argparse.Namespace, _: Settings) -> int:
    return _print(args, {"version": __version__}, [f"greenroom {__version__}"])


def _print(args: argparse.Namespace, row: Any, lines: Sequence[str]) -> int:
    print(json.dumps(row, indent=2) if args.json else "\n".join(lines))
    return 0
