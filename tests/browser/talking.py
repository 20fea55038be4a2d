"""A thread as its people use it: what they read on the screen, press and write."""

import re
from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

from .people import Person
from .waiting import becomes

READ_TIMELINE = """
(articles) => articles.map((article) => ({
  label: article.getAttribute('aria-label') ?? '',
  body: article.querySelector('[id^="body-"], p')?.innerText.trim() ?? '',
}))
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as it stands in the timeline."""

    author: str
    text: str
    is_edited: bool


def open_dialog(page: Page, name: str) -> Locator:
    """What is inside a dialog stands beside it in the tree, so that their parent is needed."""
    dialog = page.get_by_role("dialog", name=name)
    return page.locator("greenroom-dialog").filter(has=dialog)


class Talk:
    """One person's view of an open thread."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.page = person.page
        self.composer = self.page.get_by_role("textbox", name="Write a message")

    def message(self, text: str) -> Locator:
        return self.page.get_by_role("article").filter(has_text=text)

    async def type(self, text: str) -> None:
        """Key by key, as others see it."""
        await self.composer.press_sequentially(text)

    async def say(self, text: str) -> None:
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.message(text)).to_be_visible()

    async def sees(self, text: str) -> None:
        await expect(self.message(text)).to_be_visible()

    async def sees_progress(self, text: str, progress: str) -> None:
        """Sent, Delivered or Read, as the ticks beside one's own message say."""
        await expect(self.message(text)).to_have_accessible_name(re.compile(rf"\b{progress}$"))

    async def sees_typing(self, name: str) -> None:
        await expect(self.page.get_by_text(f"{name} is typing…").first).to_be_visible()

    async def edit(self, text: str, new: str) -> None:
        await self.message(text).press("e")
        editor = self.page.get_by_role("textbox", name="Edit message")
        await editor.fill(new)
        await editor.press("Enter")
        await self.sees(new)

    async def delete(self, text: str) -> None:
        await self.message(text).press("Delete")
        question = open_dialog(self.page, "Delete this message?")
        await question.get_by_role("button", name="Delete").click()
        await expect(self.message(text)).to_have_count(0)

    async def sees_all(self, *messages: Shown, own: str) -> None:
        """These and no others, in this order. `own` is how the others call this person."""

        async def look() -> list[Shown]:
            return await self._timeline({"You": own})

        await becomes(self.page, list(messages), look)

    async def reads(self, *texts: str) -> None:
        """These texts and no others, in this order."""

        async def look() -> list[str]:
            return [each.text for each in await self._timeline({})]

        await becomes(self.page, list(texts), look)

    async def _timeline(self, names: dict[str, str]) -> list[Shown]:
        found = await self.page.get_by_role("article").evaluate_all(READ_TIMELINE)
        return [
            Shown(names.get(parts[0], parts[0]), each["body"], "edited" in parts)
            for each in found
            for parts in [each["label"].split(", ")]
        ]
