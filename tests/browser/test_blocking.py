"""Profiles in the web app, and blocking and unblocking a person there."""

import pytest
from playwright.async_api import ViewportSize, expect

from tools.demo import Demo

from .axe import axe
from .people import PHONE, People
from .starting import say, start_thread, texts
from .talking import Talk, open_dialog

LAPTOP = ViewportSize(width=1440, height=900)
THEO = "Theo Adeyemi"


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["desktop", "phone"])
async def test_somebody_is_blocked_and_unblocked_from_their_profile(
    people: People, demo: Demo, viewport: ViewportSize
) -> None:
    thread_id = start_thread(demo, "Before the block")
    maya = Talk(await people.open("maya", f"/app/threads/{thread_id}", viewport=viewport))
    await maya.sees("Before the block")
    await maya.page.get_by_role("button", name=THEO, exact=True).click()
    profile = open_dialog(maya.page, f"About {THEO}")
    await expect(profile.get_by_text("Photographer")).to_be_visible()
    assert await axe(maya.page) == []
    await profile.get_by_role("button", name=f"Block {THEO}").click()
    await expect(profile.get_by_text("they are not told")).to_be_visible()
    assert blocked(demo) == []
    await profile.get_by_role("button", name=f"Block {THEO}").click()
    await expect(profile.get_by_text("You have blocked them")).to_be_visible()
    assert blocked(demo) == ["theo"]
    say(demo, "theo", thread_id, "Into the silence")
    assert "Into the silence" not in texts(demo, "maya", thread_id)
    await profile.get_by_role("button", name=f"Unblock {THEO}").click()
    await expect(profile.get_by_role("button", name=f"Block {THEO}")).to_be_visible()
    assert blocked(demo) == []
    say(demo, "theo", thread_id, "Heard again")
    await maya.page.keyboard.press("Escape")
    await maya.sees("Heard again")


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["desktop", "phone"])
async def test_nobody_writes_to_somebody_whom_they_have_blocked(
    people: People, demo: Demo, viewport: ViewportSize
) -> None:
    thread_id = start_thread(demo, "Before the silence")
    demo.call("maya", "POST", "/v1/blocks", {"user_id": "theo"})
    maya = Talk(await people.open("maya", f"/app/threads/{thread_id}", viewport=viewport))
    note = maya.page.get_by_text(f"You have blocked {THEO}.")
    composer = maya.page.get_by_role("textbox", name="Write a message")
    await expect(note).to_be_visible()
    await expect(composer).to_have_count(0)
    assert await axe(maya.page) == []
    await maya.page.get_by_role("button", name=f"Unblock {THEO}").click()
    await expect(note).to_have_count(0)
    await expect(composer).to_be_focused()
    assert blocked(demo) == []


async def test_what_a_block_refused_is_sent_when_it_is_lifted(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Blocked elsewhere meanwhile")
    person = await people.meet("maya")
    async with person.page.expect_response("**/v1/me/blocks*"):
        token = demo.token("maya")
        await person.page.goto(f"{demo.url}/app/threads/{thread_id}#token={token}")
    maya = Talk(person)
    composer = maya.page.get_by_role("textbox", name="Write a message")
    demo.call("maya", "POST", "/v1/blocks", {"user_id": "theo"})
    await composer.fill("Are you there?")
    await composer.press("Enter")
    refused = maya.page.get_by_text("Not sent. You have blocked")
    await expect(refused).to_be_visible()
    await maya.page.get_by_role("button", name=f"Unblock {THEO}").click()
    await expect(refused).to_have_count(0)
    theo = Talk(await people.open("theo", f"/app/threads/{thread_id}"))
    await theo.sees("Are you there?")


async def test_the_list_of_blocked_people_lets_them_back(people: People, demo: Demo) -> None:
    maya = await people.open("maya")
    menu = maya.page.get_by_role("button", name="Menu of Maya Lindqvist")
    listed = open_dialog(maya.page, "Blocked people")
    await menu.click()
    await maya.page.get_by_role("button", name="Blocked people").click()
    await expect(listed.get_by_text("You have blocked nobody.")).to_be_visible()
    await maya.page.keyboard.press("Escape")
    await expect(listed).to_have_count(0)
    demo.call("maya", "POST", "/v1/blocks", {"user_id": "theo"})
    await menu.click()
    await maya.page.get_by_role("button", name="Blocked people").click()
    await expect(listed.get_by_text(THEO)).to_be_visible()
    assert await axe(maya.page) == []
    await listed.get_by_role("button", name=f"Unblock {THEO}").click()
    await expect(listed.get_by_text("You have blocked nobody.")).to_be_visible()
    assert blocked(demo) == []


def blocked(demo: Demo) -> list[str]:
    return [each["user_id"] for each in demo.call("maya", "GET", "/v1/me/blocks")["items"]]
