"""The web app's own tests: what needs no browser."""

import json
from pathlib import Path

from .site import APP, run_npm


def test_its_own_tests_pass(installed_app: Path) -> None:
    said = run_npm("test", folder=installed_app)
    assert "fail 0" in said, said


def test_its_lock_has_hashes_and_no_addresses() -> None:
    text = (APP / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert all(each["integrity"] for name, each in packages.items() if name)
    assert "resolved" not in text


def test_a_page_gets_lit_and_nothing_else_that_is_not_ours() -> None:
    package = json.loads((APP / "package.json").read_text())
    assert list(package["dependencies"]) == ["lit"]
