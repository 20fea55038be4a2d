"""A pytest plugin (`-p tools.sharing`) that distributes the tests of `make test` over processes."""

import os

import pytest

LONGEST = (
    "tests/browser/test_accessibility.py",
    "tests/browser/test_cards.py",
    "tests/browser/test_snippets.py",
    "tests/browser/test_files.py",
    "tests/api/test_matrix.py",
    "tests/browser/test_hostile_text.py",
    "tests/demo/test_loading.py",
    "tests/platform/embedded/test_postgres.py",
    "tests/browser/test_starting.py",
    "tests/browser/test_messages.py",
    "tests/demo/test_command.py",
    "tests/browser/test_reading.py",
    "tests/browser/test_phone.py",
    "tests/demo/test_both_stores.py",
    "tests/commands/test_closed_pipes.py",
    "tests/realtime/test_unreadable.py",
    "tests/cards/test_every_transition.py",
    "tests/stores/test_dynamodb_half_done.py",
    "tests/browser/test_languages.py",
    "tests/commands/test_cli.py",
    "tests/bookings/charging/test_killed.py",
    "tests/browser/test_offline.py",
    "tests/demo/test_loading_dynamodb.py",
    "tests/web/test_sdk_live.py",
    "tests/hardening/test_reference.py",
    "tests/browser/test_conversation.py",
    "tests/browser/test_scrolling.py",
    "tests/torture/test_kills.py",
    "tests/browser/test_theming.py",
    "tests/stores/test_many_at_once.py",
    "tests/torture/test_charging.py",
    "tests/browser/test_tabs.py",
    "tests/torture/test_switches.py",
    "tests/client/test_live_transports.py",
    "tests/demo/test_walk.py",
    "tests/distributions/test_server_wheel.py",
    "tests/web/test_sdk_unit.py",
    "tests/client/test_live_kills.py",
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
