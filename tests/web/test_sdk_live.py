"""The TypeScript client and a real server: the same talk over every transport, and disasters."""

import itertools
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.server_process import ServerProcess, token_of

from .node import BIN, LIVE, PATIENCE_S, Json, run_node, with_node

_numbers = itertools.count(1)

TALK = [
    "first",
    *(f"{who} {turn}" for turn in range(1, 5) for who in ("ada", "ben")),
    "ben meanwhile",
    "ada offline 1",
    "ada offline 2",
]


def pair() -> tuple[str, str]:
    number = next(_numbers)
    return f"ada.{number}", f"ben.{number}"


def live(sdk: Path) -> Path:
    return sdk / LIVE / "test" / "live.js"


def known_to(server: ServerProcess, *users: str) -> None:
    for user in users:
        me(server, user, "/v1/me")


def me(server: ServerProcess, user: str, path: str) -> Json:
    headers = {"authorization": f"Bearer {token_of(user)}"}
    answer = httpx.get(server.url + path, headers=headers, timeout=PATIENCE_S)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


class TestTalk:
    """Two people talk, edit, delete, read; one goes offline, writes on, and reloads the page."""

    @pytest.mark.parametrize(
        ("blocked", "transport"),
        [
            ("", "websocket"),
            ("websocket", "sse"),
            ("websocket,sse", "long-poll"),
            ("websocket,sse,long-poll", "poll"),
        ],
    )
    def test_it_is_the_same_over_every_transport(
        self, built_sdk: Path, server: ServerProcess, blocked: str, transport: str
    ) -> None:
        ada, ben = pair()
        known_to(server, ada, ben)
        said = run_node(live(built_sdk), "talk", server.url, token_of(ada), token_of(ben), blocked)
        result = json.loads(said.splitlines()[-1])
        assert result["last"] == transport
        assert result["ada"] == result["ben"] == TALK
        kept = result["kept"]
        assert kept == [{"ben 1": "ben edited", "ben 2": ""}.get(each, each) for each in TALK]
        assert result["shown"] == [kept, kept]


class TestDisaster:
    @pytest.mark.parametrize("end", [ServerProcess.kill, ServerProcess.stop])
    def test_a_server_that_dies_and_returns_costs_no_message(
        self, built_sdk: Path, server: ServerProcess, end: Callable[[ServerProcess], object]
    ) -> None:
        ada, ben = pair()
        known_to(server, ada, ben)
        count = 200
        words = ["flood", server.url, token_of(ada), token_of(ben), str(count)]
        process = subprocess.Popen(
            [BIN / "node", "--enable-source-maps", live(built_sdk), *words],
            env=with_node(),
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == "flowing\n"
            end(server)
            assert process.poll() is None
            server.start()
            said, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        result = json.loads(said)
        expected = ["first", *(f"n{number}" for number in range(1, count + 1))]
        assert result["ada"] == expected
        assert result["ben"] == expected
        rows = {ada: 0, ben: count + 1}
        for user, unread in rows.items():
            found = me(server, user, f"/v1/threads/{result['threadId']}")
            assert found["inbox"]["unread_count"] == unread


NO_WEBSOCKET = {"NODE_OPTIONS": "--no-experimental-websocket"}
"""As on Node 20, which has none; the page says what happens there."""


@pytest.mark.parametrize(
    ("options", "transport"), [({}, "websocket"), (NO_WEBSOCKET, "sse")], ids=["new", "node20"]
)
def test_the_example_of_the_readme_works_as_it_stands(
    built_sdk: Path, server: ServerProcess, options: dict[str, str], transport: str
) -> None:
    [example] = re.findall(r"```js\n(.*?)```", (built_sdk / "README.md").read_text(), re.DOTALL)
    known_to(server, "maya", "noor")
    with beside_the_sdk(built_sdk) as folder:
        script = folder / "example.mjs"
        script.write_text(example)
        said = run_node(script, GREENROOM_URL=server.url, TOKEN=token_of("maya"), **options)
    assert f"live {transport}" in said
    newest = me(server, "noor", "/v1/inbox")["items"][0]
    messages = me(server, "noor", f"/v1/threads/{newest['thread']['id']}/messages")["items"]
    assert [each["body"] for each in messages] == [
        "Are you free on *Saturday*?",
        "After two would suit me.",
    ]


def test_the_snippet_for_pages_has_the_types_that_it_needs(built_sdk: Path) -> None:
    [snippet] = re.findall(r"```ts\n(.*?)```", (built_sdk / "README.md").read_text(), re.DOTALL)
    with beside_the_sdk(built_sdk) as folder:
        (folder / "page.mts").write_text(snippet)
        options = ["--strict", "--noEmit", "--module", "nodenext", "--lib", "es2022,dom"]
        tsc = built_sdk / "node_modules" / "typescript" / "bin" / "tsc"
        assert run_node(tsc, *options, folder / "page.mts") == ""


@contextmanager
def beside_the_sdk(built_sdk: Path) -> Iterator[Path]:
    """A folder in which `@greenroom/sdk` is installed."""
    with tempfile.TemporaryDirectory(prefix="greenroom-example-") as folder:
        scope = Path(folder) / "node_modules" / "@greenroom"
        scope.mkdir(parents=True)
        (scope / "sdk").symlink_to(built_sdk)
        yield Path(folder)
