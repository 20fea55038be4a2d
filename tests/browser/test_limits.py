"""The web app follows the limits of its server, which an operator sets by variables."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tools.demo import Demo, run_demo

from .conftest import LIMITS
from .people import People
from .starting import booked_thread, start_thread
from .talking import Talk

LONGEST = 2100
"""Longer than the default, so that the default would refuse what is sent here."""
TEN_YEARS_S = 10 * 365 * 24 * 60 * 60


@pytest.fixture(scope="module")
def demo(database_url: str, blobs: Path, web_app: None) -> Iterator[Demo]:
    set_by_operator = {
        "GREENROOM_LIMIT_BODY_CHARACTERS": str(LONGEST),
        "GREENROOM_LIMIT_EDIT_WINDOW_S": str(TEN_YEARS_S),
        "GREENROOM_LIMIT_MESSAGES_PAGE": "5",
    }
    stored = {"GREENROOM_DATABASE_URL": database_url, "GREENROOM_BLOBS": str(blobs)}
    with run_demo({**LIMITS, **set_by_operator, **stored}) as demo:
        yield demo
        assert demo.complaints() == []


async def test_the_composer_counts_to_the_limit_of_the_server(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Hello")
    maya = Talk(await people.open("maya", f"/app/threads/{thread_id}"))
    send = maya.page.get_by_role("button", name="Send")
    await maya.composer.fill("x" * (LONGEST + 2))
    await expect(maya.page.get_by_text("2 characters too long")).to_be_visible()
    await expect(send).to_be_disabled()
    await maya.composer.fill("x" * (LONGEST - 3))
    await expect(maya.page.get_by_text("3 characters left")).to_be_visible()
    await send.click()
    await maya.sees_progress("x" * (LONGEST - 3), "Sent")


async def test_an_old_message_can_be_edited_while_the_window_of_the_server_is_open(
    people: People, demo: Demo
) -> None:
    maya = Talk(await people.open("maya", f"/app/threads/{booked_thread(demo)}"))
    own = maya.page.get_by_role("article", name=re.compile(r"^You, ")).first
    text = (await own.inner_text()).splitlines()[0]
    await maya.edit(text, "Said otherwise, long after")


async def test_a_thread_longer_than_a_page_of_the_server_is_read_to_its_beginning(
    people: People, demo: Demo
) -> None:
    thread_id = start_thread(demo, "The first of many")
    for number in range(12):
        body = {"client_id": f"more-{number}", "body": f"And number {number}"}
        demo.call("maya", "POST", f"/v1/threads/{thread_id}/messages", body)
    maya = Talk(await people.open("maya", f"/app/threads/{thread_id}"))
    await maya.sees("And number 11")
    await maya.message("And number 11").press("Home")
    await expect(maya.message("The first of many")).to_have_count(1)
