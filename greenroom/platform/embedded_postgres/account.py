"""Who runs PostgreSQL's programs: this user, or an unprivileged one, as PostgreSQL refuses root."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.embedded_postgres.errors import EmbeddedPostgresError


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    def run(
        self, *argv: str | Path, cwd: Path, timeout_s: float = 60, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        # A PGDATA or PGPORT of the caller must not reach the server.
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
        other = os.geteuid() == 0
        try:
            return subprocess.run(
                argv,
                cwd=cwd,
                env=env,
                input=stdin,
                text=True,
                capture_output=True,
                timeout=timeout_s,
                check=False,
                user=self.uid if other else None,
                group=self.gid if other else None,
                extra_groups=[] if other else None,
            )
        except subprocess.TimeoutExpired as error:
            raise EmbeddedPostgresError(
                f"{Path(argv[0]).name} did not finish within {timeout_s:.0f} s. "
                "Is the disk full or very slow? Free it and try again."
            ) from error

    def can_enter(self, folder: Path) -> bool:
        return self.run("/bin/sh", "-c", 'cd "$1"', "sh", folder, cwd=Path("/")).returncode == 0

    def can_run(self, program: Path) -> bool:
        try:
            return self.run(program, "--version", cwd=Path("/")).returncode == 0
        except PermissionError:
            return False


def account_for(data: Path) -> Account:
    """The account that owns this data folder, or shall own it."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    # A plain user's home keeps working for that user after root has been here.
    if data.exists() and data.stat().st_uid != 0:
        owner = data.stat()
        return Account(owner.st_uid, owner.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return Account(65534, 65534)
    return Account(nobody.pw_uid, nobody.pw_gid)
