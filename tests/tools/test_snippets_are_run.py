"""What the documents print for people to copy is run by a test, as it is printed."""

import re

from tests.support import REPOSITORY

PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "web/*/README.md", "clients/*/README.md")

RUN_BY = {
    ("clients/python/README.md", "python"): "tests/client/test_docs.py",
    ("README.md", "html"): "tests/browser/test_snippets.py",
    ("docs/authentication.md", "javascript"): "tests/platform/tokens/test_token_page.py",
    ("docs/authentication.md", "mjs"): "tests/platform/tokens/test_token_page.py",
    ("docs/authentication.md", "php"): "tests/platform/tokens/test_token_page.py",
    ("docs/authentication.md", "python"): "tests/platform/tokens/test_token_page.py",
    ("docs/authentication.md", "ruby"): "tests/platform/tokens/test_token_page.py",
    ("docs/backend.md", "sh"): "tests/conversations/test_backend_page.py",
    ("docs/cards.md", "python"): "tests/cards/test_own_types.py",
    ("docs/cards.md", "text"): "tests/cards/test_own_types.py",
    ("docs/cards.md", "toml"): "tests/cards/test_own_types.py",
    ("docs/client.md", "python"): "tests/client/test_docs.py",
    ("docs/deployment.md", "sh"): "tests/tools/test_operator_pages.py",
    ("docs/embed.md", "html"): "tests/browser/test_snippets.py",
    ("docs/embed.md", "js"): "tests/browser/test_snippets.py",
    ("docs/embed.md", "jsx"): "tests/browser/test_snippets.py",
    ("docs/embed.md", "vue"): "tests/browser/test_snippets.py",
    ("docs/errors.md", "json"): "tests/tools/test_errors_page.py",
    ("docs/eventbridge.md", "json"): "tests/webhooks/test_eventbridge_page.py",
    ("docs/events.md", "json"): "tests/webhooks/test_catalogue.py",
    ("docs/files.md", "sh"): "tests/files/test_page.py",
    ("docs/import.md", "json"): "tests/commands/test_import.py",
    ("docs/import.md", "sh"): "tests/commands/test_import.py",
    ("docs/install.md", "sh"): "tests/tools/test_operator_pages.py",
    ("docs/operations.md", "sh"): "tests/tools/test_operator_pages.py",
    ("docs/walk.md", "sh"): "tests/demo/test_walk.py",
    ("docs/webhooks.md", "javascript"): "tests/webhooks/test_page.py",
    ("docs/webhooks.md", "python"): "tests/webhooks/test_page.py",
    ("web/sdk/README.md", "js"): "tests/web/test_sdk_live.py",
    ("web/sdk/README.md", "ts"): "tests/web/test_sdk_live.py",
}
SHAPES = {("docs/realtime.md", "json")}
"""Nobody copies these: they show the form of an event, with an ellipsis for the rest."""

NOT_RUN = {("docs/webhooks.md", "php"), ("docs/webhooks.md", "ruby")}
"""The page says so."""


def snippets() -> set[tuple[str, str]]:
    """The pages with the languages of their blocks. A block without one is a drawing."""
    pages = (page for pattern in PAGES for page in REPOSITORY.glob(pattern))
    return {
        (str(page.relative_to(REPOSITORY)), language)
        for page in pages
        for language in re.findall(r"^```(\w+)$", page.read_text(), re.MULTILINE)
    }


def test_every_snippet_is_run_by_a_test() -> None:
    assert snippets() - SHAPES - NOT_RUN == set(RUN_BY)


def test_these_tests_are_there() -> None:
    assert [test for test in RUN_BY.values() if not (REPOSITORY / test).is_file()] == []
