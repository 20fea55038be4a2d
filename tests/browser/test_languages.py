"""German, right-to-left, larger text, dark mode and reduced motion."""

import asyncio
from urllib.parse import urlsplit

import pytest
from playwright.async_api import BrowserContext, Locator, Page, Route, ViewportSize, expect

from tools.demo import Demo

from .looking import wider_than_the_screen
from .people import PATIENCE_MS, People
from .starting import PANEL_TABS, booked_thread, propose_time, start_thread
from .waiting import becomes
from .wording import english_only, shown_on

LAPTOP = ViewportSize(width=1280, height=900)
LARGE_TEXT = "html { font-size: 200% !important; }"


@pytest.fixture(scope="module")
def english(demo: Demo) -> set[str]:
    return english_only(demo)


async def speaks_german(page: Page, english: set[str]) -> None:
    """Once its words are there: until then it has those that came with the page."""

    async def look() -> set[str]:
        return await shown_on(page) & english

    await becomes(page, set(), look)


async def test_the_whole_app_speaks_german(people: People, demo: Demo, english: set[str]) -> None:
    stranger = await people.meet("stranger", locale="de-DE")
    await stranger.page.goto(f"{demo.url}/app/sign-in")
    await expect(stranger.page.get_by_role("button", name="Maya Lindqvist")).to_be_visible()
    await speaks_german(stranger.page, english)

    thread_id = start_thread(demo, "Wann treffen wir uns?", subject="Treffen")
    propose_time(demo, "theo", thread_id)
    maya = await people.open("maya", locale="de-DE", viewport=LAPTOP)
    page = maya.page
    await expect(page.get_by_text("Treffen", exact=True)).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "de-DE")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_role("button", name="Schließen")).to_be_visible()
    await speaks_german(page, english)
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Tastenkürzel")).to_be_visible()
    await speaks_german(page, english)
    await page.keyboard.press("Escape")
    await page.get_by_text("Treffen", exact=True).click()
    await expect(page.get_by_role("group", name="Terminvorschlag")).to_be_visible()
    await page.locator("greenroom-new-card").get_by_role("button").click()
    await page.get_by_role("menuitem", name="Zeit vorschlagen").click()
    await expect(page.get_by_role("dialog", name="Zeit vorschlagen")).to_be_visible()
    await expect(page.locator("greenroom-card-form")).to_be_visible()
    await speaks_german(page, english)


async def test_the_panel_and_its_tabs_speak_german(
    people: People, demo: Demo, english: set[str]
) -> None:
    address = f"/app/threads/{booked_thread(demo)}?panel="
    maya = await people.open("maya", address + PANEL_TABS[0], locale="de-DE", viewport=LAPTOP)
    for tab in PANEL_TABS:
        await maya.page.goto(demo.url + address + tab)
        await expect(maya.page.locator("greenroom-panel-content")).to_be_visible()
        await expect(maya.page.get_by_role("article").last).to_be_visible()
        await speaks_german(maya.page, english)


async def test_a_language_that_is_chosen_is_kept(people: People) -> None:
    maya = await people.open("maya")
    await maya.page.get_by_role("button", name="Menu of Maya Lindqvist").click()
    await maya.page.get_by_role("radio", name="Deutsch").check()
    await expect(maya.page.get_by_role("heading", name="Nachrichten")).to_be_visible()
    await maya.page.reload()
    await expect(maya.page.get_by_role("heading", name="Nachrichten")).to_be_visible()


async def middle_of(locator: Locator) -> float:
    box = await locator.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2


async def are_side_by_side(*places: Locator) -> None:
    """By their middles, from left to right."""

    async def look() -> bool:
        middles = [await middle_of(each) for each in places]
        return middles == sorted(middles) and len(set(middles)) == len(middles)

    await becomes(places[0].page, True, look)


async def test_from_right_to_left_everything_is_on_the_other_side(
    people: People, demo: Demo
) -> None:
    address = f"/app/threads/{booked_thread(demo)}?dir=rtl&panel=booking"
    maya = await people.open("maya", address, viewport=LAPTOP)
    page = maya.page
    await expect(page.locator("greenroom-panel-content")).to_be_visible()
    await expect(page.get_by_role("article").last).to_be_in_viewport()
    panel, thread, inbox = [
        page.locator(f"greenroom-{name}") for name in ("panel", "thread", "inbox")
    ]
    await are_side_by_side(panel, thread, inbox)
    own = page.get_by_role("article", name="You, ").last.locator(".bubble")
    other = page.get_by_role("article", name="Mile End Loft, ").last.locator(".bubble")
    await are_side_by_side(own, thread, other)
    send = page.get_by_role("button", name="Send", exact=True)
    await are_side_by_side(send, page.get_by_role("textbox", name="Write"))
    await becomes(page, [], lambda: wider_than_the_screen(page))


@pytest.mark.parametrize(("wish", "moves"), [("reduce", False), ("no-preference", True)])
async def test_who_wants_no_motion_sees_none(
    people: People, demo: Demo, wish: str, moves: bool
) -> None:
    thread_id = start_thread(demo, "Stand still", subject="Stillness")
    maya = await people.open("maya", f"/app/threads/{thread_id}", reduced_motion=wish)
    theo = await people.open("theo", f"/app/threads/{thread_id}")
    page = maya.page
    for each in (maya, theo):
        await expect(each.page.get_by_role("status", name="Live")).to_be_visible()
    await expect(page.get_by_role("article").last).to_be_visible()
    await count_animations(page)
    composer = theo.page.get_by_role("textbox", name="Write a message")
    await asyncio.gather(
        composer.press_sequentially("I do nothing else"),
        expect(page.get_by_text("Theo is typing…").first).to_be_visible(),
    )
    await page.get_by_role("button", name="Details", exact=True).click()
    await expect(page.locator("greenroom-panel-content")).to_be_visible()
    await page.get_by_role("button", name="Menu of Maya Lindqvist").click()
    await page.keyboard.press("Escape")
    await page.get_by_role("article").last.press("Delete")
    await expect(page.get_by_role("button", name="Delete")).to_be_visible()
    assert bool(await page.evaluate("animationsSeen")) is moves


