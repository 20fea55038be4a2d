"""What a page may set: every property that the guide lists does something, and stays readable."""

import re
from collections.abc import Sequence

import pytest
from playwright.async_api import Page, Route, ViewportSize, expect

from tests.support import REPOSITORY
from tools.demo import Demo

from .foreign_site import ForeignSite, page_with
from .panes import Panes
from .people import People, Person, Way
from .starting import propose_time, say, start_thread
from .talking import Talk

WIDE = ViewportSize(width=1440, height=900)
GUIDE = (REPOSITORY / "docs/embed.md").read_text()
PROPERTIES = re.findall(r"^\| `(--gr-[a-z-]+)` \|", GUIDE, re.MULTILINE)
# Colours need no entry.
VALUES = {
    "--gr-font": "Courier",
    "--gr-font-size": "1.25rem",
    "--gr-space": "0.4rem",
    "--gr-radius": "0.2rem",
    "--gr-row-height": "6rem",
}
ACCENTS = ["#7a3ce0", "#a4452c", "#ffd400", "#00e5ff", "#000000", "#ffffff", "#808080"]
READABLE = 4.5

# What every element looks like, through all shadow roots.
LOOKS = """
() => {
  const names = ['color', 'background-color', 'background-image', 'border-color', 'fill', 'stroke',
    'font-family', 'font-size', 'padding', 'gap', 'border-radius', 'block-size', 'box-shadow'];
  const found = [];
  const walk = (root) => {
    for (const element of root.children) {
      const style = getComputedStyle(element);
      found.push(names.map((name) => style.getPropertyValue(name)).join('; '));
      walk(element);
      if (element.shadowRoot) walk(element.shadowRoot);
    }
  };
  walk(document.querySelector('main'));
  return found;
}
"""
# The contrast of an element's letters with what is behind them, as WCAG computes it.
CONTRAST = """
(element) => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const linear = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const { color, backgroundColor } = getComputedStyle(element);
  const [dark, light] = [luminance(color), luminance(backgroundColor)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
"""


async def open_thread(
    people: People,
    demo: Demo,
    site: ForeignSite,
    style: str = "",
    blocked: Sequence[Way] = (),
    **options: str,
) -> Person:
    """With an own message, one of somebody else, and a card that waits for an answer."""
    thread_id = start_thread(demo, "My own words")
    say(demo, "theo", thread_id, "Their words")
    propose_time(demo, "theo", thread_id)
    tag = f'<greenroom-messages thread-id="{thread_id}" token-url="/chat-token">'
    body = f"{tag}</greenroom-messages>"
    maya = await people.meet("maya", viewport=WIDE, reduced_motion="reduce", **options)
    await maya.block(blocked)
    await maya.page.goto(page_with(site, body, style))
    await Talk(maya).sees("My own words")
    await expect(maya.page.get_by_role("group", name="Proposed time")).to_be_visible()
    return maya


async def fail_to_send(maya: Person) -> None:
    maya.expect_error("status of 403")
    problem = {"status": 403, "code": "FORBIDDEN", "title": "No", "detail": "Not now."}

    async def answer(route: Route) -> None:
        if route.request.method == "POST":
            await route.fulfill(status=403, json=problem)
        else:
            await route.continue_()

    await maya.page.route("**/messages", answer)
    composer = maya.page.get_by_role("textbox", name="Write a message")
    await composer.fill("This fails")
    await composer.press("Enter")
    await expect(maya.page.get_by_text("Not sent.").first).to_be_visible()


async def set_property(page: Page, name: str, value: str) -> list[str]:
    script = "([name, value]) => document.documentElement.style.setProperty(name, value)"
    await page.evaluate(script, [name, value])
    looks: list[str] = await page.evaluate(LOOKS)
    return looks


def test_the_guide_lists_every_property_that_there_is() -> None:
    source = REPOSITORY / "web/app/src"
    texts = [path.read_text() for path in source.rglob("*.ts")]
    used = {name for text in texts for name in re.findall(r"var\(\s*(--gr-[a-z-]+)", text)}
    assert sorted(PROPERTIES) == sorted(used)


async def test_every_property_of_the_guide_changes_how_something_looks(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await open_thread(people, demo, site, blocked=["websocket"])
    await fail_to_send(maya)
    await Panes(maya.page).open_panel()
    card = maya.page.locator("greenroom-thread").get_by_role("group", name="Proposed time")
    await card.get_by_role("button", name="Decline").click()
    await expect(card.locator(".firm")).to_be_visible()
    without_effect = []
    for name in PROPERTIES:
        before = await set_property(maya.page, name, "")
        after = await set_property(maya.page, name, VALUES.get(name, "rgb(1, 2, 3)"))
        if before == after:
            without_effect.append(name)
        await set_property(maya.page, name, "")
    assert without_effect == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_any_accent_alone_colours_own_messages_and_stays_readable(
    people: People, demo: Demo, site: ForeignSite, scheme: str
) -> None:
    maya = await open_thread(
        people, demo, site, "html { color-scheme: light dark }", color_scheme=scheme
    )
    page = maya.page
    own = page.locator("greenroom-thread .own .bubble").first
    button = page.get_by_role("button", name="Accept").first
    tab = page.get_by_role("tab", selected=True).first
    colours = set()
    for accent in ACCENTS:
        await set_property(page, "--gr-accent", accent)
        colours.add(await own.evaluate("(each) => getComputedStyle(each).backgroundColor"))
        for each in (own, button, tab):
            contrast = await each.evaluate(CONTRAST)
            assert contrast >= READABLE, (accent, await each.inner_text(), contrast)
    assert len(colours) >= len(ACCENTS) - 2  # three of them are grey


async def test_fields_and_bubbles_have_the_corners_of_the_page(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await open_thread(people, demo, site, "html { --gr-radius: 0px }")
    for place in (".search input", "greenroom-composer .bar", ".own .bubble", "[role=tab]"):
        await expect(maya.page.locator(place).first).to_have_css("border-radius", "0px")


async def test_a_line_stands_between_the_list_and_the_conversation(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    parts = """<greenroom-inbox for="thread" token-url="/chat-token"></greenroom-inbox>
        <greenroom-thread id="thread"></greenroom-thread>"""
    whole = '<greenroom-messages token-url="/chat-token"></greenroom-messages>'
    for body, place in ((parts, "greenroom-inbox"), (whole, ".inbox.pane")):
        maya = await people.meet("maya", viewport=WIDE)
        await maya.page.goto(page_with(site, body, "main { display: flex }"))
        await expect(maya.page.locator(place)).to_have_css("border-right-width", "1px")
