"""The block of docs/backend.md works as it is printed."""

import json
from pathlib import Path

from tests.support.pages import page_environment, run_block


def test_the_block_does_every_step(tmp_path: Path, database_url: str) -> None:
    with page_environment(tmp_path, database_url) as environment:
        shown = run_block("docs/backend.md", environment).splitlines()
    steps = [line[:2] for line in shown if line[:1].isdigit()]
    assert steps == [f"{number}." for number in range(1, 9)], shown
    answers = [json.loads(line) for line in shown if line.startswith("{")]
    _, _, opened, found, notice, changed, news, thread, page, of_ben, of_job, bookings = answers[
        :12
    ]
    assert found["thread"]["id"] == opened["thread"]["id"] == thread["thread"]["id"]
    assert notice["message"]["system"]["params"]["code"] == "listing.sold"
    assert changed["thread"]["city"] == "Potsdam"
    assert [each["seq"] for each in page["items"]] == [1, 2]
    assert of_ben["items"] == [news["thread"]]
    assert of_ben["next_cursor"] is not None
    assert of_job["items"] == [changed["thread"]]
    assert bookings == {"items": [], "next_cursor": None}
    *exported, refused = answers[12:]
    assert [list(each) for each in exported] == [["thread"], ["message"], ["message"]]
    assert (refused["code"], "`bookings`" in refused["hint"]) == ("FORBIDDEN", True)
