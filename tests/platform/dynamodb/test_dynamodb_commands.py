"""`greenroom dynamodb …` as it is typed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from greenroom import cli
from tests.support.databases import new_home


class Terminal:
    """Types commands for one home, with the embedded engine unless told otherwise."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys

    def run(self, *words: str) -> tuple[int, str, str]:
        try:
            code = cli.main(["dynamodb", *words])
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = self._capsys.readouterr()
        return code, shown.out, shown.err


@pytest.fixture
def terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Terminal]:
    home = new_home()
    for name in [each for each in os.environ if each.startswith(("AWS_", "GREENROOM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GREENROOM_HOME", str(home))
    monkeypatch.setenv("GREENROOM_DYNAMODB_ENDPOINT", "embedded")
    yield Terminal(home, capsys)
    shutil.rmtree(home)


def test_a_table_is_made_and_made_again(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = terminal.run("create-table", "--tag", "team=a=b", "--tag", "empty=")
    assert (code, err) == (0, "")
    assert out.startswith("The table greenroom was created.\n")
    assert "when GREENROOM_CONVERSATIONS is dynamodb" in out
    monkeypatch.setenv("GREENROOM_CONVERSATIONS", "dynamodb")
    code, out, _ = terminal.run("create-table")
    assert code == 0
    assert "The table greenroom was there already." in out
    assert "GREENROOM_CONVERSATIONS" not in out


def test_an_epoch_begins(terminal: Terminal) -> None:
    terminal.run("create-table")
    code, out, _ = terminal.run("new-epoch")
    assert code == 0
    found = re.match(r"[0-9a-f]{8}(?=: every client will reload)", out)
    assert found is not None
    assert f"epoch of its feeds is {found[0]}" in terminal.run("create-table")[1]


def test_an_epoch_needs_a_table(terminal: Terminal) -> None:
    code, _, err = terminal.run("new-epoch")
    assert code == 1
    assert "`greenroom dynamodb create-table`" in err


@pytest.mark.parametrize(
    ("tag", "complaint"),
    [
        ("team", "takes NAME=VALUE, such as team=messaging"),
        ("=x", "takes NAME=VALUE"),
        ("x" * 129 + "=", "takes NAME=VALUE"),
        ("a=" + "x" * 257, "at most 256 characters"),
    ],
)
def test_a_wrong_tag_is_refused(terminal: Terminal, tag: str, complaint: str) -> None:
    code, _, err = terminal.run("create-table", "--tag", tag)
    assert code == 2
    assert complaint in err


def test_too_many_tags_are_refused(terminal: Terminal) -> None:
    tags = [word for n in range(50) for word in ("--tag", f"t{n}=1")]
    code, _, err = terminal.run("create-table", *tags)
    assert code == 1
    assert "takes 49 tags of yours, not 50" in err
    assert not (terminal.home / "dynamodb").exists()


def test_aws_needs_a_region_and_credentials(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GREENROOM_DYNAMODB_ENDPOINT")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(terminal.home / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(terminal.home / "none"))
    code, _, err = terminal.run("create-table")
    assert code == 1
    assert "Set GREENROOM_DYNAMODB_REGION" in err
    monkeypatch.setenv("GREENROOM_DYNAMODB_REGION", "eu-central-1")
    code, _, err = terminal.run("create-table")
    assert code == 1
    assert "Set AWS_ACCESS_KEY_ID" in err


@pytest.mark.parametrize("package", ["botocore"])
def test_without_the_extra_it_says_what_to_install(terminal: Terminal, package: str) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from greenroom import cli\n"
        "sys.exit(cli.main(['dynamodb', 'create-table']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "GREENROOM_HOME": str(terminal.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"greenroom: DynamoDB needs the package {package}")
    assert "pip install 'greenroom[dynamodb]'" in ended.stderr
