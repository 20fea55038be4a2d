"""Brings a page into the state that its picture shows. Finds elements by their English labels."""

from playwright.async_api import Page, expect


async def stand(_page: Page) -> None:
    """Leave the page as it opens."""


async def wait_for_people(page: Page) -> None:
    await expect(page.get_by_role("button", name="Continue as Maya Lindqvist")).to_be_visible()


async def wait_for_emptiness(page: Page) -> None:
    await expect(page.get_by_role("tabpanel").get_by_role("heading")).to_be_visible()


async def wait_for_rows(page: Page) -> None:
    await expect(page.locator("greenroom-inbox").get_by_text("Theo Adeyemi").first).to_be_visible()


async def wait_for_messages(page: Page) -> None:
    await expect(page.get_by_role("article").last).to_be_visible()


async def wait_for_cards(page: Page) -> None:
    await expect(page.locator("greenroom-card").last).to_be_visible()


async def wait_for_panel(page: Page) -> None:
    await expect(page.locator("greenroom-panel").get_by_role("tabpanel")).to_be_visible()


async def wait_for_embed(page: Page) -> None:
    await expect(page.locator("greenroom-inbox").get_by_text("Theo Adeyemi").first).to_be_visible()


async def choose_card(page: Page) -> None:
    await wait_for_messages(page)
    await page.get_by_role("button", name="Add to this conversation").click()


async def fill_form(page: Page) -> None:
    await choose_card(page)
    await page.get_by_role("menuitem", name="Propose a time").click()
    await page.get_by_role("textbox", name="Note").fill("The light is best before noon.")


async def open_history(page: Page) -> None:
    await wait_for_cards(page)
    await page.get_by_role("button", name="History").last.click()


async def write_offline(page: Page) -> None:
    await wait_for_messages(page)
    await page.context.set_offline(True)
    composer = page.get_by_role("textbox", name="Write a message")
    await composer.fill("Plan B, please. I know that sky.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("You are offline.")).to_be_visible()


async def search(page: Page) -> None:
    inbox = page.locator("greenroom-inbox")
    await inbox.get_by_role("searchbox").fill("studio")
    await expect(inbox.get_by_text("Lookbook shoot in Leeds")).to_have_count(0)


async def open_shortcuts(page: Page) -> None:
    await wait_for_messages(page)
    await page.locator("body").press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
