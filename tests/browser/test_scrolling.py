"""The scroll position stays when messages arrive above or below it."""

import asyncio
import re

import pytest
from playwright.async_api import Locator, Route, expect

from tools.demo import Demo

from .people import People
from .starting import say, start_thread
from .talking import Talk

LINES = 130
"""More than two pages of messages."""
MOST_WHEELS = 400

# It reads at the end of a frame, where the browser reports sizes: a new page of messages can be in
# the document for a moment before that, and nobody sees it there.
READ_TOP = """
(scroller) => new Promise((resolve) => {
  const read = () => {
    const top = scroller.getBoundingClientRect().top;
    const rows = [...scroller.querySelectorAll('[data-id]')];
    const first = rows.find((row) => row.getBoundingClientRect().bottom > top + 1);
    const { innerText } = first.querySelector('[id^="body-"], p');
    return [innerText.trim(), first.getBoundingClientRect().top - top];
  };
  const frame = new ResizeObserver(() => {
    frame.disconnect();
    resolve(read());
  });
  frame.observe(scroller);
})
"""
IS_AT_END = """
() => {
  const { shadowRoot } = document.querySelector('greenroom-app').shadowRoot
    .querySelector('greenroom-workspace').shadowRoot.querySelector('greenroom-messages').shadowRoot
    .querySelector('greenroom-thread');
  const scroller = shadowRoot.querySelector('greenroom-timeline').shadowRoot
    .querySelector('.scroller');
  return scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop < 1;
}
"""


def scroller_of(talk: Talk) -> Locator:
    return talk.page.locator("greenroom-thread .scroller")


def line(number: int) -> str:
    return f"Line {number:03}"


@pytest.fixture(scope="module")
def long_thread(demo: Demo) -> str:
    """From Maya, who knows it all; every message says which one it is."""
    thread_id = start_thread(demo, line(1), subject="Lines")
    for number in range(2, LINES + 1):
        say(demo, "maya", thread_id, line(number))
    return thread_id


async def open_lines(people: People, thread_id: str) -> Talk:
    maya = Talk(await people.open("maya", f"/app/threads/{thread_id}"))
    await expect(maya.message(line(LINES))).to_be_in_viewport()
    await scroller_of(maya).hover()
    return maya


async def wheel(talk: Talk, by_px: int) -> None:
    await talk.page.mouse.wheel(0, by_px)
    await talk.page.evaluate("() => new Promise(requestAnimationFrame)")


async def test_who_scrolls_up_meets_every_message_once(people: People, long_thread: str) -> None:
    maya = await open_lines(people, long_thread)
    met: list[str] = []
    for _ in range(MOST_WHEELS):
        text, _px = await scroller_of(maya).evaluate(READ_TOP)
        met.append(text)
        if text == line(1):
            break
        await wheel(maya, -30)
    assert met == sorted(met, reverse=True)
    first_met = int(met[0].split()[1])
    assert sorted(set(met)) == [line(number) for number in range(1, first_met + 1)]


async def test_older_messages_do_not_move_what_is_read(people: People, long_thread: str) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        asked.set()
        await may_answer.wait()
        await route.fallback()

    maya = await open_lines(people, long_thread)
    scroller, rows = scroller_of(maya), maya.page.get_by_role("article")
    await maya.person.context.route(re.compile(r"/messages\?before="), late)
    for _ in range(MOST_WHEELS):
        await wheel(maya, -100)
        if asked.is_set():
            break
    assert asked.is_set()
    before, drawn = await scroller.evaluate(READ_TOP), await rows.count()
    may_answer.set()
    await expect(rows.filter(has_text=line(LINES - 60))).to_have_count(1)
    assert await rows.count() > drawn
    assert await scroller.evaluate(READ_TOP) == [before[0], pytest.approx(before[1], abs=1)]


async def test_at_the_end_it_stays_there_and_elsewhere_news_are_counted(
    people: People, demo: Demo
) -> None:
    thread_id = start_thread(demo, "First", subject="News")
    for number in range(30):
        say(demo, "maya", thread_id, f"Then {number}")
    maya = Talk(await people.open("maya", f"/app/threads/{thread_id}"))
    await maya.sees("Then 29")
    say(demo, "theo", thread_id, "Seen at once")
    await expect(maya.message("Seen at once")).to_be_in_viewport(ratio=1)
    row = maya.page.get_by_role("listitem").filter(has_text="Seen at once")
    await expect(row).to_be_visible()
    await expect(row.locator(".pill")).to_have_count(0)
    await scroller_of(maya).hover()
    await wheel(maya, -60)
    latest = maya.page.get_by_role("button", name="Jump to the latest message")
    await expect(latest).to_be_visible()
    before = await scroller_of(maya).evaluate(READ_TOP)
    say(demo, "theo", thread_id, "Not in view")
    button = maya.page.get_by_role("button", name="Jump to 1 new message")
    await expect(button).to_be_visible()
    assert await scroller_of(maya).evaluate(READ_TOP) == [
        before[0],
        pytest.approx(before[1], abs=1),
    ]
    await button.click()
    await expect(maya.message("Not in view")).to_be_in_viewport(ratio=1)
    await expect(button).to_have_count(0)


async def test_what_slips_without_a_hand_comes_back(people: People, long_thread: str) -> None:
    """As in WebKit, where a box that was smaller for a moment lets its content slip."""
    maya = await open_lines(people, long_thread)
    await maya.page.wait_for_function(IS_AT_END)
    await scroller_of(maya).evaluate("(scroller) => { scroller.scrollTop -= 40; }")
    await maya.page.evaluate("() => new Promise(requestAnimationFrame)")
    await maya.page.wait_for_function(IS_AT_END)
    await wheel(maya, -40)
    await expect(maya.page.get_by_role("button", name="Jump to the latest message")).to_be_visible()


async def test_a_thread_opens_at_what_is_new(people: People, long_thread: str) -> None:
    theo = Talk(await people.open("theo", f"/app/threads/{long_thread}"))
    await expect(theo.page.get_by_text("New messages")).to_be_in_viewport()
    await expect(theo.message(line(1))).to_be_in_viewport()
