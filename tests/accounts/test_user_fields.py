"""The checks of a user's fields."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.accounts.model import UserChanges, check_changes, check_user_id, clean_line
from greenroom.kernel.errors import InvalidRequest


@pytest.mark.parametrize("user_id", ["a", "A-Z_0.9:x", "7", "a" * 64])
def test_user_ids_of_the_marketplace_are_taken(user_id: str) -> None:
    check_user_id(user_id)


@pytest.mark.parametrize("user_id", ["", "a" * 65, "a b", "ada@example.org", "ada\n", "ädа", "\0"])
def test_other_user_ids_are_refused(user_id: str) -> None:
    with pytest.raises(InvalidRequest):
        check_user_id(user_id)


@pytest.mark.parametrize(
    "changes",
    [
        UserChanges(display_name="x" * 81),
        UserChanges(avatar_url="http://example.org/a.png"),
        UserChanges(avatar_url="javascript:alert(1)"),
        UserChanges(avatar_url="https://"),
        UserChanges(avatar_url="https://[::1"),
        UserChanges(avatar_url="https://user:pass@example.org/"),
        UserChanges(avatar_url="https://example.org:99999/"),
        UserChanges(avatar_url="https://example.org/a b"),
        UserChanges(avatar_url="https://example.org/\n"),
        UserChanges(avatar_url="https://example.org/" + "a" * 2048),
        UserChanges(roles=["Model"]),
        UserChanges(roles=[""]),
        UserChanges(roles=["x" * 33]),
        UserChanges(roles=[f"role{number}" for number in range(11)]),
        UserChanges(timezone="Europe/Atlantis"),
        UserChanges(timezone="../etc/passwd"),
        UserChanges(timezone="localtime"),
        UserChanges(locale="english"),
        UserChanges(locale="en_US"),
        UserChanges(locale="en-" + "a-" * 40),
    ],
)
def test_unfit_values_are_refused(changes: UserChanges) -> None:
    with pytest.raises(InvalidRequest):
        check_changes(changes)


@pytest.mark.parametrize(
    "changes",
    [
        UserChanges(),
        UserChanges(avatar_url=None, timezone=None, locale=None),
        UserChanges(avatar_url="https://cdn.example.org/a.png?v=1"),
        UserChanges(avatar_url="http://127.0.0.1:8000/a.png"),
        UserChanges(roles=["model", "studio-owner", "x_1"]),
        UserChanges(timezone="America/Argentina/Buenos_Aires"),
        UserChanges(locale="zh-Hant-TW"),
    ],
)
def test_fit_values_stay_as_they_are(changes: UserChanges) -> None:
    assert check_changes(changes) == changes


def test_names_are_composed_and_cleaned() -> None:
    cleaned = check_changes(
        UserChanges(display_name=" Zoe\u0308\u202e\x00\n👩‍🎤 ", roles=["a", "a"])
    )
    assert cleaned == UserChanges(display_name="Zoë👩‍🎤", roles=["a"])


@given(st.text())
def test_a_cleaned_line_has_no_control_characters_and_stays_clean(text: str) -> None:
    line = clean_line(text)
    assert not any(unicodedata.category(character) == "Cc" for character in line)
    assert clean_line(line) == line
