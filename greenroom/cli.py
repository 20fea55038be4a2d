"""The `greenroom` command: its subcommands and their options. Open this to add a command.

Exit codes: 0 done, 1 failed (the message says why), 2 wrong usage, 141 the reader of its output has
gone. What a command does is in `commands/`, named as `module.function` and imported only when it
runs, so that `--help` and usage errors do not wait until the server is loaded.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from greenroom.commands.pipes import while_somebody_reads
from greenroom.cost.assumptions import numbers
from greenroom.kernel.limits import WORKERS
from greenroom.kernel.operator_roles import OPERATOR_ROLES
from greenroom.kernel.scopes import SCOPES
from greenroom.kernel.text import as_whole

TAG_NAME_CHARACTERS = 128
TAG_VALUE_CHARACTERS = 256


def main(argv: Sequence[str] | None = None) -> int:
    return while_somebody_reads(lambda: _run(argv))


def _run(argv: Sequence[str] | None) -> int:
    args = _parser().parse_args(argv)
    # Imported here, because it loads the whole server.
    from greenroom.commands.running import run  # noqa: PLC0415

    return run(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="greenroom", description="The messaging server of a two-sided marketplace."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_serving(commands)
    _add_keys(commands)
    _add_databases(commands)
    _add_upkeep(commands)
    _add_work(commands)
    _add_about(commands)
    return parser


def _add_serving(commands: Any) -> None:
    serve = _add(commands, "serve", "serving.serve", "run the server")
    text = "run the server with sample people and print how to use it"
    demo = _add(commands, "demo", "demo.demo", text)
    for option in (serve.add_argument, demo.add_argument):
        option("--host", help="address to listen on (GREENROOM_HOST, 127.0.0.1)")
        option("--port", type=_whole(0, 65535), help="port, 0: any free (GREENROOM_PORT, 8000)")
        option("--workers", type=_whole(1, WORKERS), help="processes (GREENROOM_WORKERS, 1)")
        option("--tls-cert", type=_path, metavar="FILE", help="serve HTTPS (GREENROOM_TLS_CERT)")
        option("--tls-key", type=_path, metavar="FILE", help="… its key (GREENROOM_TLS_KEY)")
        option("--fd", type=int, help=argparse.SUPPRESS)
    option = demo.add_argument
    option("--seed", type=_whole(0, 10**9), default=1, help="of the random numbers (1)")
    option("--messages", type=_whole(1, 10**9), help="generate this many more messages")
    option("--threads", type=_whole(1, 10**8), help="… in this many threads (1 per 40)")
    option(
        "--host-port", type=_whole(0, 65535), help="port of the host page, 0: any free (port + 1)"
    )
    option("--no-host-page", action="store_true", help="do not serve the host page")
    option("--load-only", action="store_true", help="load the sample, then exit")


def _add_keys(commands: Any) -> None:
    token = _add(commands, "token", "keys.token", "sign a token for a person")
    token.add_argument("user", help="the user id")
    token.add_argument(
        "--desk", choices=sorted(OPERATOR_ROLES), help="open operator routes in this role"
    )
    token.add_argument("--hours", type=_whole(1, 8784), default=24, help="how long it lasts (24)")

    keys = _add_group(commands, "keys", "API keys of the marketplace's backend")
    create = _add(keys, "create", "keys.create", "make a key and show it once", as_json=True)
    create.add_argument("name", help="what it is for, such as production-backend")
    create.add_argument(
        "--scopes",
        type=_scopes,
        default=SCOPES,
        metavar="LIST",
        help=f"what it may do, of {','.join(SCOPES)} (all)",
    )
    _add(keys, "list", "keys.list_all", "list keys", as_json=True)
    revoke = _add(keys, "revoke", "keys.revoke", "end a key at once", as_json=True)
    revoke.add_argument("key_id", help="its id as listed, key_…")


def _add_databases(commands: Any) -> None:
    text = "bring the database's tables up to date"
    _add(commands, "migrate", "db.migrate", text, as_json=True)

    db = _add_group(commands, "db", "the embedded PostgreSQL")
    _add(db, "start", "db.start", "start it and keep it running")
    _add(db, "stop", "db.stop", "stop it")
    _add(db, "status", "db.status", "say whether it runs", as_json=True)
    _add(db, "url", "db.url", "print its address, password included")

    group = _add_group(commands, "dynamodb", "the table in which conversations are kept")
    text = "make the table, or check the one there is"
    create = _add(group, "create-table", "dynamodb.create_table", text)
    create.add_argument(
        "--tag",
        type=_tag,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="tag it, for bills and policies; may be repeated",
    )
    text = "make every client reload, after a restore"
    _add(group, "new-epoch", "dynamodb.new_epoch", text)


def _add_upkeep(commands: Any) -> None:
    text = "recount all derived data and report differences"
    check = _add(commands, "check", "upkeep.check", text, as_json=True)
    check.add_argument("--repair", action="store_true", help="correct what can be corrected")

    users = _add_group(commands, "users", "a person's data")
    text = "write everything about a person as JSON"
    export = _add(users, "export", "upkeep.export_user", text)
    export.add_argument("user", help="the user id")
    export.add_argument("--out", type=Path, metavar="FILE", help="where to (standard output)")
    text = "a new folder for the bytes of their files (none are written)"
    export.add_argument("--files", type=Path, metavar="FOLDER", help=text)
    text = "remove a person's profile, messages and files for good"
    erase = _add(users, "erase", "upkeep.erase_user", text)
    erase.add_argument("user", help="the user id")
    erase.add_argument("--yes", action="store_true", help="confirm; this cannot be undone")

    threads = _add_group(commands, "threads", "legal holds")
    text = "keep everything in a thread, whatever its age"
    hold = _add(threads, "hold", "upkeep.hold_thread", text)
    hold.add_argument("thread", help="the thread's id, thr_…")
    hold.add_argument("--reason", required=True, help="why, such as a file number")
    release = _add(threads, "release", "upkeep.release_thread", "end a thread's legal hold")
    release.add_argument("thread", help="the thread's id, thr_…")

    text = "import people, threads and messages of another system"
    history = _add(commands, "import", "importing.import_history", text, as_json=True)
    history.add_argument("file", type=Path, help="lines of JSON, or an export (--from)")
    history.add_argument(
        "--from",
        dest="source",
        choices=("talkjs", "stream", "sendbird"),
        help="read conversations of this system",
    )
    history.add_argument("--report", type=Path, metavar="FILE", help="write what was refused there")
    history.add_argument("--dry-run", action="store_true", help="check the file, change nothing")

    text = "write the database to a file while servers run"
    _add(commands, "backup", "upkeep.backup", text).add_argument("file", type=Path)
    restore = _add(commands, "restore", "upkeep.restore", "replace the database by a backup")
    restore.add_argument("file", type=Path)
    restore.add_argument("--yes", action="store_true", help="also if the database is not empty")


def _add_work(commands: Any) -> None:
    text = "do background work only: payments, timers, events"
    _add(commands, "worker", "worker.work", text)

    jobs = _add_group(commands, "jobs", "background work that has failed for good")
    _add(jobs, "list", "worker.list_jobs", "list it and say what to do", as_json=True)
    replay = _add(jobs, "replay", "worker.replay_jobs", "try it again", as_json=True)
    which = replay.add_mutually_exclusive_group(required=True)
    which.add_argument("--id", help="as listed: a number, or subject/name of a timer")
    which.add_argument("--all", action="store_true", help="everything that is listed")

    events = _add_group(commands, "events", "the log of what has happened")
    text = "list the latest events, or the first since a time"
    option = _add(events, "list", "events.list_events", text, as_json=True).add_argument
    option("--thread", metavar="ID", help="only events of this thread, from its first kept one")
    option("--since", metavar="TIME", help="only events logged since, 2026-01-31T12:00:00Z")
    option("--type", help="only events of this type, such as message.send")
    option("--limit", type=_whole(1, 10_000), default=100, help="how many at most (100)")

    payments = _add_group(commands, "payments", "refunds, releases and payouts that failed")
    _add(payments, "list", "payments.list_payments", "list them", as_json=True)
    retry = _add(payments, "retry", "payments.retry_payments", "try them again", as_json=True)
    which = retry.add_mutually_exclusive_group(required=True)
    which.add_argument("--id", help="as listed, pay_…")
    which.add_argument("--all", action="store_true", help="everything that is listed")

    _add_webhooks(commands)

    text = "run a payment provider to try with; no money moves"
    option = _add(commands, "payments-sandbox", "worker.run_sandbox", text).add_argument
    option("--port", type=_whole(0, 65535), default=0, help="port, 0: any free (0)")
    option("--webhook-url", help="where events are posted to, …/v1/payments/webhook")


def _add_webhooks(commands: Any) -> None:
    webhooks = _add_group(commands, "webhooks", "where events are posted to")
    text = "post events to an address, and show its secret once"
    add = _add(webhooks, "add", "webhooks.add", text, as_json=True)
    add.add_argument("url", help="https://…")
    add.add_argument("--events", default="*", help="names, separated by commas (*: all)")
    add.add_argument("--include-content", action="store_true", help="with what people wrote")
    add.add_argument("--description", default="", help="what it is for")
    _add(webhooks, "list", "webhooks.list_all", "list them and how they are", as_json=True)
    for name, text in (
        ("remove", "remove one and everything that waits for it"),
        ("rotate", "change its secret and show it once; the old one signs too for a day"),
        ("test", "post a test event and say what came of it"),
        ("enable", "go on with one that is disabled"),
        ("replay", "post events again"),
        ("deliveries", "list what was posted, the newest first"),
    ):
        one = _add(webhooks, name, f"webhooks.{name}", text, as_json=True)
        one.add_argument("webhook", help="its id, whk_…")
        if name == "replay":
            which = one.add_mutually_exclusive_group(required=True)
            which.add_argument("--event", metavar="ID", help="one event, evt_…")
            which.add_argument("--since", metavar="TIME", help="all since, 2026-01-31T12:00:00Z")
            one.add_argument("--to", metavar="TIME", help="… and before")
        if name == "deliveries":
            states = ("waiting", "delivered", "failed")
            one.add_argument("--state", choices=states, help="only those")
            one.add_argument("--limit", type=_whole(1, 1000), default=50, help="how many (50)")


def _add_about(commands: Any) -> None:
    _add(commands, "config", "about.config", "list every setting and its value", as_json=True)
    _add(commands, "doctor", "about.doctor", "say what works and what is missing", as_json=True)

    cost = _add(commands, "cost", "cost.cost", "estimate the monthly bill on DynamoDB")
    for each in numbers():
        cost.add_argument(
            "--" + each.name.replace("_", "-"),
            type=_number(each.metadata["least"], each.metadata["most"]),
            default=each.default,
            metavar="N",
            help=f"{each.metadata['text']} ({each.default:g})",
        )
    cost.add_argument("--free-tier", action="store_true", help="apply free monthly allowances")
    form = cost.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")

    text = "print the API's reference as OpenAPI, in JSON"
    reference = _add(commands, "openapi", "about.openapi", text)
    reference.add_argument("--demo", action="store_true", help="with the calls of `demo`")
    _add(commands, "version", "about.version", "print the version", as_json=True)


def _add(
    commands: Any, name: str, command: str, text: str, *, as_json: bool = False
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


def _scopes(text: str) -> tuple[str, ...]:
    given = tuple(text.split(","))
    if not set(given) <= set(SCOPES):
        raise argparse.ArgumentTypeError(f"takes one or more of {','.join(SCOPES)}")
    return given


def _path(text: str) -> Path:
    return Path(text).absolute()


def _number(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"takes a number from {least:g} to {most:g}")
        return number

    return parse


def _tag(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not 1 <= len(name) <= TAG_NAME_CHARACTERS:
        raise argparse.ArgumentTypeError("takes NAME=VALUE, such as team=messaging")
    if len(value) > TAG_VALUE_CHARACTERS:
        raise argparse.ArgumentTypeError(f"a value has at most {TAG_VALUE_CHARACTERS} characters")
    return name, value
