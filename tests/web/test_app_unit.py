"""The web app's own tests: what needs no browser."""

import json
from pathlib import Path

import pytest

from bench.browser import embed_rows
from tools.webapp import build_web_app

from .node import APP, run_npm

LOCKS = list(APP.parent.glob("*/package-lock.json"))


def test_its_own_tests_pass(installed_app: Path) -> None:
    said = run_npm("test", folder=installed_app)
    assert "fail 0" in said, said


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in LOCKS))
def test_locks_have_hashes_and_no_addresses(folder: str) -> None:
    text = (APP.parent / folder / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert all(each["integrity"] for name, each in packages.items() if name)
    assert "resolved" not in text


def test_a_page_gets_lit_and_nothing_else_that_is_not_ours() -> None:
    package = json.loads((APP / "package.json").read_text())
    assert list(package["dependencies"]) == ["lit"]


def test_what_a_page_first_loads_of_the_embed_is_as_small_as_promised() -> None:
    build_web_app()
    first, *_ = embed_rows()
    assert first.holds, first.measured
