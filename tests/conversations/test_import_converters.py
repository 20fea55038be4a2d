"""Conversations of other systems become lines of an import, as the tables of docs/import.md say."""

import io
import json
from typing import Any

import pytest

from greenroom.conversations.importing.converters import CONVERTERS, converted
from greenroom.conversations.importing.lines import Reader, ThreadLine, parse_line
from greenroom.kernel.clock import system_clock
from greenroom.kernel.limits import Limits
from tests.support import REPOSITORY

EXAMPLES = {"talkjs": "talkjs.ndjson", "stream": "stream.json", "sendbird": "sendbird.ndjson"}
LINK = "(https://files.example/studio.jpg)"


def lines_of(source: str, text: bytes) -> list[dict[str, Any]]:
    found = list(converted(io.BytesIO(text), CONVERTERS[source]))
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    return [json.loads(line) for _, line in found]


@pytest.mark.parametrize("source", EXAMPLES)
def test_the_example_becomes_a_conversation(source: str) -> None:
    lines = lines_of(source, (REPOSITORY / "docs/import" / EXAMPLES[source]).read_bytes())
    reader = Reader(Limits(), system_clock())
    for line in lines:
        parsed = parse_line(json.dumps(line).encode())
        if isinstance(parsed, ThreadLine):
            reader.thread(parsed)
    people = {line["id"]: line["display_name"] for line in lines if line["type"] == "person"}
    assert people == {"ada": "Ada", "ben": "Ben"}
    [thread] = [line for line in lines if line["type"] == "thread"]
    assert thread["subject"] == "Spring lookbook"
    assert thread["created_at"].startswith("2024-03-01T09:00:00")
    assert [tuple(each.values()) for each in thread["participants"]] == [
        ("ada", "buyer"),
        ("ben", "seller"),
    ]
    asked, answer, notice, *deleted = [line for line in lines if line["type"] == "message"]
    assert (asked["author"], asked["body"]) == ("ada", "Are you free on Saturday?")
    assert (answer["author"], answer["reply_to"]) == ("ben", asked["id"])
    assert answer["body"].endswith(LINK)
    assert (notice["author"], notice["body"]) == (None, "The deposit is paid.")
    assert all(each["deleted_at"] for each in deleted)
    read = {line["user"]: line["message"] for line in lines if line["type"] == "read"}
    assert read["ada"] == notice["id"]


@pytest.mark.parametrize("source", EXAMPLES)
def test_what_is_no_conversation_is_a_line_that_is_refused(source: str) -> None:
    [one, two] = lines_of(source, b'{"a": 1}\nnonsense\n')
    for line in (one, two):
        assert line["type"].startswith("not a conversation of this system")