async def count_animations(page: Page) -> None:
    """From now on, in every frame, those that move anything."""
    await page.evaluate("""() => {
      globalThis.animationsSeen = [];
      const lookIn = (root) => {
        for (const each of root.getAnimations()) {
          animationsSeen.push(each.animationName ?? each.transitionProperty);
        }
        for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot) lookIn(shadowRoot);
      };
      const look = () => {
        lookIn(document);
        requestAnimationFrame(look);
      };
      look();
    }""")


@pytest.mark.parametrize(("scheme", "is_dark"), [("dark", True), ("light", False)])
async def test_the_look_is_that_of_the_system(people: People, scheme: str, is_dark: bool) -> None:
    maya = await people.open("maya", color_scheme=scheme)
    page = maya.page
    await expect(page.get_by_role("listitem").first).to_be_visible()
    surface = await page.locator("greenroom-inbox").evaluate(
        "(inbox) => getComputedStyle(inbox.closest('.pane')).backgroundColor"
    )
    light = [int(part) for part in surface.removeprefix("rgb(").removesuffix(")").split(",")]
    assert (max(light) < 64) is is_dark
    await page.get_by_role("button", name="Menu of Maya Lindqvist").click()
    await page.get_by_role("radio", name="Light" if is_dark else "Dark").check()
    await expect(page.locator("html")).to_have_css("color-scheme", "light" if is_dark else "dark")


@pytest.mark.parametrize(
    "viewport", [LAPTOP, ViewportSize(width=640, height=900)], ids=["laptop", "half of it"]
)
async def test_letters_twice_as_large_cut_nothing_off(
    people: People, demo: Demo, viewport: ViewportSize
) -> None:
    address = f"{demo.url}/app/threads/{booked_thread(demo)}"
    maya = await people.meet("maya", viewport=viewport, bypass_csp=True)
    page = maya.page
    for path in ("", "?panel=booking", "?panel=expenses"):
        await page.goto(f"{address}{path}#token={demo.token('maya')}")
        await page.add_style_tag(content=LARGE_TEXT)
        await expect(page.locator("greenroom-thread article").last).to_be_attached()
        await expect(page.locator("greenroom-panel-content")).to_have_count(1 if path else 0)
        await becomes(page, [], lambda: wider_than_the_screen(page))
        await becomes(page, [], lambda: cut_off(page))


async def cut_off(page: Page) -> list[str]:
    """Buttons and headings whose text is higher or wider than they are, without a sign of it."""
    found: list[str] = await page.evaluate("""() => {
      const found = [];
      const look = (root) => {
        for (const element of root.querySelectorAll('*')) {
          if (element.shadowRoot) look(element.shadowRoot);
          if (!element.matches('button, h1, h2, h3, label, .bubble, dt, dd')) continue;
          if (!element.checkVisibility({ visibilityProperty: true })) continue;
          const { overflowX, overflowY, textOverflow, clipPath } = getComputedStyle(element);
          if (clipPath !== 'none') continue;
          const isCutX = overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
          const isCutY = overflowY !== 'visible' && element.scrollHeight > element.clientHeight + 1;
          if (isCutY || (isCutX && textOverflow !== 'ellipsis')) {
            found.push(`${element.localName} ${element.className}: ${element.textContent.trim()}`);
          }
        }
      };
      look(document);
      return found;
    }""")
    return found


class HeldAnswers:
    """Requests that are asked for and get no answer until all are let go."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._go = asyncio.Event()
        self._news = asyncio.Condition()

    async def hold(self, context: BrowserContext, *patterns: str) -> None:
        for pattern in patterns:
            await context.route(pattern, self._wait)

    async def _wait(self, route: Route) -> None:
        async with self._news:
            self._asked.add(urlsplit(route.request.url).path)
            self._news.notify_all()
        await self._go.wait()
        await route.fallback()

    async def has(self, *paths: str) -> None:
        async with asyncio.timeout(PATIENCE_MS / 1000), self._news:
            await self._news.wait_for(lambda: self._asked.issuperset(paths))

    def let_go(self) -> None:
        self._go.set()


async def test_the_first_thread_takes_one_round_trip(people: People, demo: Demo) -> None:
    """The list, the thread and its messages are asked for before any of them is answered."""
    thread_id = booked_thread(demo)
    maya = await people.meet("maya")
    held = HeldAnswers()
    await held.hold(maya.context, "**/v1/**")
    await maya.page.goto(f"{demo.url}/app/threads/{thread_id}#token={demo.token('maya')}")
    await held.has("/v1/inbox", f"/v1/threads/{thread_id}", f"/v1/threads/{thread_id}/messages")
    await expect(maya.page.get_by_role("article")).to_have_count(0)
    held.let_go()
    await expect(maya.page.get_by_role("article").last).to_be_visible()
    await expect(maya.page.get_by_text("Autumn campaign: studio day").first).to_be_visible()
