"""Messages count as read if they were visible while the page had focus, or if the person
says so."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from tools.demo import Demo

from .people import PHONE, People
from .starting import say, start_thread
from .talking import Talk
from .waiting import becomes

LINES = 200


def line(number: int) -> str:
    return f"Line {number:03}"


def unread(demo: Demo, thread_id: str) -> int:
    """As the server counts it for Theo."""
    count: int = demo.call("theo", "GET", f"/v1/threads/{thread_id}")["inbox"]["unread_count"]
    return count


def long_thread(demo: Demo, lines: int = LINES, subject: str = "Much to read") -> str:
    thread_id = start_thread(demo, line(1), subject=subject)
    for number in range(2, lines + 1):
        say(demo, "maya", thread_id, line(number))
    assert unread(demo, thread_id) == lines
    return thread_id


def jump_button(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile(r"Jump to \d+ new messages"))


async def number_in(button: Locator) -> int:
    return int("".join(re.findall(r"\d", await button.get_attribute("aria-label") or "")))


async def settles(page: Page, demo: Demo, thread_id: str) -> int:
    """What the button counts below the screen is what the server counts as unread."""

    async def agree() -> bool:
        return await number_in(jump_button(page)) == unread(demo, thread_id)

    await becomes(page, True, agree)
    return unread(demo, thread_id)


async def test_a_long_thread_opens_at_its_first_new_message_and_counts_down_as_one_reads(
    people: People, demo: Demo
) -> None:
    thread_id = long_thread(demo)
    theo = Talk(await people.open("theo", f"/app/threads/{thread_id}"))
    await expect(theo.page.get_by_text("New messages")).to_be_in_viewport()
    await expect(theo.message(line(1))).to_be_in_viewport(ratio=1)
    left = await settles(theo.page, demo, thread_id)
    assert LINES / 2 < left < LINES
    await theo.page.locator("greenroom-thread .scroller").hover()
    await theo.page.mouse.wheel(0, 300)
    await expect(theo.message(line(LINES - left + 1))).to_be_in_viewport(ratio=1)
    further = await settles(theo.page, demo, thread_id)
    assert LINES / 2 < further < left

    await jump_button(theo.page).click()
    await expect(theo.message(line(LINES))).to_be_in_viewport(ratio=1)
    above = theo.page.get_by_role("button", name=re.compile(r"\d+ new messages above"))
    await expect(above).to_be_visible()
    assert unread(demo, thread_id) == further
    await above.click()
    await expect(theo.message(line(LINES - further + 1))).to_be_in_viewport(ratio=1)
    await jump_button(theo.page).click()
    await theo.page.get_by_role("button", name="Mark all as read").click()
    await expect(above).to_have_count(0)

    async def counted() -> int:
        return unread(demo, thread_id)

    await becomes(theo.page, 0, counted)


async def test_nothing_is_read_in_a_window_that_nobody_looks_at(people: People, demo: Demo) -> None:
    thread_id = long_thread(demo, 3, "Looking away")
    person = await people.meet("theo")
    await person.context.add_init_script("document.hasFocus = () => globalThis.looks === true")
    await person.page.clock.install()
    await person.page.goto(f"{demo.url}/app/threads/{thread_id}#token={demo.token('theo')}")
    theo = Talk(person)
    await theo.sees(line(3))
    await person.page.clock.fast_forward(60_000)
    await theo.sees(line(3))
    assert unread(demo, thread_id) == 3
    await person.page.evaluate("globalThis.looks = true; dispatchEvent(new Event('focus'))")

    async def counted() -> int:
        return unread(demo, thread_id)

    await becomes(person.page, 0, counted)


@pytest.mark.parametrize("way", ["row", "thread", "key"])
async def test_a_conversation_can_be_marked_as_read(people: People, demo: Demo, way: str) -> None:
    thread_id = long_thread(demo, 90, f"To be marked by {way}")
    page = (await people.open("theo", "/app" if way == "row" else f"/app/threads/{thread_id}")).page
    row = page.get_by_role("listitem").filter(has_text=f"To be marked by {way}")
    await expect(row.locator(".pill")).to_be_visible()
    if way == "row":
        await row.get_by_role("button", name="Maya Lindqvist").first.focus()
        await page.keyboard.press("ContextMenu")
        await page.get_by_role("menuitem", name="Mark as read").press("Enter")
    else:
        await expect(jump_button(page)).to_be_visible()
    if way == "thread":
        await page.get_by_role("button", name="Options for this conversation").press("Enter")
        await page.get_by_role("menuitem", name="Mark all as read").press("Enter")
    if way == "key":
        await page.get_by_role("article").first.press("m")
    await expect(row.locator(".pill")).to_have_count(0)

    async def counted() -> int:
        return unread(demo, thread_id)

    await becomes(page, 0, counted)
    await expect(jump_button(page)).to_have_count(0)


async def test_on_a_phone_too_only_what_was_seen_is_read(people: People, demo: Demo) -> None:
    thread_id = long_thread(demo, 60, "On the way")
    theo = await people.open("theo", f"/app/threads/{thread_id}", viewport=PHONE, has_touch=True)
    await expect(theo.page.get_by_text("New messages")).to_be_in_viewport()
    assert 20 < await settles(theo.page, demo, thread_id) < 60


async def test_own_messages_are_no_gap_and_who_answers_has_read(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, line(1), subject="From another device")
    messages = demo.call("theo", "GET", f"/v1/threads/{thread_id}/messages")["items"]
    demo.call("theo", "POST", f"/v1/threads/{thread_id}/read", {"up_to": messages[-1]["id"]})
    for number in range(2, 70):
        say(demo, "theo", thread_id, line(number))
    theo = Talk(await people.open("theo", f"/app/threads/{thread_id}"))
    await expect(theo.message(line(69))).to_be_in_viewport(ratio=1)
    say(demo, "maya", thread_id, "Seen at the end")

    async def counted() -> int:
        return unread(demo, thread_id)

    await theo.sees("Seen at the end")
    await becomes(theo.page, 0, counted)

    await theo.page.locator("greenroom-thread .scroller").hover()
    await theo.page.mouse.wheel(0, -200)
    await expect(theo.page.get_by_role("button", name="Jump to the latest")).to_be_visible()
    for number in range(70, 110):
        say(demo, "maya", thread_id, line(number))
    await expect(theo.page.get_by_role("button", name="Jump to 40 new")).to_be_visible()
    await theo.say("My answer to all of it")
    await becomes(theo.page, 0, counted)
