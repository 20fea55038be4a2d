"""The elements in pages of other origins, each under a strict Content-Security-Policy."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
from playwright.async_api import Locator, Page, expect

from tools.demo import Demo

from .foreign_site import ForeignSite, open_foreign_site
from .people import People, Person
from .talking import Talk
from .waiting import becomes

# What a property of the page comes to as a colour, at the place where the elements stand.
RESOLVE = """
(place, name) => {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  place.parentNode.insertBefore(probe, place);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
"""


@pytest.fixture(scope="module")
def stranger(demo: Demo) -> Iterator[ForeignSite]:
    """A site that the server does not know."""
    with open_foreign_site() as opened:
        opened.server_url = demo.url
        opened.token = lambda: demo.token("maya")
        yield opened


def new_thread(demo: Demo, subject: str) -> str:
    """From Maya to Theo. What they say next is the first thing unread in it."""
    message = {"client_id": subject.replace(" ", "-"), "body": f"About {subject}"}
    new = {"kind": "inquiry", "to": ["theo"], "subject": subject, "first_message": message}
    thread_id: str = demo.call("maya", "POST", "/v1/threads", new)["thread"]["id"]
    return thread_id


def row(page: Page, subject: str) -> Locator:
    return page.locator("greenroom-inbox").get_by_role("button").filter(has_text=subject)


async def is_live(page: Page) -> None:
    await expect(page.get_by_role("status", name="Live")).to_be_visible()


async def sign_in(page: Page, person: str) -> None:
    await page.get_by_label("Signed in as").select_option(label=person)
    await is_live(page)


async def open_host(people: People, demo: Demo) -> Person:
    """Its visitor is Maya until somebody else is chosen."""
    host = await people.meet("maya")
    await host.page.goto(f"{demo.host_url}/")
    await is_live(host.page)
    await expect(host.page.get_by_label("Signed in as")).to_have_value("maya")
    return host


async def talk_across(embedded: Person, people: People, demo: Demo, subject: str) -> None:
    """Maya in somebody's site, Theo in the app."""
    thread_id = new_thread(demo, subject)
    theo = Talk(await people.open("theo", f"/app/threads/{thread_id}"))
    maya = Talk(embedded)
    badge = maya.page.get_by_role("navigation").locator("greenroom-unread")
    before = demo.call("maya", "GET", "/v1/inbox")["counts"]["all"]
    await expect(badge).to_contain_text(f"{before} unread conversations")
    await theo.say(f"Yes to {subject}")
    await expect(badge).to_contain_text(f"{before + 1} unread conversations")
    await row(maya.page, subject).click()
    await maya.sees(f"Yes to {subject}")
    await maya.say("Then it is settled")
    await theo.sees("Then it is settled")
    await maya.sees_progress("Then it is settled", "Read")
    await expect(badge).to_contain_text(f"{before} unread conversations")


async def test_people_talk_between_the_marketplaces_page_and_the_app(
    people: People, demo: Demo
) -> None:
    host = await open_host(people, demo)
    assert demo.host_url != demo.url
    await talk_across(host, people, demo, "A roof at dusk")


async def test_people_talk_from_a_site_that_allows_only_what_the_guide_lists(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await people.meet("maya")
    await maya.page.goto(site.url)
    await talk_across(maya, people, demo, "A harbour at dawn")


async def test_somebody_else_at_the_same_page_sees_their_own_messages(
    people: People, demo: Demo
) -> None:
    new_thread(demo, "Only for Theo")
    host = await open_host(people, demo)
    # Whoever signs in ends the connection of the one before, which may still be opening.
    host.expect_error("WebSocket is closed before the connection is established")
    await expect(row(host.page, "Only for Theo")).to_contain_text("Theo Adeyemi")
    await sign_in(host.page, "Theo Adeyemi, photographer")
    await expect(row(host.page, "Only for Theo")).to_contain_text("Maya Lindqvist")
    await sign_in(host.page, "Lars Brandvold, carpenter")
    await expect(row(host.page, "Only for Theo")).to_have_count(0)


async def test_the_elements_wear_the_colours_of_their_page(people: People, demo: Demo) -> None:
    host = await open_host(people, demo)
    inbox = host.page.locator("greenroom-inbox")
    unread = inbox.locator(".pill").first
    accent = await inbox.evaluate(RESOLVE, "--gr-accent")
    await expect(unread).to_have_css("background-color", accent)
    await host.page.emulate_media(color_scheme="dark")
    await expect(unread).not_to_have_css("background-color", accent)
    in_the_dark = await inbox.evaluate(RESOLVE, "--gr-accent")
    await expect(unread).to_have_css("background-color", in_the_dark)


async def test_the_panel_opens_beside_its_thread(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    thread_id = new_thread(demo, "With a panel")
    maya = await people.meet("maya")
    await maya.page.goto(site.url)
    await row(maya.page, "With a panel").click()
    panel = maya.page.locator("greenroom-panel")
    await expect(panel).to_be_hidden()
    await maya.page.get_by_role("button", name="Details", exact=True).click()
    await expect(panel.get_by_role("tab", name="Actions")).to_be_visible()
    await expect(panel).to_have_attribute("thread-id", thread_id)
    await panel.get_by_role("button", name="Close the project panel").click()
    await expect(panel).to_be_hidden()


async def test_a_site_that_is_not_allowed_shows_that_nothing_could_be_loaded(
    people: People, stranger: ForeignSite
) -> None:
    maya = await people.meet("maya")
    maya.expect_error("CORS policy|net::ERR_FAILED|WebSocket connection|GREENROOM_ALLOWED_ORIGINS")
    said: list[str] = []
    maya.page.on("console", lambda line: said.append(line.text) if line.type == "warning" else None)
    async with maya.page.expect_console_message(lambda line: "ALLOWED_ORIGINS" in line.text):
        await maya.page.goto(stranger.url)
    told = [line for line in said if f"GREENROOM_ALLOWED_ORIGINS={stranger.url}" in line]
    assert len(told) == 1
    inbox = maya.page.locator("greenroom-inbox")
    await expect(inbox.get_by_role("heading", name="could not be loaded")).to_be_visible()
    await expect(inbox.get_by_role("button", name="Try again")).to_be_visible()


async def test_a_visitor_whom_the_site_gives_no_token_is_told_to_sign_in(
    people: People, demo: Demo, site: ForeignSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "token", lambda: None)
    visitor = await people.meet("visitor")
    visitor.expect_error("status of 401")
    await visitor.page.clock.install()
    await visitor.page.goto(site.url)
    inbox = visitor.page.locator("greenroom-inbox")
    await expect(inbox).to_contain_text("You are signed out")
    async with visitor.page.expect_request("**/chat-token"):
        await inbox.get_by_role("button", name="Try again").click()
    monkeypatch.undo()
    # The client also asks by itself after a pause. Which of the two is first does not matter.
    await visitor.page.clock.fast_forward(60_000)
    await row(visitor.page, "Theo Adeyemi").first.click()
    await expect(visitor.page.get_by_role("textbox", name="Write a message")).to_be_visible()


async def test_without_a_session_the_elements_wait_quietly(
    people: People, site: ForeignSite
) -> None:
    visitor = await people.meet("visitor")
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    await visitor.page.goto(f"{site.url}/signed-out", wait_until="networkidle")
    inbox = visitor.page.locator("greenroom-inbox")
    await expect(inbox).to_contain_text("Sign in, and your messages appear here.")
    await expect(visitor.page.locator("greenroom-thread")).to_contain_text("You are signed out")
    await expect(visitor.page.locator("greenroom-unread .badge")).to_have_count(0)
    assert [url for url in asked if "/v1/" in url] == []


async def test_only_what_is_in_the_window_of_the_site_is_read(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    thread_id = new_thread(demo, "Below the fold")
    for number in range(40):
        message = {"client_id": f"fold-{number}", "body": f"Line {number:02}"}
        demo.call("theo", "POST", f"/v1/threads/{thread_id}/messages", message)

    async def unread() -> int:
        page = demo.call("maya", "GET", f"/v1/threads/{thread_id}")
        count: int = page["inbox"]["unread_count"]
        return count

    maya = await people.meet("maya")
    await maya.page.clock.install()
    await maya.page.goto(site.url)
    thread = maya.page.locator("greenroom-thread")
    await thread.evaluate(BELOW_THE_FOLD, thread_id)
    await expect(thread.get_by_text("Line 00")).to_be_attached()
    await maya.page.clock.fast_forward(60_000)
    await expect(thread.get_by_text("New messages")).not_to_be_in_viewport()
    assert await unread() == 40
    await thread.scroll_into_view_if_needed()
    await maya.page.clock.fast_forward(2_000)
    await becomes(maya.page, True, lambda: is_less(unread, 40))
    assert await unread() > 10


async def is_less(count: Callable[[], Awaitable[int]], than: int) -> bool:
    return await count() < than


# The thread is as high as a few messages, and stands where one has to scroll to.
BELOW_THE_FOLD = """
(thread, id) => {
  document.querySelector('greenroom-inbox').style.display = 'none';
  thread.style.display = 'block';
  thread.style.blockSize = '500px';
  thread.style.marginBlockStart = '300vh';
  thread.threadId = id;
}
"""
