"""`make run` and `make setup` install with uv, and with pip where uv does not work."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import install

REPOSITORY = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PATIENCE_S = 120


def locked(name: str) -> dict[str, str]:
    return install.entries((REPOSITORY / name).read_text())


def test_what_developing_needs_contains_what_running_needs() -> None:
    run, dev = map(locked, LOCKS)
    assert {name: pinned(text) for name, text in run.items()} == {
        name: pinned(dev[name]) for name in run
    }
    assert {"uv", *install.NODE_WHEELS, "pytest"} <= set(dev)
    assert not {"uv", *install.NODE_WHEELS, "pytest", "httpx"} & set(run)


def pinned(entry: str) -> list[str]:
    """The version and the hashes, without when and by whom it is required."""
    version, *rest = entry.splitlines()
    return [version.split()[0], *(line for line in rest if "--hash=" in line)]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_hashes_and_no_addresses(name: str) -> None:
    assert all("--hash=sha256:" in entry for entry in locked(name).values())
    assert "://" not in (REPOSITORY / name).read_text()


def test_uv_is_told_what_pip_is_configured_with(tmp_path: Path) -> None:
    there = tmp_path / "wheels"
    there.mkdir()
    settings = install.pip_settings(
        f"""\
:env:.default-timeout='180'
:env:.find-links='{there}'
download.index-url='https://download.example/simple'
global.cert='/etc/ssl/ca.crt'
global.extra-index-url='https://b.example/simple\\nfile://{there} file://{tmp_path}/missing'
global.find-links='{tmp_path}/missing'
global.index-url='https://global.example/simple'
global.trusted-host='a.example b.example'
install.index-url='https://user:secret@install.example/simple'
"""
    )
    assert install.uv_variables(settings) == {
        "UV_DEFAULT_INDEX": "https://user:secret@install.example/simple",
        "UV_INDEX": f"https://b.example/simple file://{there}",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": str(there),
        "UV_INSECURE_HOST": "a.example b.example",
        "UV_HTTP_TIMEOUT": "180",
        "SSL_CERT_FILE": "/etc/ssl/ca.crt",
    }
    assert install.uv_variables({}) == {"UV_INDEX_STRATEGY": "unsafe-best-match"}


@pytest.mark.parametrize(
    ("version", "is_enough"),
    [
        ("18.20.4", False),
        ("20.18.3", False),
        ("20.19.0", True),
        ("21.7.3", False),
        ("22.11.0", False),
        ("22.12.0", True),
        ("24.0.1", True),
    ],
)
def test_which_node_builds_the_web_app(version: str, is_enough: bool) -> None:
    assert install.builds_web_app(version) == is_enough


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with a lock of one package, which pip finds in a folder and nowhere else."""
    folder = tmp_path_factory.mktemp("project")
    wheels = folder / "wheels"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels],
        cwd=REPOSITORY / "clients" / "python",
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    [wheel] = wheels.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    uv = locked("requirements-dev.lock")["uv"]
    lock = f"greenroom-client==0.1.0 \\\n    --hash=sha256:{digest}\n{uv}"
    (folder / "requirements-dev.lock").write_text(lock)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
            patch.delenv(name)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(wheels))
        patch.chdir(folder)
        install.make_environment()
        yield folder


def installer_of_client(folder: Path, *, digest: str | None = None) -> str:
    """Installs the client anew, and answers what has installed it."""
    for each in folder.glob(".venv/lib/python*/site-packages/greenroom_client*"):
        shutil.rmtree(each)
    entry = install.entries(install.DEV_LOCK.read_text())["greenroom-client"]
    install.install(entry if digest is None else re.sub(r"(?<=sha256:)\w+", digest, entry))
    [described] = folder.glob(".venv/lib/python*/site-packages/greenroom_client-*.dist-info")
    return (described / "INSTALLER").read_text().strip()


def test_pip_installs_where_there_is_no_uv(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert installer_of_client(folder) == "pip"
    assert "installing with pip instead of uv" in capfd.readouterr().out


def test_pip_installs_where_uv_fails(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    version = install.entries(install.DEV_LOCK.read_text())["uv"].split()[0].removeprefix("uv==")
    say_version = f'test "$1" = --version && echo "uv {version}"'
    install.UV.write_text(f"#!/bin/sh\n{say_version} && exit\necho uv: no network >&2\nexit 2\n")
    install.UV.chmod(0o755)
    assert installer_of_client(folder) == "pip"
    said = capfd.readouterr()
    assert "uv: no network" in said.err
    assert "installing with pip instead of uv" in said.out


def test_uv_installs_where_it_works(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    install.UV.unlink(missing_ok=True)
    install.UV.symlink_to(Path(sys.executable).parent / "uv")
    assert installer_of_client(folder) == "uv"
    assert "pip" not in capfd.readouterr().out


def test_a_package_with_another_hash_is_not_installed(folder: Path) -> None:
    with pytest.raises(install.InstallError, match=r"failed, as said above: .* pip .*install"):
        installer_of_client(folder, digest="0" * 64)
