"""On narrow screens the panel opens as a drawer over the page, which is inert until it is
closed."""

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from tools.demo import Demo

from .keys import Keys
from .people import People
from .starting import booked_thread, propose_time, start_thread
from .talking import Talk

TABLET = ViewportSize(width=1024, height=768)


def drawer_of(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Project")


async def open_drawer(people: People, demo: Demo) -> Page:
    path = f"/app/threads/{booked_thread(demo)}"
    maya = Talk(await people.open("maya", path, viewport=TABLET))
    await maya.page.get_by_role("button", name="Details", exact=True).click()
    await expect(drawer_of(maya.page)).to_be_visible()
    return maya.page


@pytest.mark.parametrize("way", ["Escape", "outside", "button", "back"])
async def test_the_drawer_closes_and_gives_the_focus_back(
    people: People, demo: Demo, way: str
) -> None:
    page = await open_drawer(people, demo)
    await expect(drawer_of(page).get_by_role("tab", name="Actions")).to_be_focused()
    if way == "Escape":
        await page.keyboard.press("Escape")
    elif way == "outside":
        await page.mouse.click(200, 600)
    elif way == "button":
        await drawer_of(page).get_by_role("button", name="Close the project panel").click()
    else:
        await page.go_back()
    await expect(drawer_of(page)).to_have_count(0)
    await expect(page.get_by_role("button", name="Details", exact=True)).to_be_focused()
    await expect(page.get_by_role("textbox", name="Write a message")).to_be_visible()


async def test_the_keyboard_stays_in_the_drawer(people: People, demo: Demo) -> None:
    page = await open_drawer(people, demo)
    covered = page.locator("greenroom-inbox, greenroom-thread, .skip").locator(":focus")
    for key in ("Tab", "Tab", "Tab", "Tab", "Shift+Tab", "Shift+Tab", "/", "Alt+ArrowDown"):
        await page.keyboard.press(key)
        await expect(covered).to_have_count(0)
    await expect(drawer_of(page)).to_be_visible()


async def test_beside_the_conversation_the_panel_takes_nothing_from_it(
    people: People, demo: Demo
) -> None:
    page = await open_drawer(people, demo)
    await page.set_viewport_size({"width": 1400, "height": 800})
    await expect(drawer_of(page)).to_have_count(0)
    await expect(page.get_by_role("complementary", name="Project")).to_be_visible()
    details = page.get_by_role("button", name="Details", exact=True)
    await expect(details).to_have_attribute("aria-expanded", "true")
    writing = page.get_by_role("textbox", name="Write a message")
    await writing.click()
    await page.keyboard.press("Escape")
    await expect(page.locator("greenroom-panel")).to_have_count(0)
    await expect(writing).to_be_focused()
    await expect(details).to_have_attribute("aria-expanded", "false")


async def test_what_is_shown_in_the_conversation_is_not_covered(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "When would it suit you?")
    propose_time(demo, "theo", thread_id)
    path = f"/app/threads/{thread_id}?panel=actions"
    maya = Talk(await people.open("maya", path, viewport=TABLET))
    await drawer_of(maya.page).get_by_role("button", name="Show in conversation").click()
    await expect(drawer_of(maya.page)).to_have_count(0)
    card = maya.page.get_by_role("group", name="Proposed time")
    await expect(card).to_be_in_viewport()
    await Keys(maya.page).is_seen()
