"""Starting a conversation from a page: by its Message button, and by its own script."""

import asyncio
import itertools
import re

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tools.demo import Demo, Json

from .axe import axe
from .foreign_site import ForeignSite, page_with
from .looking import wider_than_the_screen
from .people import PHONE, People, Person
from .snippets import SERVER, read_snippets
from .starting import start_thread, texts
from .talking import Talk, open_dialog

MESSAGES = "<greenroom-messages></greenroom-messages>"
STARTS = re.compile(r"/v1/threads$")
START = "(wish) => Greenroom.start(wish)"

_numbers = itertools.count(1)


def new_listing() -> str:
    return f"listing-{next(_numbers)}"


def button(to: str, listing: str | None = None, subject: str = "Rooftop portraits") -> str:
    key = f'listing-key="{listing}"' if listing else ""
    attributes = f'to="{to}" {key} subject="{subject}" token-url="/chat-token"'
    return f"<greenroom-start {attributes}></greenroom-start>"


def threads(demo: Demo, user_id: str = "maya") -> set[str]:
    rows: list[Json] = demo.call(user_id, "GET", "/v1/inbox?limit=100")["items"]
    return {each["thread"]["id"] for each in rows}


async def visit(people: People, site: ForeignSite, body: str, **options: object) -> Person:
    maya = await people.meet("maya", **options)
    await maya.page.goto(page_with(site, body))
    return maya


class Writing:
    """The dialog that asks for the first message."""

    def __init__(self, page: Page, heading: str = "New message") -> None:
        self.page = page
        self.dialog = open_dialog(page, heading)
        self.field = self.dialog.get_by_role("textbox")
        self.problem = self.dialog.get_by_role("alert")

    async def press(self, name: str = "Message") -> None:
        await self.page.get_by_role("button", name=name, exact=True).click()
        await expect(self.field).to_be_focused()

    async def send(self, text: str) -> None:
        await self.field.fill(text)
        await self.dialog.get_by_role("button", name="Send").click()

    async def is_gone(self) -> None:
        await expect(self.page.locator("greenroom-start-dialog")).to_have_count(0)


def opened(page: Page) -> Locator:
    return page.locator("greenroom-messages[thread-id]")


async def opened_id(page: Page) -> str:
    found = await opened(page).get_attribute("thread-id")
    assert found is not None
    return found


