"""The web app on a phone: one pane at a time, touch, and an on-screen keyboard."""

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, ViewportSize, expect

from bench.fill import fill_inbox
from tools.demo import Demo

from .looking import targets_below, wider_than_the_screen
from .people import PHONE, People, Person
from .starting import PANEL_TABS, booked_thread, propose_time, say, start_thread
from .waiting import becomes

NARROWEST = ViewportSize(width=320, height=640)
KEYBOARD_PX = 330
FINGER_PX = 44
LEAST_PX = 24
NAME_PX = 180
MANY = "many"

# As where the keyboard lies over the page: only the visual viewport becomes smaller.
OVERLAID = """
const shown = Object.assign(new EventTarget(), {
  scale: 1, offsetTop: 0, offsetLeft: 0, pageTop: 0, pageLeft: 0,
  width: innerWidth, height: innerHeight,
});
Object.defineProperty(window, 'visualViewport', { value: shown });
window.raiseKeyboard = (px) => {
  shown.height = innerHeight - px;
  shown.dispatchEvent(new Event('resize'));
};
"""


async def open_phone(
    people: People, user_id: str, path: str = "/app", viewport: ViewportSize = PHONE
) -> Person:
    return await people.open(user_id, path, viewport=viewport, is_mobile=True, has_touch=True)


def rows(page: Page) -> Locator:
    return page.locator("greenroom-inbox-rows .scroll")


async def is_scrolled_to(page: Page, scroll_px: float) -> None:
    async def look() -> float:
        top_px: float = await rows(page).evaluate("(list) => list.scrollTop")
        return top_px

    await becomes(page, scroll_px, look)


async def is_above(locator: Locator, end_px: float) -> None:
    async def look() -> bool:
        box = await locator.bounding_box()
        return box is not None and box["y"] + box["height"] <= end_px

    await becomes(locator.page, True, look)


async def test_going_back_finds_the_list_where_it_was_left(
    people: People, demo: Demo, database_url: str
) -> None:
    await fill_inbox(database_url, MANY, 60)
    person = await open_phone(people, MANY)
    await expect(person.page.get_by_text("Person 1", exact=True)).to_be_visible()
    await rows(person.page).evaluate(
        "(list) => { list.scrollTop = 20.5 * list.scrollHeight / 60; }"
    )
    row = person.page.get_by_role("button", name=re.compile("^Person 24 "))
    await expect(row).to_be_in_viewport(ratio=1)
    before_px = await rows(person.page).evaluate("(list) => list.scrollTop")

    await row.tap()
    await expect(person.page.get_by_role("heading", name="Person 24")).to_be_in_viewport()
    await expect(row).not_to_be_visible()
    await person.page.get_by_role("button", name="Back to the list").tap()
    await expect(row).to_be_in_viewport(ratio=1)
    await is_scrolled_to(person.page, before_px)
    await expect(person.page).to_have_url(f"{demo.url}/app")

    await row.tap()
    await expect(person.page.get_by_role("heading", name="Person 24")).to_be_in_viewport()
    await person.page.go_back()
    await expect(row).to_be_in_viewport(ratio=1)
    await is_scrolled_to(person.page, before_px)


async def test_the_tools_of_a_message_are_in_nobodys_way(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "When shall we?", subject="Two times")
    propose_time(demo, "theo", thread_id)
    propose_time(demo, "theo", thread_id)
    person = await open_phone(people, "maya", f"/app/threads/{thread_id}")
    cards = person.page.locator("greenroom-card")
    tools = person.page.get_by_role("button", name="Message actions")
    await expect(cards).to_have_count(2)
    # A button of a card does what it does, and the card gets the focus back.
    await cards.last.get_by_role("button", name=re.compile("^History")).tap()
    history = person.page.locator("greenroom-card-history")
    await history.get_by_role("button", name="Close").tap()
    await expect(history).to_have_count(0)
    await expect(tools).to_have_count(0)
    await cards.first.get_by_role("heading").tap()
    await expect(tools).to_be_visible()
    covered = await person.page.locator(".tools").evaluate(
        """(tools) => {
          const own = tools.closest('article');
          const { top, bottom } = tools.getBoundingClientRect();
          return [...own.parentElement.querySelectorAll('article')]
            .filter((each) => each !== own)
            .map((each) => each.getBoundingClientRect())
            .filter((box) => box.top < bottom && box.bottom > top).length;
        }"""
    )
    assert covered == 0


