"""Menus cover neither their own button nor the controls of other items."""

import asyncio

from playwright.async_api import Locator, Route, expect

from tools.demo import Demo

from .people import People
from .starting import propose_time, say, start_thread
from .talking import Talk

# Whether the button of the row leaves the middle of an element to be seen.
IS_SEEN = """
(element) => {
  const { left, top, width, height } = element.getBoundingClientRect();
  const found = element.getRootNode().elementFromPoint(left + width / 2, top + height / 2);
  return found.closest('.more') === null;
}
"""


async def edges(place: Locator) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    box = await place.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


async def test_what_can_be_added_opens_over_the_conversation(people: People, demo: Demo) -> None:
    path = f"/app/threads/{start_thread(demo, 'What can we add?')}"
    maya = Talk(await people.open("maya", path))
    await maya.page.get_by_role("button", name="Add to this conversation").click()
    menu = maya.page.get_by_role("menu", name="Add to this conversation")
    left, _, _, bottom = await edges(menu)
    thread_left, *_ = await edges(maya.page.locator("greenroom-thread"))
    _, button_top, *_ = await edges(maya.page.locator("greenroom-new-card .icon-button"))
    assert left >= thread_left
    assert bottom <= button_top


async def test_where_one_writes_does_not_move_when_the_page_knows_what_can_be_added(
    people: People, demo: Demo
) -> None:
    thread_id = start_thread(demo, "Stay where you are")
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.fallback()

    maya = Talk(await people.meet("maya"))
    await maya.person.context.route("**/v1/cards/catalogue*", late)
    await maya.page.goto(f"{demo.url}/app/threads/{thread_id}#token={demo.token('maya')}")
    await maya.sees("Stay where you are")
    writing = maya.page.get_by_role("textbox", name="Write a message")
    before = await edges(writing)
    may_answer.set()
    await expect(maya.page.get_by_role("button", name="Add to this conversation")).to_be_visible()
    assert await edges(writing) == before


async def test_the_menu_of_a_message_does_not_put_delete_under_the_pointer(
    people: People, demo: Demo
) -> None:
    path = f"/app/threads/{start_thread(demo, 'The last of a few lines')}"
    maya = Talk(await people.open("maya", path))
    message = maya.page.get_by_role("article").last
    await message.hover()
    button = message.get_by_role("button", name="Actions").first
    await button.click()
    _, button_top, _, button_bottom = await edges(button)
    _, menu_top, _, menu_bottom = await edges(maya.page.locator("[role=menu]:popover-open"))
    assert menu_bottom <= button_top or menu_top >= button_bottom


async def test_who_points_at_a_row_still_reads_what_waits_there(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Have a look", subject="Pointed at")
    say(demo, "maya", thread_id, "And at this")
    propose_time(demo, "maya", thread_id)
    theo = Talk(await people.open("theo"))
    row = theo.page.get_by_role("listitem").filter(has_text="Pointed at")
    await row.hover()
    await expect(row.get_by_role("button", name="Actions for Maya Lindqvist")).to_be_visible()
    await expect(row.locator("time")).to_have_css("opacity", "0")
    for shown in (row.locator(".badge").first, row.locator(".pill")):
        assert await shown.evaluate(IS_SEEN)
