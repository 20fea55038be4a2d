"""The user that runs PostgreSQL: the current one, or for root an unprivileged one."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    def run(
        self, *argv: str | Path, cwd: Path, timeout_s: float = 60, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        # The caller's PGDATA or PGPORT must not reach the server. LD_PRELOAD must: tests preload a
        # library that changes the clock, and both processes must see the same time.
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
        env |= {name: os.environ[name] for name in ("LD_PRELOAD",) if name in os.environ}
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
    """The account that owns this data folder, or will own it."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    # A data folder of an ordinary user stays usable for that user after root has used it.
    if data.exists() and data.stat().st_uid != 0:
        owner = data.stat()
        return Account(owner.st_uid, owner.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return Account(65534, 65534)
    return Account(nobody.pw_uid, nobody.pw_gid)
