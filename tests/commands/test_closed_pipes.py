"""A command ends without an error message if the reader of its output goes away."""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from greenroom import cli
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from tests.support import REPOSITORY, command
from tests.support.api import Api
from tests.support.databases import new_home
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE_S

CLOSED = 128 + signal.SIGPIPE

NOBODY = f"http://127.0.0.1:{free_port()}/hook"
# An event that does not happen here, so that nothing is posted.
ADD_WEBHOOK = ("webhooks", "add", NOBODY, "--events", "docs.pack.expired", "--json")

SILENT = {"serve", "worker"}
"""They print logs only, and do not end when nobody reads them."""
PRINTING: dict[str, list[str]] = {
    "demo": ["--load-only"],
    "token": ["maya"],
    "keys create": ["a key"],
    "keys list": [],
    "keys revoke": ["KEY"],
    "migrate": [],
    "db start": [],
    "db stop": [],
    "db status": [],
    "db url": [],
    "dynamodb create-table": [],
    "dynamodb new-epoch": [],
    "check": [],
    "users export": ["USER"],
    "users erase": ["GONE", "--yes"],
    "threads hold": ["THREAD", "--reason", "a case"],
    "threads release": ["THREAD"],
    "import": ["HISTORY"],
    "events list": [],
    "webhooks add": ["ADDRESS"],
    "webhooks list": [],
    "webhooks deliveries": ["WEBHOOK"],
    "webhooks enable": ["WEBHOOK"],
    "webhooks rotate": ["WEBHOOK"],
    "webhooks test": ["WEBHOOK"],
    "webhooks replay": ["WEBHOOK", "--since", "2020-01-01T00:00:00Z"],
    "webhooks remove": ["WEBHOOK"],
    "backup": ["NEW"],
    "restore": ["FILE", "--yes"],
    "jobs list": [],
    "jobs replay": ["--all"],
    "payments list": [],
    "payments retry": ["--all", "--json"],
    "payments-sandbox": [],
    "config": [],
    "doctor": [],
    "cost": [],
    "openapi": [],
    "version": [],
}
"""What each command takes; words in capitals stand for something that there is."""


@dataclass(frozen=True)
class Ended:
    code: int
    err: str
    """Without lines that tell how far it is."""

    @classmethod
    def of(cls, code: int, err: str) -> Self:
        lines = err.splitlines(keepends=True)
        return cls(code, "".join(line for line in lines if not is_progress(line)))


def is_progress(line: str) -> bool:
    return re.match(r" *\d+% ", line) is not None


class Greenroom:
    """The command on a database with somebody in it."""

    def __init__(self, home: Path, variables: dict[str, str]) -> None:
        self._given = {"GREENROOM_HOME": str(home), **variables}

    def run(self, *argv: str) -> str:
        done = command.run(*argv, given=self._given)
        assert done.code == 0, done.err
        return done.out

    def read_nothing(self, *argv: str) -> Ended:
        """Runs it into a pipe that is closed from the beginning."""
        with closed_pipe() as pipe:
            process = command.start(*argv, given=self._given, stdout=pipe)
        _, err = process.communicate(PATIENCE_S)
        return Ended.of(process.wait(), err)

    def read_nothing_unbuffered(self, *argv: str) -> Ended:
        """The same, in a process that writes each line at once."""
        with closed_pipe() as pipe:
            done = subprocess.run(
                [*command.PROGRAM, *argv],
                cwd=REPOSITORY,
                env=command.environment({**self._given, "PYTHONUNBUFFERED": "1"}),
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=subprocess.PIPE,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        return Ended.of(done.returncode, done.stderr)


@contextmanager
def closed_pipe() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """That PostgreSQL may enter, which does not run as root."""
    folder = new_home()
    yield folder
    EmbeddedPostgres(folder).stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def greenroom(
    home: Path,
    database_url: str,
    dynamodb_access: Access,
    dynamodb_table: str,
    conversations_environment: dict[str, str],
) -> Greenroom:
    table = {
        "GREENROOM_DYNAMODB_ENDPOINT": dynamodb_access.url,
        "GREENROOM_DYNAMODB_TABLE": dynamodb_table,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
    }
    egress = {"GREENROOM_EGRESS_ALLOW": "127.0.0.1"}
    given = {"GREENROOM_DATABASE_URL": database_url, **table, **egress, **conversations_environment}
    return Greenroom(home, given)


@pytest.fixture(scope="module")
async def things(api: "Api", greenroom: Greenroom, home: Path) -> dict[str, str]:
    """What the words in capitals stand for."""
    maya, theo, gone = await api.people("maya", "theo", "gone")
    file, history = home / "backup", home / "history.ndjson"
    history.write_text('{"type": "person", "id": "imported"}\n')
    webhook = json.loads(greenroom.run(*ADD_WEBHOOK))
    things = {
        "KEY": (await api.rooms.accounts.create_key("to be revoked")).key.key_id,
        "USER": maya.id,
        "GONE": gone.id,
        "THREAD": await maya.thread_with(theo),
        "FILE": str(file),
        "HISTORY": str(history),
        "ADDRESS": NOBODY,
        "WEBHOOK": webhook["id"],
        "NEW": str(home / "another"),
    }
    greenroom.run("backup", str(file))
    return things


def commands(parser: argparse.ArgumentParser, *words: str) -> Iterator[str]:
    """All that there are."""
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not groups:
        yield " ".join(words)
    for group in groups:
        for name, below in group.choices.items():
            yield from commands(below, *words, name)


def test_every_command_is_tried() -> None:
    assert set(commands(cli._parser())) == SILENT | set(PRINTING)


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
@pytest.mark.parametrize("words", PRINTING)
def test_a_closed_pipe_ends_every_command_quietly(
    words: str, greenroom: Greenroom, things: dict[str, str]
) -> None:
    options = [things.get(word, word) for word in PRINTING[words]]
    assert greenroom.read_nothing(*words.split(), *options) == Ended(CLOSED, "")


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
def test_it_makes_no_difference_when_each_line_is_written_at_once(greenroom: Greenroom) -> None:
    assert greenroom.read_nothing_unbuffered("config") == Ended(CLOSED, "")


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
@pytest.mark.parametrize("words", ["", "serve", "users", "users export"])
def test_so_it_is_with_help(words: str, greenroom: Greenroom) -> None:
    assert greenroom.read_nothing(*words.split(), "--help") == Ended(CLOSED, "")


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
def test_a_failure_is_told_although_nobody_reads_the_output(greenroom: Greenroom) -> None:
    ended = greenroom.read_nothing("users", "export", "who.is.that")
    assert ended.code == 1
    assert "There is no user who.is.that" in ended.err
