"""The folders of the inbox are the same in the rules, in the query and in the answer."""

from typing import get_args, get_type_hints

import pytest

from greenroom.conversations.inbox import FOLDERS, Folder, folders_counting
from greenroom.conversations.rest.bodies import InboxCounts, InboxQuery


def test_every_folder_has_a_rule_a_query_value_and_a_count() -> None:
    folders = [folder.value for folder in Folder]
    assert list(FOLDERS) == folders
    assert list(get_args(get_type_hints(InboxQuery)["folder"])) == folders
    assert list(InboxCounts.__struct_fields__) == folders


@pytest.mark.parametrize(
    ("placement", "kind", "is_unread", "needs_action", "expected"),
    [
        ("inbox", "inquiry", True, False, [Folder.ALL, Folder.OFFERS]),
        ("inbox", "project", True, True, [Folder.ALL, Folder.ACTION, Folder.BOOKINGS]),
        ("inbox", "project", False, True, [Folder.ACTION]),
        ("inbox", "support", False, False, []),
        ("archived", "project", True, True, [Folder.ARCHIVED]),
        ("spam", "invite", False, True, []),
    ],
)
def test_folders_count_what_is_unread_and_action_counts_what_waits(
    placement: str, kind: str, is_unread: bool, needs_action: bool, expected: list[Folder]
) -> None:
    assert (
        folders_counting(placement, kind, is_unread=is_unread, needs_action=needs_action)
        == expected
    )
