"""How `make test` shares the tests out: a pytest plugin, `-p tools.sharing`."""

import os

import pytest

LONGEST = (
    "tests/contract/test_any_history.py",
    "tests/browser/test_accessibility.py",
    "tests/upkeep/test_upkeep_commands.py",
    "tests/hardening/test_reference.py",
    "tests/torture/test_kills.py",
    "tests/client/test_live_kills.py",
    "tests/charging/test_killed.py",
    "tests/test_cli.py",
    "tests/demo/test_command.py",
    "tests/browser/test_hostile_text.py",
    "tests/browser/test_cards.py",
    "tests/charging/test_timers.py",
    "tests/demo/test_both_stores.py",
)
"""The files that take longest; `pytest --durations=300` tells. They come first, so that in the end
no core waits for one of them. A file that is not here only makes the end a little less even."""


def pytest_xdist_auto_num_workers() -> int:
    """Many tests wait for a process that starts or dies, and leave their core to another."""
    return (os.cpu_count() or 1) * 3 // 2 + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.split("::")[0], len(ranks)))
