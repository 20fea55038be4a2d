"""The walk of docs/walk.md works as it is pasted, into bash and zsh, any number of times."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support import REPOSITORY
from tests.support.demo import start_demo
from tools.demo import Demo

from .pasting import Shell

SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
COMPLAINTS = ("command not found", "no matches found", "parse error", "Traceback", '"hint":')
STEPS = [f"{number}." for number in range(1, 10)]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def demo(database_url: str) -> Iterator[Demo]:
    with start_demo({"GREENROOM_DATABASE_URL": database_url}) as running:
        yield running


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, demo: Demo, database_url: str) -> Iterator[Shell]:
    for program in (request.param, "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here")
    others = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
    where = {
        "GREENROOM_HOME": str(demo.settings.home),
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_PORT": str(urlsplit(demo.url).port),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    opened = Shell(SHELLS[request.param], REPOSITORY, {**others, **where})
    yield opened
    opened.close()


def walk() -> str:
    """The page's only block, as it stands."""
    page = (REPOSITORY / "docs/walk.md").read_text()
    [block] = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return str(block).strip()


def answers(shown: str) -> list[Json]:
    lines = (line.strip() for line in shown.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_the_walk_works_as_often_as_it_is_pasted(shell: Shell) -> None:
    bookings = set()
    for _ in range(2):
        pasted, _, shown = shell.paste(walk()).rpartition("panel/expenses")
        assert pasted, "the terminal shows what was pasted"
        assert [each for each in COMPLAINTS if each in shown] == [], shown
        assert re.findall(r"^\d\.", shown, re.MULTILINE) == STEPS, shown
        ada, ben, inbox, message, news, confirmed, accepted, expenses = answers(shown)
        assert (ada["user"]["verified"], ben["user"]["roles"]) == (True, ["photographer"])
        assert [item["inbox"]["unread_count"] for item in inbox["items"]] == [1]
        assert [event["message"]["id"] for event in news["events"]] == [message["id"]]
        assert confirmed["booking"]["state"] == "confirmed"
        assert accepted["card"]["state"] in ("charging", "paid")
        assert expenses["data"]["sums"]["agreed"]["amount_cents"] == 45_000
        bookings.add(confirmed["booking"]["id"])
    assert len(bookings) == 2
