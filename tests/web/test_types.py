"""The client's types are those of the server's own reference."""

import json
from pathlib import Path

from tests.support import command

from .node import run_node

TYPES = "src/openapi.ts"


def reference(home: Path, *options: str) -> str:
    """As the command prints it, where there is no database and nothing may be written."""
    done = command.run("openapi", *options, given={"GREENROOM_HOME": str(home)})
    assert done.code == 0, done.err
    assert not home.exists()
    return done.out


def test_the_reference_can_be_printed_without_a_server(tmp_path: Path) -> None:
    paths = json.loads(reference(tmp_path / "home"))["paths"]
    assert "/v1/threads/{thread_id}/panel" in paths
    assert "/demo/people" not in paths
    assert "/app" not in paths
    assert "/demo/people" in json.loads(reference(tmp_path / "home", "--demo"))["paths"]


def test_the_types_are_generated_from_the_reference(installed_sdk: Path, tmp_path: Path) -> None:
    """That of the demo: the web app signs its people in."""
    document = tmp_path / "openapi.json"
    document.write_text(reference(tmp_path / "home", "--demo"))
    made = tmp_path / "openapi.ts"
    run_node(installed_sdk / "scripts" / "types.mjs", document, made)
    assert made.read_text() == (installed_sdk / TYPES).read_text(), "run `make types`"
