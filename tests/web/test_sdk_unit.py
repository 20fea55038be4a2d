"""The TypeScript client by itself: strict types, and its own tests with a clock in their hands."""

import json
from pathlib import Path

from .node import run_npm


def test_it_builds_and_its_own_tests_pass(installed_sdk: Path) -> None:
    said = run_npm("test")
    assert "fail 0" in said, said


def test_its_lock_has_hashes_and_no_addresses(installed_sdk: Path) -> None:
    text = (installed_sdk / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert all(each["integrity"] for name, each in packages.items() if name)
    assert "resolved" not in text


def test_it_brings_nothing_else_to_a_page(installed_sdk: Path) -> None:
    package = json.loads((installed_sdk / "package.json").read_text())
    assert "dependencies" not in package
    assert package["private"]
