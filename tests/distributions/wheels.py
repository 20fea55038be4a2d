"""Building a wheel, and installing it into an empty virtual environment without a network.

What the wheel requires is linked from the environment of the tests, and nothing else: a dependency
that the wheel does not name is not there.
"""

import os
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALLED = Path(sysconfig.get_path("purelib"))
PATIENCE_S = 60


BUILD = ("-m", "hatchling", "build", "-t", "wheel", "-d")
"""As docs/install.md says; the folder follows."""


def build_wheel(project: Path, folder: Path) -> Path:
    run(sys.executable, *BUILD, folder, cwd=project)
    [wheel] = folder.glob("*.whl")
    return wheel


class Environment:
    """A virtual environment of its own, with one wheel and what that requires."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.bin = folder / "bin"
        [self._packages] = folder.glob("lib/python*/site-packages")

    def install(self, wheel: Path) -> None:
        python = ("--python", self.bin / "python")
        run(sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", *python, wheel)
        name = wheel.name.split("-")[0]
        [described] = self._packages.glob(f"{name}-*.dist-info")
        metadata = (described / "METADATA").read_text().partition("\n\n")[0]
        for line in metadata.splitlines():
            if line.startswith("Requires-Dist: "):
                self._link(Requirement(line.removeprefix("Requires-Dist: ")))

    def _link(self, wanted: Requirement, extra: str = "") -> None:
        """The installed distribution that answers this requirement, and those that it requires."""
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            return
        found = distribution(wanted.name)
        assert found.version in wanted.specifier
        tops = {file.parts[0] for file in found.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            link = self._packages / top
            if not link.exists():
                link.symlink_to(INSTALLED / top)
        for line in found.requires or ():
            for each in ("", *wanted.extras):
                self._link(Requirement(line), each)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What it printed. Raises with all that it said if it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=without_greenroom(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def without_greenroom() -> dict[str, str]:
    """The environment without settings of a server."""
    return {name: text for name, text in os.environ.items() if not name.startswith("GREENROOM_")}
