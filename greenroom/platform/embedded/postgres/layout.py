"""The paths of one embedded server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """`folder` is in GREENROOM_HOME; `shelter` is used if PostgreSQL's account cannot enter it."""

    folder: Path
    shelter: Path

    @property
    def place(self) -> Path:
        """The folder of data and log: `folder`, or the one that the location file names."""
        return Path(self.location.read_text().strip()) if self.location.exists() else self.folder

    @property
    def location(self) -> Path:
        return self.folder / "location"

    @property
    def data(self) -> Path:
        return self.place / "data"

    @property
    def log(self) -> Path:
        return self.place / "log"

    @property
    def password(self) -> Path:
        return self.folder / "password"

    @property
    def port(self) -> Path:
        return self.folder / "port"

    @property
    def pin(self) -> Path:
        return self.folder / "pinned"

    @property
    def change_lock(self) -> Path:
        return self.folder / "change.lock"

    @property
    def users_lock(self) -> Path:
        return self.folder / "users.lock"
