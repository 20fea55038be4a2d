"""Creates the data folder ("cluster") with the application's role and database."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from pathlib import Path

from greenroom.platform.embedded.postgres.account import Account, account_for
from greenroom.platform.embedded.postgres.engine import programs_for
from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError, last_lines
from greenroom.platform.embedded.postgres.files import make_public_folder, sync_folder, write
from greenroom.platform.embedded.postgres.layout import Layout

MAJOR_VERSION = "18"
INITDB_TIMEOUT_S = 300


def ensure_cluster(layout: Layout) -> None:
    if not layout.data.exists():
        _initialise(layout)
    version = (layout.data / "PG_VERSION").read_text().strip()
    if version != MAJOR_VERSION:
        raise EmbeddedPostgresError(
            f"{layout.data} was written by PostgreSQL {version}, this is {MAJOR_VERSION}. Dump "
            "it with the Greenroom that wrote it, and load it into a new GREENROOM_HOME."
        )


def _initialise(layout: Layout) -> None:
    """Build the cluster in a temporary folder and rename it, so that it is never half complete."""
    account = account_for(layout.data)
    _choose_folder(layout, account)
    for leftover in layout.place.glob("initialising-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    # A new name each time: the initdb of a killed process may still be writing.
    fresh = Path(tempfile.mkdtemp(prefix="initialising-", dir=layout.place))
    layout.log.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0:
        os.chown(fresh, account.uid, account.gid)
        os.chown(layout.log, account.uid, account.gid)
    password = secrets.token_hex(24)
    write(layout.password, password)
    _create(layout, account, fresh, password)
    fresh.rename(layout.data)
    sync_folder(layout.place)


def _choose_folder(layout: Layout, account: Account) -> None:
    """Choose the folder of the data: in GREENROOM_HOME if PostgreSQL's account can enter it."""
    root = os.geteuid() == 0
    layout.folder.chmod(0o711 if root else 0o700)
    if not root or layout.place != layout.folder or account.can_enter(layout.folder):
        return
    home = layout.folder.parent.resolve()
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    place = layout.shelter / f"{home.name}-{digest}"
    make_public_folder(layout.shelter)
    make_public_folder(place)
    if not account.can_enter(place):
        raise EmbeddedPostgresError(
            f"The account that runs PostgreSQL can enter neither {layout.folder} nor {place}. "
            "Set GREENROOM_HOME to a folder that every user may enter."
        )
    write(layout.location, f"{place}\n")


def _create(layout: Layout, account: Account, fresh: Path, password: str) -> None:
    programs = programs_for(account, layout.shelter)
    # The superuser cannot log in. The application does not need it, as on a managed PostgreSQL.
    made = account.run(
        *(programs / "initdb", "-D", fresh, "--username=postgres", "--auth=reject"),
        *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
        "--locale=C",
        cwd=layout.place,
        timeout_s=INITDB_TIMEOUT_S,
    )
    if made.returncode == 0:
        statements = (
            f"CREATE ROLE greenroom LOGIN CREATEDB PASSWORD '{password}';\n"
            "GRANT pg_monitor TO greenroom;\n"
            "CREATE DATABASE greenroom OWNER greenroom;\n"
        )
        made = account.run(
            *(programs / "postgres", "--single", "-D", fresh, "-c", "exit_on_error=on"),
            *("-c", "log_min_error_statement=panic", "postgres"),
            cwd=layout.place,
            stdin=statements,
        )
    if made.returncode != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        raise EmbeddedPostgresError(
            f"The embedded PostgreSQL could not be set up in {layout.place}: "
            f"{last_lines(made.stderr)}\nFix that and start again; nothing was kept."
        )
