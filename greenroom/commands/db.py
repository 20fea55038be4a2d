"""`greenroom migrate`, and `greenroom db` for the embedded PostgreSQL."""

import argparse
from dataclasses import asdict

from greenroom.bootstrap import database
from greenroom.commands.output import show
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.postgres.migrations import migrate as migrate_database
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings


def migrate(args: argparse.Namespace, settings: Settings) -> int:
    with database(settings) as url:
        applied = run_until_sigterm(migrate_database(url))
    lines = [f"migrated {name}" for name in applied] or [
        "nothing to do: tables and functions are up to date"
    ]
    return show(args, {"applied": applied}, lines)


def start(_: argparse.Namespace, settings: Settings) -> int:
    server = EmbeddedPostgres(settings.home)
    server.start()
    print(f"running on 127.0.0.1:{server.status().port}; `greenroom db stop` ends it")
    return 0


def stop(_: argparse.Namespace, settings: Settings) -> int:
    EmbeddedPostgres(settings.home).stop()
    print("stopped")
    return 0


def status(args: argparse.Namespace, settings: Settings) -> int:
    status = EmbeddedPostgres(settings.home).status()
    row = {**asdict(status), "data_dir": str(status.data_dir), "log_dir": str(status.log_dir)}
    show(args, row, [f"{name}: {value}" for name, value in row.items()])
    return 0 if status.running else 1


def url(_: argparse.Namespace, settings: Settings) -> int:
    print(settings.database_url or EmbeddedPostgres(settings.home).url())
    return 0
