"""`greenroom demo`, used as its own text tells people to."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from greenroom.demo.welcome import Sample, welcome
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.settings import load_settings, server_url
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from .conftest import NewDatabase

from tests.support import command
from tests.support.databases import new_home
from tests.support.ports import free_port

# For a machine without curl: as much of it as the box uses.
CURL = """
import argparse, httpx
parser = argparse.ArgumentParser()
parser.add_argument("-s", action="store_true")
parser.add_argument("-H", action="append")
parser.add_argument("-d")
parser.add_argument("url")
args = parser.parse_args()
headers = dict(header.split(": ", 1) for header in args.H)
method = "GET" if args.d is None else "POST"
print(httpx.request(method, args.url, headers=headers, content=args.d).text)
"""


class Demo:
    """A running demo and the box that it printed."""

    def __init__(self, home: Path, kept: dict[str, str], *options: str) -> None:
        given = {"GREENROOM_HOME": str(home), **kept}
        self.process = command.start("demo", "--port", "0", *options, given=given)
        self.box = self._read_box()
        self.server_url = self._find(r"API +(http://127\.0\.0\.1:\d+)/v1\n")
        self.thread_id = self._find(r"/v1/threads/([^/]+)/messages")

    def _read_box(self) -> str:
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            lines.append(line)
            if "".join(lines).count("─" * 78) == 2:
                return "".join(lines)
        raise AssertionError("".join(lines) + self.process.communicate()[1])

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, self.box)
        assert found, self.box
        return found[1]

    def counts(self) -> tuple[int, int, int]:
        people, threads, messages = (
            int(self._find(rf"([\d,]+) {noun}").replace(",", ""))
            for noun in ("people", "threads", "messages")
        )
        return people, threads, messages

    def pasted(self) -> list[str]:
        """The commands in the box, each with the lines that continue it."""
        return re.findall(r"^  (curl (?:.*\\\n)*.*)$", self.box, re.MULTILINE)

    def messages(self) -> list[dict[str, Any]]:
        token = self._find(r"MAYA=(\S+)")
        answer = httpx.get(
            f"{self.server_url}/v1/threads/{self.thread_id}/messages",
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE_S,
        )
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def kill(self) -> None:
        """As a machine that goes away: nothing is finished, nothing is told."""
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.wait()


# As `make run` and `make run STORE=dynamodb` set it.
KEPT = {
    "postgres": {},
    "dynamodb": {
        "GREENROOM_CONVERSATIONS": "dynamodb",
        "GREENROOM_DYNAMODB_ENDPOINT": "embedded",
    },
}


@pytest.fixture(params=KEPT)
def start(request: pytest.FixtureRequest) -> Iterator[Callable[..., Demo]]:
    """Starts the demo in one home, as often as it is called."""
    # Not pytest's tmp_path: as root, PostgreSQL's account could not enter it.
    street = new_home()
    started: list[Demo] = []

    def start_one(*options: str) -> Demo:
        started.append(Demo(street / "home", KEPT[request.param], *options))
        return started[-1]

    yield start_one
    for demo in started:
        demo.process.kill()
        demo.process.communicate(timeout=PATIENCE_S)
    EmbeddedPostgres(street / "home").stop()
    if request.param == "dynamodb":
        # Its last user stops it, also one that comes after a kill.
        with EmbeddedDynamoDb(street / "home").using():
            pass
    shutil.rmtree(street)


def paste(command: str) -> Any:
    if shutil.which("curl") is None:
        command = f'curl() {{ {sys.executable} -c "$CURL" "$@"; }}; {command}'
    ran = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "CURL": CURL},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return json.loads(ran.stdout)


def test_the_commands_work_as_pasted_and_the_data_stays(start: Callable[..., Demo]) -> None:
    demo = start("--messages", "200", "--no-host-page")
    people, threads, messages = demo.counts()
    assert people == 15 + 2
    assert threads == 20 + 5
    assert messages > 200
    before = demo.messages()
    assert {message["author_id"] for message in before} == {"maya", "theo"}
    say, see, sign_in = demo.pasted()
    said = paste(say)
    assert said["body"] == "Plan B, please. I know that sky."
    arrived = [event["message"] for event in paste(see)["events"] if "message" in event]
    assert said["id"] in [message["id"] for message in arrived]
    assert paste(say)["id"] != said["id"]
    assert paste(sign_in)["user"]["user_id"] == "noor"
    for page in ("/docs", "/readyz", "/demo/people", "/demo/avatars/maya.svg"):
        assert httpx.get(demo.server_url + page, timeout=PATIENCE_S).status_code == 200
    demo.kill()

    host_port = free_port()
    again = start("--messages", "200", "--workers", "2", "--host-port", str(host_port))
    assert again.thread_id == demo.thread_id
    assert again.counts() == (people, threads, messages + 2)
    assert again.messages()[:-2] == before
    # The workers know that they are a demo's.
    answer = httpx.post(
        f"{again.server_url}/demo/sign-in", json={"user_id": "theo"}, timeout=PATIENCE_S
    )
    assert answer.json()["user"]["role"] == "photographer"
    # The page of another origin, of which the workers know too.
    check_host_page(f"http://127.0.0.1:{host_port}", again.server_url)
    assert again.interrupt() == 0


def check_host_page(host_url: str, server_url: str) -> None:
    asked = httpx.post(f"{host_url}/chat-token", json={"user_id": "maya"}, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {asked.text}", "Origin": host_url}
    answer = httpx.get(f"{server_url}/v1/me", headers=headers, timeout=PATIENCE_S)
    assert answer.json()["user"]["user_id"] == "maya"
    assert answer.headers["access-control-allow-origin"] == host_url


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--threads", "5"], "--threads goes with --messages"),
        (["--threads", "50", "--messages", "49"], "--threads is at most --messages"),
        (["--messages", "0"], "takes a whole number from 1"),
    ],
)
def test_sizes_that_make_no_sense_are_told_before_anything_starts(
    tmp_path: Path, options: list[str], complaint: str
) -> None:
    home = {"GREENROOM_HOME": str(tmp_path / "home")}
    ran = command.run("demo", "--load-only", *options, given=home)
    assert ran.code == 2
    assert complaint in ran.err
    assert not (tmp_path / "home").exists()


async def test_load_only_loads_says_what_there_is_and_ends(
    tmp_path: Path, new_database: "NewDatabase"
) -> None:
    url = await new_database()
    said = []
    for _ in range(2):
        given = {"GREENROOM_HOME": str(tmp_path), "GREENROOM_DATABASE_URL": url}
        ran = command.run("demo", "--load-only", "--messages", "100", given=given)
        assert ran.code == 0, ran.err
        said.append(ran.out.splitlines())
        assert ("100% 100 of 100 messages" in ran.err) == (len(said) == 1)
    assert said[0][-1] == said[1][-1]
    assert re.fullmatch(r"loaded: 17 people, 22 threads, \d+ messages", said[0][-1])
    assert "the messages of --seed 1 are there already; another seed adds more" in said[1]


@pytest.mark.parametrize(
    ("variables", "here"),
    [
        ({"GREENROOM_HOST": "0.0.0.0"}, "http://127.0.0.1:8000"),  # noqa: S104
        ({"GREENROOM_HOST": "::"}, "http://127.0.0.1:8000"),
        ({"GREENROOM_HOST": "::1"}, "http://[::1]:8000"),
        ({"GREENROOM_HOST": "chat.example.com"}, "http://chat.example.com:8000"),
        ({"GREENROOM_TLS_CERT": "cert.pem"}, "https://127.0.0.1:8000"),
    ],
)
def test_the_box_names_an_address_that_can_be_opened(variables: dict[str, str], here: str) -> None:
    assert server_url(load_settings(variables), 8000) == here
    tokens = {"maya": "token of maya", "theo": "token of theo"}
    sample = Sample("thr_1", tokens, 5115, 25_015, 1_000_194, bookings=13, open_cards=14)
    box = welcome(sample, here, host_page=f"{here[:-4]}8001", is_built=True)
    assert f"  App       {here}/app\n  Host page {here[:-4]}8001/\n" in box
    assert f"{here}/docs\n" in box
    assert f"curl -s {here}/v1/threads/thr_1/messages" in box
    assert "MAYA=token of maya\n" in box
    assert "5,115 people, 25,015 threads, 1,000,194 messages" in box
    assert "13 bookings are made, 14 cards wait" in box


def test_the_box_leads_to_no_page_that_is_not_there() -> None:
    sample = Sample("thr_1", {"maya": "m", "theo": "t"}, 1, 1, 1, bookings=1, open_cards=1)
    bare = welcome(sample, "http://127.0.0.1:8000", host_page=None, is_built=True)
    assert "/app\n" in bare
    assert "Host page" not in bare
    unbuilt = welcome(
        sample, "http://127.0.0.1:8000", host_page="http://127.0.0.1:1", is_built=False
    )
    assert "/app\n" not in unbuilt
    assert "run `make web`" in unbuilt
