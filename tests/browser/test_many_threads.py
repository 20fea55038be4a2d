"""Ten thousand conversations in one inbox: few rows are drawn, and all of them can be reached."""

import asyncio
import re

import pytest
from playwright.async_api import Locator, Page, Route, expect

from bench.fill import fill_inbox
from tools.demo import Demo

from .people import People
from .starting import say
from .waiting import becomes

MANY, MANY_COUNT = "many", 10_000
SOME, SOME_COUNT = "some", 230
MOST_DRAWN = 100
DEEP = 1000
"""So far the ten thousand are scrolled through; of the smaller inbox all pages are."""
MOST_PAGES = 100

# The list is at the end of what was loaded, and more has come, or there is no more.
HAS_MORE = """
(list, before) => list.scrollHeight > before
  || list.querySelector('li')?.getAttribute('aria-setsize') !== '-1'
"""
READ_DRAWN = """
(items) => items.map((item) => [
  Number(item.ariaPosInSet), item.querySelector('.name .cut').textContent.trim(),
])
"""


@pytest.fixture(scope="module", autouse=True)
async def inboxes(demo: Demo, database_url: str) -> None:
    """With `Person 1` at the top, who wrote a minute ago, and so on."""
    await fill_inbox(database_url, MANY, MANY_COUNT)
    await fill_inbox(database_url, SOME, SOME_COUNT)


class Inbox:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.items = page.locator("greenroom-inbox-rows").get_by_role("listitem")
        self._scroller = page.locator("greenroom-inbox-rows .scroll")

    def row(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=re.compile(f"^{name} "))

    def place_of(self, name: str) -> Locator:
        return self.items.filter(has=self.row(name))

    async def is_at(self, name: str, position: int, of: int) -> None:
        """`of` is -1 while nobody knows how many there are."""
        item = self.place_of(name)
        await expect(item).to_have_attribute("aria-posinset", str(position))
        await expect(item).to_have_attribute("aria-setsize", str(of))

    async def press(self, key: str, name: str) -> None:
        """Moves the focus to the row of that name, which is then wholly on the screen."""
        await self.page.keyboard.press(key)
        await expect(self.row(name)).to_be_focused()
        await expect(self.row(name)).to_be_in_viewport(ratio=1)

    async def drawn(self) -> dict[int, str]:
        """The name at each position that is drawn just now."""
        return dict(await self.items.evaluate_all(READ_DRAWN))

    async def is_bounded(self) -> None:
        assert 0 < await self.items.count() < MOST_DRAWN

    async def wheel_to_its_end(self) -> None:
        """As far as it is loaded; until more is, or nothing more is to come."""
        await self._scroller.hover()
        before = await self._height()
        await self.page.mouse.wheel(0, before)
        await self._has_more_than(before)

    async def press_end(self) -> None:
        """As `wheel_to_its_end`, with a key."""
        before = await self._height()
        await self.page.keyboard.press("End")
        await self._has_more_than(before)

    async def _height(self) -> int:
        height: int = await self._scroller.evaluate("(list) => list.scrollHeight")
        return height

    async def _has_more_than(self, height: int) -> None:
        async def look() -> bool:
            has_more: bool = await self._scroller.evaluate(HAS_MORE, height)
            return has_more

        await becomes(self.page, True, look)

    async def scroll_to(self, position: int) -> None:
        """That row is the first that is seen."""
        await self._scroller.evaluate(
            "(list, above) => { list.scrollTop = above * list.querySelector('li').offsetHeight; }",
            position - 1,
        )


async def open_inbox(people: People, user_id: str, position: int = 1) -> Inbox:
    person = await people.open(user_id)
    inbox = Inbox(person.page)
    await expect(inbox.row(f"Person {position}")).to_be_visible()
    return inbox


async def test_few_rows_are_drawn_however_far_one_scrolls(people: People) -> None:
    inbox = await open_inbox(people, MANY)
    await inbox.is_at("Person 1", 1, of=-1)
    reached = 0
    for _ in range(MOST_PAGES):
        drawn = await inbox.drawn()
        assert 0 < len(drawn) < MOST_DRAWN
        assert drawn == {position: f"Person {position}" for position in drawn}
        reached = max(drawn)
        if reached >= DEEP:
            break
        await inbox.wheel_to_its_end()
    assert reached >= DEEP
    await expect(inbox.row("Person 1")).to_have_count(0)


