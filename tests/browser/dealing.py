"""Cards as people use them: the menu that makes one, its form, and the card in the thread."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from playwright.async_api import Locator, Request, expect

from .people import Person
from .talking import open_dialog

ACTING = re.compile(r"/v1/cards/[^/]+/\w+$")


class Form:
    """A form in a dialog, made from a schema."""

    def __init__(self, dialog: Locator) -> None:
        self.dialog = dialog

    def field(self, label: str, *, row: int | None = None) -> Locator:
        return self._row(row).get_by_role("textbox", name=re.compile(rf"^{label}\b"))

    async def fill(self, label: str, text: str, *, row: int | None = None) -> None:
        await self.field(label, row=row).fill(text)

    async def fill_moment(self, label: str, at: datetime, *, row: int | None = None) -> None:
        moment = self._row(row).get_by_role("group", name=label)
        await moment.get_by_label("Day", exact=True).fill(f"{at:%Y-%m-%d}")
        await moment.get_by_label("Time", exact=True).fill(f"{at:%H:%M}")

    async def fill_hours(self, start: datetime, hours: int, *, row: int | None = None) -> None:
        await self.fill_moment("Start", start, row=row)
        await self.fill_moment("End", start + timedelta(hours=hours), row=row)

    async def choose(self, label: str) -> None:
        await self.dialog.get_by_role("radio", name=label).check()

    async def press(self, label: str) -> None:
        await self.dialog.get_by_role("button", name=label).click()

    async def list_file(self, name: str) -> None:
        await self.press("Add a file by hand")
        files = self.dialog.locator("greenroom-manifest-field").get_by_role("group").last
        await files.get_by_label("Name").fill(name)
        await files.get_by_label("Link").fill(f"https://files.example/{name}")
        await files.get_by_label("Size").fill("2048")
        await files.get_by_label("Fingerprint").fill("cd" * 32)

    async def send(self, label: str = "Send") -> None:
        """It closes when the server has taken it."""
        await self.press(label)
        await expect(self.dialog).to_have_count(0)

    def _row(self, row: int | None) -> Locator:
        if row is None:
            return self.dialog
        return self.dialog.get_by_role("group", name=f"Number {row}")


class Shown:
    """One card, as this person sees it."""

    def __init__(self, person: Person, place: Locator) -> None:
        self.person = person
        self.place = place
        self.history_button = place.get_by_role("button", name=re.compile("^History: "))

    def button(self, label: str) -> Locator:
        return self.place.get_by_role("button", name=label, exact=True)

    async def says(self, text: str) -> None:
        await expect(self.place).to_contain_text(text)

    async def is_in(self, state: str) -> None:
        await expect(self.place.locator(".standing")).to_contain_text(state)

    async def offers(self, *labels: str) -> None:
        """These buttons, in this order, and no other."""
        actions = self.place.get_by_role("group", name="What you can do").get_by_role("button")
        await expect(actions).to_have_text(labels)

    async def press(self, label: str) -> None:
        await self.button(label).click()

    async def press_surely(self, label: str, sure: str) -> None:
        """What moves money or ends something is asked again, with what comes of it."""
        await self.press(label)
        question = self.place.get_by_role("group", name=label)
        await question.get_by_role("button", name=sure, exact=True).click()

    async def press_for_form(self, label: str) -> Form:
        await self.press(label)
        return Form(open_dialog(self.person.page, label))

    async def history(self) -> list[str]:
        """Newest first, as the drawer shows it; closed again."""
        await self.history_button.click()
        drawer = self.person.page.locator("greenroom-card-history")
        entries = drawer.get_by_role("listitem")
        await expect(entries.first).to_be_visible()
        found = [(await each.locator("p").first.inner_text()) for each in await entries.all()]
        await drawer.get_by_role("button", name="Close").click()
        await expect(drawer).to_have_count(0)
        return found


class Deal:
    """One person's view of a thread with cards."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.page = person.page
        self.header = self.page.get_by_role("group", name="Booking", exact=True)
        self.panel = self.page.locator("greenroom-panel")

    def card(self, title: str) -> Shown:
        """The latest of this title in the thread."""
        thread = self.page.locator("greenroom-thread")
        return Shown(self.person, thread.get_by_role("group", name=title, exact=True).last)

    async def open_menu(self) -> Locator:
        await self.page.get_by_role("button", name="Add to this conversation").click()
        return self.page.get_by_role("menu", name="Add to this conversation")

    async def begin(self, offer: str) -> Form:
        menu = await self.open_menu()
        await menu.get_by_role("menuitem", name=re.compile(f"^{re.escape(offer)}\\b")).click()
        return Form(open_dialog(self.page, offer))

    def count_requests(self, pattern: re.Pattern[str] = ACTING) -> Callable[[], int]:
        """How many of them leave from now on."""
        seen: list[str] = []

        def look(request: Request) -> None:
            if request.method == "POST" and pattern.search(request.url):
                seen.append(request.url)

        self.page.on("request", look)
        return lambda: len(seen)
