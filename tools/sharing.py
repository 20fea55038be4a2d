"""A pytest plugin (`-p tools.sharing`) that distributes the tests of `make test` over processes."""

import os

import pytest

LONGEST = (
    "tests/client/test_live_kills.py",
    "tests/torture/test_kills.py",
    "tests/api/test_matrix.py",
    "tests/browser/test_cards.py",
    "tests/demo/test_both_stores.py",
    "tests/browser/test_accessibility.py",
    "tests/browser/test_hostile_text.py",
    "tests/hardening/test_reference.py",
    "tests/demo/test_command.py",
    "tests/stores/test_any_history.py",
    "tests/commands/test_cli.py",
    "tests/bookings/test_money_histories.py",
    "tests/conversations/upkeep/test_upkeep_commands.py",
)
"""The files that take longest; `make test` prints the slowest tests. They come first, so that in
the end no core waits for one of them. A file that is missing here only makes the end less even."""


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: tests that wait for a process leave their core to another. Each worker
    costs engines of its own, so it is not more."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.split("::")[0], len(ranks)))
