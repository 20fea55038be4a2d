"""The web app by keyboard alone: the focus is never lost and always visible."""

from playwright.async_api import expect

from tools.demo import Demo

from .keys import Keys
from .people import People
from .starting import propose_time, start_thread
from .talking import Talk, open_dialog

SUBJECT = "Keys only"


async def test_everything_can_be_done_without_a_mouse(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Can you do it without a mouse?", subject=SUBJECT)
    propose_time(demo, "theo", thread_id)
    maya = Talk(await people.meet("maya"))
    keys = Keys(maya.page)
    await maya.page.goto(f"{demo.url}/app/sign-in")
    await expect(maya.page.get_by_role("button", name="Continue as Maya")).to_be_visible()
    await keys.tab_to("Continue as Maya Lindqvist")
    await keys.press("Enter")
    await expect(maya.page.get_by_text(SUBJECT)).to_be_visible()

    await filters(maya, keys)
    await pins(maya, keys)
    await writes(maya, keys)
    await edits_and_deletes(maya, keys)
    await answers_a_card(maya, keys)
    await looks_into_the_panel(maya, keys)
    await makes_and_leaves_a_card(maya, keys)


async def filters(maya: Talk, keys: Keys) -> None:
    await keys.tab_to("^Filter$")
    await keys.press("Enter")
    await keys.is_at("^Unread$")
    await keys.press("Space", "Escape")
    await keys.is_at("^Filter, 1 on$")
    await expect(maya.page.get_by_role("dialog", name="Filter")).to_be_hidden()
    rows = maya.page.get_by_role("listitem")
    await expect(rows.filter(has_not_text="unread message")).to_have_count(0)
    await expect(rows.filter(has_text="unread message").first).to_be_visible()
    await keys.tab_to("^Remove filter: Unread$")
    await keys.press("Enter")
    await keys.is_at("^Search people and subjects$")
    await keys.type("keys on")
    await expect(rows).to_have_count(1)
    await keys.press("Escape")
    await expect(rows.nth(1)).to_be_visible()
    await expect(rows.first).to_contain_text(SUBJECT)


async def pins(maya: Talk, keys: Keys) -> None:
    """From the search down into the list, and to what can be done with a row."""
    row = maya.page.get_by_role("listitem").filter(has_text=SUBJECT)
    await keys.press("ArrowDown")
    await keys.is_at(SUBJECT)
    await keys.tab_to("^Actions for Theo Adeyemi$")
    await keys.press("Enter")
    await keys.is_at("^Mark as read$")
    await keys.press("ArrowDown")
    await keys.is_at("^Pin$")
    await keys.press("Escape")
    await keys.is_at("^Actions for Theo Adeyemi$")
    await keys.press("Enter")
    await keys.press("ArrowDown")
    await keys.is_at("^Pin$")
    await keys.press("Enter")
    await keys.is_at("^Actions for Theo Adeyemi$")
    await expect(row.get_by_text("Pinned")).to_be_attached()


async def writes(maya: Talk, keys: Keys) -> None:
    await keys.tab_to(SUBJECT, back=True)
    await keys.press("Enter")
    await keys.is_at("^Write a message$")
    await keys.type("Yes")
    await keys.press("Shift+Enter")
    await keys.type("all of it")
    await keys.press("Enter")
    await keys.is_at("^Write a message$")
    await maya.sees_progress("all of it", "(Sent|Delivered|Read)")


async def edits_and_deletes(maya: Talk, keys: Keys) -> None:
    await keys.press("ArrowUp")
    await keys.is_at("^Edit message$")
    await keys.press("Escape")
    await keys.is_at("^You, ")
    await keys.press("e")
    await keys.is_at("^Edit message$")
    await keys.type(", every bit")
    await keys.press("Enter")
    await keys.is_at("^You, .*edited")
    await maya.sees("all of it, every bit")

    await keys.press("Delete")
    question = open_dialog(maya.page, "Delete this message?")
    await expect(question.get_by_role("button", name="Delete")).to_be_visible()
    await keys.press("Escape")
    await keys.is_at("^You, ")
    await keys.press("Enter")
    await keys.is_at("^Reply$")
    await keys.press("End")
    await keys.is_at("^Delete$")
    await keys.press("Enter")
    await keys.tab_to("^Delete$")
    await keys.press("Enter")
    await keys.is_at("^You, ")
    await expect(maya.message("This message was deleted")).to_be_visible()
    await expect(maya.message("all of it")).to_have_count(0)


async def answers_a_card(maya: Talk, keys: Keys) -> None:
    await keys.press("ArrowUp")
    await keys.is_at("^Theo Adeyemi, ")
    await keys.tab_to("^History: Proposed time$")
    await keys.press("Enter")
    await expect(maya.page.get_by_role("dialog", name="History: Proposed time")).to_be_visible()
    await keys.press("Escape")
    await keys.is_at("^History: Proposed time$")
    await keys.tab_to("^Accept this time$")
    await keys.press("Enter")
    card = maya.page.get_by_role("group", name="Proposed time")
    await expect(card.get_by_text("Accepted", exact=True)).to_be_visible()
    await keys.press("Tab")
    await keys.is_seen()


async def looks_into_the_panel(maya: Talk, keys: Keys) -> None:
    panel = maya.page.locator("greenroom-panel")
    await keys.tab_to("^Details$", back=True)
    await keys.press("Enter")
    await keys.is_at("^Actions")
    await keys.press("ArrowRight")
    await keys.is_at("^Booking$")
    await expect(panel.get_by_role("heading", name="No booking yet")).to_be_visible()
    await keys.press("End")
    await keys.is_at("^Files$")
    await keys.press("Escape")
    await expect(panel).to_have_count(0)
    await keys.is_at("^Details$")


async def makes_and_leaves_a_card(maya: Talk, keys: Keys) -> None:
    """Of two things that are open, Escape closes the one on top."""
    await keys.press("Enter")
    await keys.is_at("^Actions")
    await keys.tab_to("^Add to this conversation$", back=True)
    await keys.press("Enter")
    await keys.is_at(r"^Propose a time\b")
    await keys.press("ArrowDown")
    await keys.is_at(r"^Share my location\b")
    await keys.press("ArrowUp")
    await keys.press("Enter")
    dialog = maya.page.get_by_role("dialog", name="Propose a time")
    await expect(dialog).to_be_visible()
    await keys.press("Escape")
    await expect(dialog).to_be_hidden()
    await keys.is_at("^Add to this conversation$")
    await expect(maya.page.locator("greenroom-panel")).to_be_visible()
    await keys.press("Escape")
    await expect(maya.page.locator("greenroom-panel")).to_have_count(0)


async def test_the_page_has_keys_of_its_own_and_says_which(people: People, demo: Demo) -> None:
    first = start_thread(demo, "The first", subject="First of two")
    start_thread(demo, "The second", subject="Second of two")
    maya = Talk(await people.open("maya", f"/app/threads/{first}"))
    keys = Keys(maya.page)
    await maya.sees("The first")
    rows = maya.page.get_by_role("listitem")
    for subject in ("First of two", "Second of two"):
        await expect(rows.filter(has_text=subject)).to_be_visible()
    await keys.tab_to("^Skip to the conversation$")
    await keys.press("Enter")
    await keys.is_at("^Write a message$")
    await keys.press("Alt+ArrowUp")
    await maya.sees("The second")
    await keys.is_at("^Write a message$")
    await keys.press("Alt+ArrowDown")
    await maya.sees("The first")
    await keys.tab_to("^Options for this conversation$", back=True)
    await keys.press("/")
    await keys.is_at("^Search people and subjects$")
    await keys.press("ArrowDown")
    await keys.is_at("First of two")
    await keys.press("?")
    help_dialog = maya.page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(help_dialog).to_be_visible()
    await keys.press("Escape")
    await expect(help_dialog).to_be_hidden()
    await keys.is_at("First of two")