async def test_the_tools_of_a_message_come_by_a_touch_only(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Touch me", subject="Fingers")
    person = await open_phone(people, "theo", f"/app/threads/{thread_id}")
    message = person.page.get_by_role("article").filter(has_text="Touch me")
    tools = person.page.get_by_role("button", name="Message actions")
    # Some browsers let a mouse follow the finger.
    await message.hover()
    await person.page.evaluate("() => new Promise(requestAnimationFrame)")
    await expect(tools).to_have_count(0)
    await message.tap()
    await expect(tools).to_be_visible()


@pytest.mark.parametrize("keyboard", ["resizes the page", "lies over the page"])
async def test_the_keyboard_never_covers_where_one_writes(
    people: People, demo: Demo, keyboard: str
) -> None:
    person = await people.meet("maya", viewport=PHONE, is_mobile=True, has_touch=True)
    if keyboard == "lies over the page":
        await person.context.add_init_script(OVERLAID)
    page = person.page
    thread_id = start_thread(demo, "Where are you?", subject="On the way")
    for number in range(1, 16):
        say(demo, "maya", thread_id, f"{number} minutes more")
    await page.goto(f"{demo.url}/app/threads/{thread_id}#token={demo.token('maya')}")
    composer = page.get_by_role("textbox", name="Write a message")
    last = page.get_by_role("article").last
    await expect(last).to_be_in_viewport()
    await composer.tap()
    left_px = PHONE["height"] - KEYBOARD_PX
    if keyboard == "lies over the page":
        await page.evaluate(f"raiseKeyboard({KEYBOARD_PX})")
    else:
        await page.set_viewport_size({"width": PHONE["width"], "height": left_px})
    await _ends_at(composer, left_px)
    await is_above(last, left_px)
    await composer.fill("A line\n" * 12)
    await _ends_at(composer, left_px)
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_in_viewport(ratio=1)

    if keyboard == "lies over the page":
        await page.evaluate("raiseKeyboard(0)")
    else:
        await page.set_viewport_size(PHONE)
    await _ends_at(composer, PHONE["height"])


async def _ends_at(composer: Locator, end_px: float) -> None:
    """Above the edge, with no more than its own frame in between."""
    frame_px = 80
    page = composer.page
    await expect(composer).to_be_visible()
    await page.wait_for_function(
        """([field, endPx, framePx]) => {
          const { bottom } = field.getBoundingClientRect();
          return bottom <= endPx && bottom > endPx - framePx;
        }""",
        arg=[await composer.element_handle(), end_px, frame_px],
    )


async def test_the_panel_takes_the_whole_screen_and_gives_it_back(
    people: People, demo: Demo
) -> None:
    person = await open_phone(people, "maya", f"/app/threads/{booked_thread(demo)}")
    page = person.page
    await page.get_by_role("button", name="Details", exact=True).tap()
    panel = page.locator("greenroom-panel")
    await expect(panel.get_by_role("tab", name="Actions")).to_be_focused()
    await becomes(page, {"x": 0, "y": 0, **PHONE}, panel.bounding_box)
    await expect(page.get_by_role("textbox", name="Write a message")).not_to_be_visible()
    await panel.get_by_role("tab", name="Expenses").tap()
    await expect(panel.get_by_role("heading", name="Receipts")).to_be_visible()
    await panel.get_by_role("button", name="Close the project panel").tap()
    await expect(page.get_by_role("textbox", name="Write a message")).to_be_visible()
    await expect(panel).to_have_count(0)


async def test_a_card_in_the_panel_leads_to_its_place_in_the_conversation(
    people: People, demo: Demo
) -> None:
    thread_id = start_thread(demo, "When do we meet?", subject="Meeting")
    propose_time(demo, "theo", thread_id)
    person = await open_phone(people, "maya", f"/app/threads/{thread_id}?panel=actions")
    page = person.page
    await page.get_by_role("button", name="Show in conversation").tap()
    card = page.locator("greenroom-thread").get_by_role("group", name="Proposed time")
    await expect(card).to_be_in_viewport()
    await expect(page.locator("greenroom-panel")).to_have_count(0)


async def test_nothing_is_wider_than_the_narrowest_phone_and_a_finger_hits_everything(
    people: People, demo: Demo
) -> None:
    stranger = await people.meet("stranger", viewport=NARROWEST, is_mobile=True, has_touch=True)
    await stranger.page.goto(f"{demo.url}/app/sign-in")
    await expect(stranger.page.get_by_role("button", name="Continue as Maya")).to_be_visible()
    await fits(stranger.page)

    person = await open_phone(people, "maya", viewport=NARROWEST)
    page = person.page
    await expect(page.get_by_text("Autumn campaign: studio day")).to_be_visible()
    await fits(page)
    await page.get_by_role("button", name="Filter").tap()
    await expect(page.get_by_role("dialog", name="Filter")).to_be_visible()
    await fits(page)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Menu of Maya Lindqvist").tap()
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    await fits(page)


async def test_no_thread_and_no_card_is_wider_than_the_narrowest_phone(
    people: People, demo: Demo
) -> None:
    person = await open_phone(people, "maya", viewport=NARROWEST)
    page = person.page
    items: list[Any] = demo.call("maya", "GET", "/v1/inbox")["items"]
    for thread_id in [each["thread"]["id"] for each in items][:4]:
        await page.goto(f"{demo.url}/app/threads/{thread_id}")
        await expect(page.get_by_role("article").last).to_be_visible()
        await fits(page)
    await page.goto(f"{demo.url}/app/threads/{booked_thread(demo)}")
    await page.get_by_role("button", name="Add to this conversation").tap()
    await fits(page)
    await page.get_by_role("menuitem").first.tap()
    form = page.locator("greenroom-new-card greenroom-dialog")
    await expect(form.get_by_role("button", name="Send")).to_be_visible()
    await fits(page)


async def test_no_tab_of_the_panel_is_wider_than_the_narrowest_phone(
    people: People, demo: Demo
) -> None:
    address = f"/app/threads/{booked_thread(demo)}?panel="
    person = await open_phone(people, "maya", address + PANEL_TABS[0], viewport=NARROWEST)
    for tab in PANEL_TABS:
        await person.page.goto(demo.url + address + tab)
        shown = person.page.locator("greenroom-panel-content")
        await expect(shown).to_be_visible()
        await fits(person.page)


@pytest.mark.parametrize("width_px", [768, 820, 1024])
async def test_on_a_tablet_the_names_of_people_have_room(
    people: People, demo: Demo, width_px: int
) -> None:
    """Also with a time and a button beside them; every folder is in sight."""
    tablet = ViewportSize(width=width_px, height=1100)
    person = await open_phone(people, "maya", viewport=tablet)
    names = rows(person.page).locator(".name .cut")
    await expect(names.first).to_be_visible()

    async def too_short() -> list[str]:
        found: list[str] = await names.evaluate_all(
            """(names, least) => names
                .filter((each) => each.scrollWidth > each.clientWidth && each.clientWidth < least)
                .map((each) => `${each.textContent}: ${each.clientWidth}`)""",
            NAME_PX,
        )
        return found

    await becomes(person.page, [], too_short)
    for folder in await person.page.get_by_role("tab").all():
        await expect(folder).to_be_in_viewport(ratio=1)


async def fits(page: Page) -> None:
    """Once it stands still."""
    await becomes(page, [], lambda: wider_than_the_screen(page))
    await becomes(page, [], lambda: targets_below(page, LEAST_PX))
    await becomes(page, [], lambda: targets_below(page, FINGER_PX))