async def test_nothing_is_there_before_the_first_send_which_creates_and_opens(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    before = threads(demo)
    maya = await visit(people, site, button("kwame", new_listing()) + MESSAGES)
    writing = Writing(maya.page)
    await writing.press()
    for shown in ("Kwame Boakye", "Electrician", "Verified", "Rooftop portraits"):
        await expect(writing.dialog).to_contain_text(shown)
    await expect(writing.field).to_have_accessible_name("Message to Kwame Boakye")
    await writing.field.fill("Is the roof free on Friday?")
    assert threads(demo) == before
    await writing.field.press("Enter")
    await writing.is_gone()
    talk = Talk(maya)
    await talk.sees("Is the roof free on Friday?")
    await expect(talk.composer).to_be_focused()
    assert threads(demo) - before == {await opened_id(maya.page)}


async def test_a_draft_stays_when_the_dialog_is_closed_and_is_gone_once_it_is_sent(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await visit(people, site, button("jun", new_listing()) + MESSAGES)
    writing = Writing(maya.page)
    await writing.press()
    await writing.field.fill("Half a thought")
    await maya.page.keyboard.press("Escape")
    await writing.is_gone()
    await expect(maya.page.get_by_role("button", name="Message", exact=True)).to_be_focused()
    await maya.page.reload()
    await writing.press()
    await expect(writing.field).to_have_value("Half a thought")
    await writing.send("A whole one")
    await Talk(maya).sees("A whole one")
    await writing.press()
    await expect(writing.field).to_have_value("")


async def test_a_start_whose_answer_was_lost_is_tried_again_and_made_once(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    """Also by the page that was loaded anew in between."""
    before = threads(demo, "sofia")
    maya = await visit(people, site, button("sofia") + MESSAGES)
    maya.expect_error("net::ERR_FAILED")

    async def lose(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await maya.page.route(STARTS, lose)
    writing = Writing(maya.page)
    await writing.press()
    await writing.send("Once only")
    await expect(writing.problem).to_contain_text("Your text stays here")
    await expect(writing.field).to_have_value("Once only")
    await writing.send("Once only")
    await expect(writing.problem).to_contain_text("Your text stays here")
    await maya.page.unroute(STARTS)
    await maya.page.reload()
    await writing.press()
    await expect(writing.field).to_have_value("Once only")
    await writing.send("Once only")
    await Talk(maya).sees("Once only")
    made = threads(demo, "sofia") - before
    assert made == {await opened_id(maya.page)}
    assert texts(demo, "sofia", made.pop()) == ["Once only"]


async def test_a_text_written_offline_waits_until_it_is_sent_again(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    before = threads(demo, "ines")
    maya = await visit(people, site, button("ines") + MESSAGES)
    writing = Writing(maya.page)
    await writing.press()
    await maya.go_offline()
    await writing.send("From a tunnel")
    await expect(writing.problem).to_contain_text("Your text stays here")
    await maya.go_online()
    await writing.send("From a tunnel")
    await Talk(maya).sees("From a tunnel")
    assert len(threads(demo, "ines") - before) == 1


async def test_one_listing_is_one_conversation_from_two_tabs_at_once(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    before = threads(demo, "lars")
    first = await visit(people, site, button("lars", new_listing()) + MESSAGES)
    second = await first.context.new_page()
    await second.goto(first.page.url)
    tabs = [Writing(first.page), Writing(second)]
    for tab, text in zip(tabs, ("From the left", "From the right"), strict=True):
        await tab.page.bring_to_front()
        await tab.press()
        await tab.field.fill(text)
    await asyncio.gather(*(tab.dialog.get_by_role("button", name="Send").click() for tab in tabs))
    for tab in tabs:
        await tab.is_gone()
    made = threads(demo, "lars") - before
    assert {await opened_id(tab.page) for tab in tabs} == made
    assert len(made) == 1
    assert sorted(texts(demo, "lars", made.pop())) == ["From the left", "From the right"]


async def test_whoever_already_talks_with_somebody_is_offered_that_conversation(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    thread_id = start_thread(demo, "Before", subject="The latest with Theo")
    maya = await visit(people, site, button("theo", subject="Something new") + MESSAGES)
    await expect(maya.page.get_by_text("The latest with Theo", exact=True)).to_be_visible()
    before = threads(demo)
    writing = Writing(maya.page)
    await writing.press()
    await expect(writing.dialog).to_contain_text("You already talk with Theo Adeyemi.")
    await writing.dialog.get_by_role("button", name="Open the conversation").click()
    await Talk(maya).sees("Before")
    assert await opened_id(maya.page) == thread_id
    await writing.press()
    await writing.send("A new one all the same")
    await Talk(maya).sees("A new one all the same")
    assert threads(demo) - before == {await opened_id(maya.page)}


async def test_a_person_who_is_not_there_cannot_be_written_to(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await visit(people, site, button("nobody-at-all") + MESSAGES)
    maya.expect_error("status of 404")
    await maya.page.get_by_role("button", name="Message", exact=True).click()
    writing = Writing(maya.page)
    await expect(writing.problem).to_contain_text("This person cannot be found here.")
    await expect(writing.field).to_have_count(0)


async def test_whom_one_has_blocked_one_cannot_write_to(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    demo.call("maya", "POST", "/v1/blocks", {"user_id": "emil"})
    maya = await visit(people, site, button("emil") + MESSAGES)
    maya.expect_error("status of 403")
    writing = Writing(maya.page)
    await writing.press()
    await writing.send("Hello?")
    await expect(writing.problem).to_contain_text("You have blocked Emil Novotný.")
    await expect(writing.field).to_have_value("Hello?")


async def test_too_many_starts_say_how_long_to_wait(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await visit(people, site, button("amara") + MESSAGES)
    maya.expect_error("status of 429")
    body = {"status": 429, "code": "RATE_LIMITED", "title": "Too many", "hint": ""}
    headers = {
        "retry-after": "1500",
        "access-control-allow-origin": site.url,
        "access-control-expose-headers": "Retry-After",
    }
    await maya.page.route(
        STARTS, lambda route: route.fulfill(status=429, json=body, headers=headers)
    )
    writing = Writing(maya.page)
    await writing.press()
    await writing.send("One more")
    await expect(writing.problem).to_contain_text("You can send this in 25 min")
    await expect(writing.field).to_have_value("One more")


async def test_a_text_that_is_too_long_is_not_sent(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    before = threads(demo)
    maya = await visit(people, site, button("amara") + MESSAGES)
    writing = Writing(maya.page)
    await writing.press()
    await writing.field.fill("x" * 2001)
    await writing.field.press("Control+Enter")
    await expect(writing.problem).to_be_visible()
    await expect(writing.dialog.get_by_role("button", name="Send")).to_be_disabled()
    assert threads(demo) == before


async def test_the_button_is_not_there_for_oneself_and_says_when_one_is_signed_out(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    body = button("maya") + button("theo", new_listing())
    maya = await visit(people, site, body)
    buttons = maya.page.get_by_role("button", name="Message", exact=True)
    await expect(buttons).to_have_count(1)
    await expect(buttons).to_be_enabled()
    await maya.page.evaluate("Greenroom.signOut()")
    await expect(buttons.first).to_be_disabled()
    await expect(maya.page.locator("greenroom-start").last).to_contain_text("You are signed out")


async def test_a_dialog_that_cannot_be_fetched_is_said(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    maya = await visit(people, site, button("noor", new_listing()) + MESSAGES)
    maya.expect_error("net::ERR_FAILED")
    await expect(maya.page.locator("greenroom-inbox-rows button").first).to_be_visible()
    await maya.page.route("**/app/assets/dialog-*", lambda route: route.abort())
    await maya.page.get_by_role("button", name="Message", exact=True).click()
    said = maya.page.locator("greenroom-start")
    await expect(said).to_contain_text("The server does not answer.")


async def test_the_dialog_has_the_colours_of_the_button(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    style = "<style>greenroom-start { --gr-accent: rgb(160, 30, 90) }</style>"
    maya = await visit(people, site, style + button("noor", new_listing()))
    writing = Writing(maya.page)
    await writing.press()
    await writing.field.fill("A colour")
    send = writing.dialog.get_by_role("button", name="Send")
    await expect(send).to_have_css("background-color", "rgb(160, 30, 90)")


async def test_a_page_without_conversations_hears_of_the_new_one(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    before = threads(demo)
    maya = await visit(people, site, button("amara", new_listing()))
    writing = Writing(maya.page)
    await writing.press()
    await writing.send("Are you there?")
    sent = open_dialog(maya.page, "Message sent")
    await expect(sent).to_contain_text("What Amara Okonjo answers is in your messages.")
    await sent.get_by_role("button", name="Close").last.click()
    await writing.is_gone()
    await maya.page.evaluate(
        "document.addEventListener('greenroom-open', (event) => {"
        " event.preventDefault(); document.title = event.detail.threadId; })"
    )
    await writing.press()
    await writing.send("And once more")
    await writing.is_gone()
    (made,) = threads(demo) - before
    await expect(maya.page).to_have_title(made)
    assert texts(demo, "amara", made) == ["Are you there?", "And once more"]


async def test_an_inbox_opens_it_in_its_thread(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    """The keys of the list are not those of the dialog, which stands in it."""
    inbox = '<greenroom-inbox for="thread" token-url="/chat-token"></greenroom-inbox>'
    maya = await visit(people, site, f'{inbox}<greenroom-thread id="thread"></greenroom-thread>')
    await expect(maya.page.locator("greenroom-inbox-rows button").first).to_be_visible()
    await maya.page.evaluate(START, {"to": "noor", "listing_key": new_listing()})
    writing = Writing(maya.page)
    await expect(writing.field).to_be_focused()
    await writing.field.press_sequentially("Either/or?")
    await writing.field.press("Enter")
    await writing.is_gone()
    await Talk(maya).sees("Either/or?")


async def test_in_the_app_the_address_is_that_of_the_new_conversation(
    people: People, demo: Demo
) -> None:
    before = threads(demo)
    maya = await people.open("maya")
    await expect(maya.page.locator("greenroom-inbox-rows")).to_be_visible()
    await maya.page.evaluate(START, {"to": "priya", "listing_key": new_listing()})
    writing = Writing(maya.page)
    await expect(writing.field).to_be_focused()
    await writing.field.press_sequentially("Yes / no? m")
    await writing.field.press("Enter")
    talk = Talk(maya)
    await talk.sees("Yes / no? m")
    (made,) = threads(demo) - before
    assert maya.page.url.endswith(f"/app/threads/{made}")
    await expect(talk.composer).to_be_focused()


async def test_a_profile_begins_another_conversation(people: People, demo: Demo) -> None:
    first = start_thread(demo, "The first of them", subject="The first")
    before = threads(demo)
    maya = await people.open("maya", f"/app/threads/{first}")
    talk = Talk(maya)
    await talk.sees("The first of them")
    await maya.page.locator("greenroom-thread-header").get_by_text("Theo Adeyemi").click()
    writing = Writing(maya.page)
    await writing.press("Message Theo Adeyemi")
    await maya.page.keyboard.press("Escape")
    await writing.is_gone()
    await expect(maya.page.get_by_role("button", name="Message Theo Adeyemi")).to_be_focused()
    await writing.press("Message Theo Adeyemi")
    await expect(writing.dialog).to_contain_text("You already talk with Theo Adeyemi.")
    await writing.send("The second of them")
    await talk.sees("The second of them")
    await expect(maya.page.get_by_role("dialog")).to_have_count(0)
    await expect(talk.composer).to_be_focused()
    (made,) = threads(demo) - before
    assert maya.page.url.endswith(f"/app/threads/{made}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_usable_and_readable_on_a_phone(
    people: People, demo: Demo, site: ForeignSite, scheme: str
) -> None:
    body = button("theo", subject="Portraits on a roof that is high above the town") + MESSAGES
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "color_scheme": scheme}
    maya = await visit(
        people, site, f"<style>:root {{color-scheme: {scheme}}}</style>{body}", **options
    )
    await expect(maya.page.locator("greenroom-inbox-rows button").first).to_be_visible()
    writing = Writing(maya.page)
    await writing.press()
    await expect(writing.dialog).to_contain_text("You already talk with Theo Adeyemi.")
    await writing.field.fill("Hello " * 300)
    send = writing.dialog.get_by_role("button", name="Send")
    await expect(send).to_be_in_viewport(ratio=1)
    assert await wider_than_the_screen(maya.page) == []
    assert await axe(maya.page) == []
    await writing.field.fill(f"From a phone, {scheme}")
    await send.click()
    await Talk(maya).sees(f"From a phone, {scheme}")


async def test_it_speaks_german(people: People, demo: Demo, site: ForeignSite) -> None:
    maya = await visit(people, site, button("kwame", new_listing()) + MESSAGES, locale="de-DE")
    writing = Writing(maya.page, "Neue Nachricht")
    await writing.press("Nachricht")
    await expect(writing.dialog).to_contain_text("Elektrik · ")
    await expect(writing.field).to_have_accessible_name("Nachricht an Kwame Boakye")
    await expect(writing.dialog.get_by_role("button", name="Senden")).to_be_visible()
    await writing.field.fill("Guten Tag")
    await writing.field.press("Enter")
    await Talk(maya).sees("Guten Tag")


async def test_the_printed_page_begins_conversations_by_both_its_buttons(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    snippet = next(each for each in read_snippets() if each.heading == "A Message button")
    site.pages["/page"] = snippet.text.replace(SERVER, demo.url).encode()
    maya = await people.meet("maya")
    await maya.page.goto(f"{site.url}/page")
    writing = Writing(maya.page)
    begun = set()
    for name, subject in (
        ("Message Theo", "Rooftop portraits"),
        ("Ask about another day", "Another day"),
    ):
        await writing.press(name)
        await expect(writing.dialog).to_contain_text(subject)
        await writing.send(f"About: {subject}")
        await Talk(maya).sees(f"About: {subject}")
        begun.add(await opened_id(maya.page))
    assert len(begun) == 2
