"""docs/limits.md is up to date."""

from dataclasses import fields

import pytest

from greenroom.kernel.limits import Limits
from greenroom.settings import describe, limit_variable
from tests.support import REPOSITORY
from tools.limits import PAGE, page

NAMES = [each.name for each in fields(Limits)]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run `make limits`."


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_says_in_words_what_it_limits(name: str) -> None:
    [limit] = [each for each in fields(Limits) if each.name == name]
    text = limit.metadata["text"]
    assert text[0].isupper()
    assert not text.endswith(".")
    assert f"| {text} | {limit.default:,} | `{limit_variable(name)}` |" in page().splitlines()


def test_no_two_limits_say_the_same() -> None:
    assert len({each.metadata["text"] for each in fields(Limits)}) == len(NAMES)


def test_the_command_says_it_too() -> None:
    told = {row["name"]: row["description"] for row in describe({})}
    assert told["GREENROOM_LIMIT_STARTS_PER_HOUR"] == (
        "Conversations that an unverified person may start per hour"
    )


def test_the_readme_leads_to_it() -> None:
    readme = REPOSITORY / "README.md"
    assert "(docs/limits.md)" in readme.read_text()