async def test_the_last_page_tells_how_many_there_are(people: People) -> None:
    inbox = await open_inbox(people, SOME)
    last = inbox.row(f"Person {SOME_COUNT}")
    while await inbox.items.first.get_attribute("aria-setsize") == "-1":
        await inbox.wheel_to_its_end()
    await inbox.wheel_to_its_end()
    await inbox.is_at(f"Person {SOME_COUNT}", SOME_COUNT, of=SOME_COUNT)
    await expect(last).to_be_in_viewport(ratio=1)
    await inbox.is_bounded()


async def test_keys_go_to_both_ends_and_page_by_page(people: People) -> None:
    inbox = await open_inbox(people, SOME)
    await inbox.page.get_by_role("searchbox").press("ArrowDown")
    await expect(inbox.row("Person 1")).to_be_focused()
    await inbox.press("ArrowDown", "Person 2")
    await inbox.press_end()
    await expect(inbox.row("Person 1")).to_have_count(0)
    while await inbox.items.first.get_attribute("aria-setsize") == "-1":
        await inbox.press_end()
    await inbox.press("End", f"Person {SOME_COUNT}")
    await inbox.is_at(f"Person {SOME_COUNT}", SOME_COUNT, of=SOME_COUNT)
    await inbox.press("ArrowUp", f"Person {SOME_COUNT - 1}")
    await inbox.press("Home", "Person 1")
    await inbox.is_bounded()


async def test_news_from_far_below_come_to_the_top(people: People, demo: Demo) -> None:
    inbox = await open_inbox(people, MANY)
    found = demo.call(f"{MANY}7000", "GET", "/v1/inbox")["items"]
    say(demo, f"{MANY}7000", found[0]["thread"]["id"], "I am the seven-thousandth")
    await inbox.is_at("Person 7000", 1, of=-1)
    await inbox.is_at("Person 1", 2, of=-1)
    await expect(inbox.place_of("Person 7000")).to_contain_text("I am the seven-thousandth")
    await expect(inbox.row("Person 7000")).to_be_in_viewport(ratio=1)


async def test_news_do_not_move_what_one_reads(people: People, demo: Demo) -> None:
    inbox = await open_inbox(people, SOME)
    await inbox.scroll_to(30)
    read = inbox.row("Person 32")
    await expect(read).to_be_in_viewport(ratio=1)
    before = await read.bounding_box()
    found = demo.call(f"{SOME}200", "GET", "/v1/inbox")["items"]
    say(demo, f"{SOME}200", found[0]["thread"]["id"], "Nobody has to look up")
    await expect(inbox.place_of("Person 32")).to_have_attribute("aria-posinset", "33")
    await becomes(inbox.page, before, read.bounding_box)


async def test_a_link_to_a_conversation_brings_its_row_into_sight(
    people: People, demo: Demo
) -> None:
    found = demo.call(f"{SOME}45", "GET", "/v1/inbox")["items"]
    address = f"{demo.url}/app/threads/{found[0]['thread']['id']}#token={demo.token(SOME)}"
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.fallback()

    person = await people.meet(SOME)
    await person.context.route("**/v1/inbox*", late)
    await person.page.goto(address)
    await expect(person.page.get_by_role("heading", name="Person 45")).to_be_visible()
    may_answer.set()
    inbox = Inbox(person.page)
    await expect(inbox.row("Person 1")).to_have_count(0)
    await expect(inbox.row("Person 45")).to_be_in_viewport(ratio=1)


async def test_a_search_finds_somebody_deep_below(people: People) -> None:
    inbox = await open_inbox(people, MANY, position=2)
    await inbox.page.get_by_role("searchbox").press_sequentially("person 9876")
    await inbox.is_at("Person 9876", 1, of=1)
    await expect(inbox.items).to_have_count(1)
    await inbox.row("Person 9876").click()
    await expect(inbox.page.get_by_role("heading", name="Person 9876")).to_be_visible()
