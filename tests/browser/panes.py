"""Inbox, thread and panel in a page of any width, as they are really drawn."""

from typing import Literal

from playwright.async_api import Locator, Page, expect

from .looking import wider_than_the_screen
from .waiting import becomes

PaneName = Literal["inbox", "thread", "panel"]

USABLE_WIDTH_PX = 240
USABLE_HEIGHT_PX = 280
IN_SIGHT = 0.9
"""As much of a pane is in sight without scrolling."""


class Panes:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.composer = page.get_by_role("textbox", name="Write a message")

    def pane(self, name: PaneName) -> Locator:
        return self.page.locator(f"greenroom-{name}")

    async def open_first(self) -> None:
        await self.pane("inbox").locator("greenroom-inbox-rows button").first.click()
        await expect(self.composer).to_be_visible()

    async def open_panel(self) -> None:
        await self.page.get_by_role("button", name="Details", exact=True).click()
        await expect(self.pane("panel").get_by_role("tab", name="Expenses")).to_be_visible()

    async def close_panel(self) -> None:
        await self.page.get_by_role("button", name="Close the project panel").click()
        await expect(self.pane("panel").get_by_role("tab", name="Expenses")).not_to_be_visible()

    async def go_back(self) -> None:
        await self.page.get_by_role("button", name="Back to the list").click()
        await expect(self.pane("inbox")).to_be_visible()

    async def shows(self, *names: PaneName) -> None:
        """These and no others, each large enough to use, and nothing wider than the screen."""
        for name in ("inbox", "thread", "panel"):
            if name in names:
                await self.is_usable(self.pane(name))
            else:
                await expect(self.pane(name)).not_to_be_visible()
        # A pane that slides in has not arrived at once.
        await becomes(self.page, [], lambda: wider_than_the_screen(self.page))

    async def is_usable(self, pane: Locator) -> None:
        await expect(pane).to_be_visible()
        await expect(pane).to_be_in_viewport(ratio=IN_SIGHT)
        box = await pane.bounding_box()
        assert box is not None
        assert box["width"] >= USABLE_WIDTH_PX, box
        assert box["height"] >= USABLE_HEIGHT_PX, box

    async def can_write(self) -> None:
        # Messages give the conversation its height where the page gives it none.
        await expect(self.pane("thread").get_by_role("article").last).to_be_visible()
        await self.composer.scroll_into_view_if_needed()
        await expect(self.composer).to_be_in_viewport(ratio=1)
        box = await self.composer.bounding_box()
        assert box is not None
        assert box["width"] >= USABLE_WIDTH_PX / 2, box
