"""`<greenroom-messages>` and its parts in pages that know nothing of them."""

import pytest
from playwright.async_api import ViewportSize, expect

from tools.demo import Demo

from .axe import axe
from .foreign_site import ForeignSite, page_with
from .looking import wider_than_the_screen
from .panes import PaneName, Panes
from .people import PHONE, People, Person
from .starting import start_thread

LAPTOP = ViewportSize(width=1440, height=900)
ONE_TAG = '<greenroom-messages token-url="/chat-token"></greenroom-messages>'
PARTS = """
<greenroom-inbox for="thread" token-url="/chat-token"></greenroom-inbox>
<greenroom-thread id="thread" for="panel"></greenroom-thread>
<greenroom-panel id="panel" hidden></greenroom-panel>
"""
BOXES = {
    "nothing around it": "",
    "a height": "main { height: 600px }",
    "no height at all": "main { height: 0 }",
    "a row of a flex box": "main { display: flex }",
    "a column of a flex box": "main { display: flex; flex-direction: column; height: 90vh }",
    "a grid": "main { display: grid }",
    "a column as wide as its contents": "main { display: grid; grid-template-columns: auto }",
    "a box that shrinks to fit": "main { display: inline-block }",
}
PANES: tuple[PaneName, ...] = ("inbox", "thread", "panel")
LAYOUTS = {
    "no layout": "",
    "a row": "main { display: flex }",
    "a row with a height": "main { display: flex; height: 44rem }",
    "columns, the last as wide as its contents": """main { block-size: 44rem; display: grid;
        grid-template-columns: 20rem 1fr auto; grid-template-rows: minmax(0, 1fr) }""",
}


async def visit(
    people: People, address: str, viewport: ViewportSize = LAPTOP, who: str = "maya"
) -> Person:
    visitor = await people.meet(who, viewport=viewport, reduced_motion="reduce")
    await visitor.page.goto(address)
    return visitor


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("box", BOXES)
async def test_one_tag_is_usable_in_any_box(
    people: People, demo: Demo, site: ForeignSite, box: str, viewport: ViewportSize
) -> None:
    maya = await visit(people, page_with(site, ONE_TAG, BOXES[box]), viewport)
    panes = Panes(maya.page)
    await panes.open_first()
    await panes.is_usable(panes.pane("thread"))
    await panes.can_write()
    assert await wider_than_the_screen(maya.page) == []


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_parts_are_usable_in_a_layout_that_says_nothing_of_their_size(
    people: People, demo: Demo, site: ForeignSite, layout: str
) -> None:
    maya = await visit(people, page_with(site, PARTS, LAYOUTS[layout]))
    panes = Panes(maya.page)
    await panes.open_first()
    await panes.can_write()
    await panes.open_panel()
    for name in PANES:
        # One below the other they are higher than the window.
        await panes.pane(name).scroll_into_view_if_needed()
        await panes.is_usable(panes.pane(name))
    assert await wider_than_the_screen(maya.page) == []


async def test_it_looks_at_its_own_box_and_not_at_the_window(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await visit(people, page_with(site, ONE_TAG, "main { width: 420px }"))
    panes = Panes(maya.page)
    await panes.shows("inbox")
    await panes.open_first()
    await panes.shows("thread")
    await maya.page.add_style_tag(content="main { width: 800px }")
    await panes.shows("inbox", "thread")
    await maya.page.keyboard.press("Escape")
    await panes.shows("inbox", "thread")


async def test_a_page_may_open_a_conversation_and_hears_of_others(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    thread_id = start_thread(demo, "Opened by the page")
    body = ONE_TAG.replace(" token-url", f' thread-id="{thread_id}" token-url')
    maya = await visit(people, page_with(site, body), PHONE)
    page = maya.page
    await expect(page.get_by_text("Opened by the page").first).to_be_visible()
    await page.evaluate(
        "document.querySelector('greenroom-messages').addEventListener("
        "'greenroom-change', ({ detail }) => { document.title = JSON.stringify(detail); })"
    )
    await page.get_by_role("button", name="Back to the list").click()
    await expect(page).to_have_title(
        '{"threadId":null,"panel":null,"folder":"all","history":"back"}'
    )
    assert await page.locator("greenroom-messages").get_attribute("thread-id") is None


async def test_where_one_writes_elsewhere_in_the_page_the_focus_stays(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    thread_id = start_thread(demo, "No thief")
    body = f'<label>Name <input id="name"></label>{ONE_TAG}'
    maya = await visit(people, page_with(site, body))
    await expect(maya.page.locator("greenroom-inbox-rows button").first).to_be_visible()
    await maya.page.locator("#name").focus()
    await maya.page.evaluate(
        "(id) => { document.querySelector('greenroom-messages').threadId = id; }", thread_id
    )
    await expect(maya.page.get_by_text("No thief").first).to_be_visible()
    await expect(maya.page.locator("#name")).to_be_focused()


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
async def test_assistive_technology_finds_its_way_in_a_page_of_somebody_else(
    people: People, demo: Demo, site: ForeignSite, viewport: ViewportSize
) -> None:
    body = f"<h1>A site</h1>{ONE_TAG}"
    maya = await visit(people, page_with(site, body), viewport)
    panes = Panes(maya.page)
    assert await axe(maya.page) == []
    await panes.open_first()
    await panes.open_panel()
    assert await axe(maya.page) == []
    await expect(maya.page.get_by_role("main")).to_have_count(1)


async def test_signed_out_it_says_so_once_and_goes_on_when_somebody_has_signed_in(
    people: People, demo: Demo, site: ForeignSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "token", lambda: None)
    visitor = await people.meet("visitor", viewport=LAPTOP)
    visitor.expect_error("status of 401")
    page = visitor.page
    await page.clock.install()
    await page.goto(page_with(site, ONE_TAG))
    await expect(page.get_by_role("heading", name="You are signed out")).to_have_count(1)
    await expect(page.locator("greenroom-inbox")).to_have_count(0)
    async with page.expect_request("**/chat-token"):
        await page.get_by_role("button", name="Try again").click()
    monkeypatch.undo()
    # The client also asks by itself after a pause. Which of the two is first does not matter.
    await page.clock.fast_forward(60_000)
    panes = Panes(page)
    await panes.open_first()
    await panes.can_write()


async def test_each_empty_place_says_what_it_is_and_what_to_do(
    people: People, demo: Demo, site: ForeignSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = ONE_TAG.replace("></", '><a slot="empty" href="/find">Find somebody</a></')
    address = page_with(site, body)
    maya = (await visit(people, address)).page
    await expect(maya.get_by_role("heading", name="Choose a conversation")).to_be_visible()
    await expect(maya.get_by_role("link", name="Find somebody")).to_be_visible()
    await maya.get_by_role("searchbox").fill("nobody is called so")
    await expect(maya.get_by_role("heading", name="Nothing found")).to_be_visible()
    await maya.get_by_role("button", name="Clear the search").last.click()
    await expect(maya.get_by_role("heading", name="Nothing found")).to_have_count(0)

    monkeypatch.setattr(site, "token", lambda: demo.token("somebody-new"))
    new = (await visit(people, address, who="somebody-new")).page
    await expect(new.get_by_role("heading", name="No messages yet")).to_be_visible()
    await expect(new.get_by_role("heading", name="Nothing to read yet")).to_be_visible()
    await expect(new.get_by_role("link", name="Find somebody")).to_be_visible()
