"""axe finds nothing in any state of any page, in light and dark, on a desktop and on a phone.

Colours depend on the theme, and where things are depends on the screen, so two visits see all:
light on a desktop and dark on a phone. `make torture` looks at each theme on each screen.
"""

import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from playwright.async_api import expect

from tests.support import IS_FULL
from tools.demo import Demo

from .axe import COLOURS, axe
from .dealing import Deal
from .market import SHA256, Json, Market, Project, in_days, in_hours
from .people import DESKTOP, PHONE, People, Person
from .pictures import picture
from .starting import upload
from .talking import Talk

Theme = Literal["light", "dark"]

NOTHING_TO_SEE = "\u200b"
"""A space without width: the server refuses a message of nothing else."""
FOLDERS = ("All", "Needs you", "Bookings", "Offers", "Requests", "Archived", "Spam")
TABS = ("Actions", "Booking", "Expenses", "Docs", "Brief", "Moodboard", "Shot list", "Files")
SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}
THEMES: dict[str, tuple[Theme, Theme]] = {"desktop": ("light", "dark"), "phone": ("dark", "light")}
"""In the first everything is looked at; in the other the colours, and that with full counts."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Whoever looks, on which screen."""

    people: People
    demo: Demo
    screen: dict[str, Any]
    project: Project
    """A booking with a card of every type in its thread."""

    async def open(self, user_id: str, path: str = "/app") -> Person:
        return await self.people.open(user_id, path, **self._options)

    async def meet(self) -> Person:
        return await self.people.meet("visitor", **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        # What is half faded in has half its contrast.
        return {**self.screen, "reduced_motion": "reduce"}


State = tuple[str, Person]
_numbers = itertools.count(1)


async def sign_in(visit: Visit) -> AsyncIterator[State]:
    visitor = await visit.meet()
    page = visitor.page
    await page.goto(f"{visit.demo.url}/app")
    await expect(page.get_by_role("button", name="Continue as Maya Lindqvist")).to_be_visible()
    yield "choice of people", visitor
    visitor.expect_error("net::ERR_FAILED")
    await page.route("**/demo/people", lambda route: route.abort())
    await page.reload()
    await expect(page.get_by_role("button", name="Try again")).to_be_visible()
    yield "server does not answer", visitor


async def inbox(visit: Visit) -> AsyncIterator[State]:
    maya = await visit.open("maya")
    page = maya.page
    rows = page.get_by_role("list", name="Conversations").get_by_role("listitem")
    await expect(rows.first).to_be_visible()
    for folder in FOLDERS:
        await page.get_by_role("tab", name=folder).click()
        shown = page.get_by_role("tabpanel", name=folder)
        await expect(shown).to_have_attribute("aria-busy", "false")
        yield f"folder {folder}", maya
    await page.get_by_role("tab", name="All").click()
    await expect(rows.first).to_be_visible()
    await rows.first.click(button="right")
    await expect(page.get_by_role("menu")).to_be_visible()
    yield "menu of a row", maya
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Filter").click()
    await page.get_by_role("checkbox", name="Unread").check()
    yield "filters", maya
    await page.keyboard.press("Escape")
    yield "a filter that is on", maya
    await page.get_by_role("button", name="Remove filter: Unread").click()
    await page.get_by_role("searchbox").fill("nobody is called this")
    await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    yield "search without result", maya
    await page.get_by_role("button", name="Menu of Maya Lindqvist").click()
    await expect(page.get_by_role("dialog", name="Menu of Maya Lindqvist")).to_be_visible()
    yield "menu of the person", maya
    await page.get_by_role("button", name="Keyboard shortcuts").first.click()
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    yield "help", maya


async def thread(visit: Visit) -> AsyncIterator[State]:
    ann = await visit.open(visit.project.buyer, visit.project.path)
    talk, page = Talk(ann), ann.page
    await expect(page.get_by_role("article").last).to_be_visible()
    said = f"Here is message {next(_numbers)}"
    await send(talk, said)
    await talk.sees_progress(said, "Sent")
    yield "text and cards", ann
    own = talk.message(said)
    await own.press("Enter")
    await expect(page.get_by_role("menu", name="Message actions")).to_be_visible()
    yield "menu of a message", ann
    await page.keyboard.press("Escape")
    await own.press("r")
    await expect(page.get_by_text("Replying to yourself")).to_be_visible()
    yield "reply", ann
    await page.get_by_role("button", name="Do not reply").click()
    await own.press("e")
    await expect(page.get_by_role("textbox", name="Edit message")).to_be_visible()
    yield "edit", ann
    await page.keyboard.press("Escape")
    await own.press("Delete")
    await expect(page.get_by_role("dialog", name="Delete this message?")).to_be_visible()
    yield "question before deleting", ann
    await page.keyboard.press("Escape")
    await send(talk, NOTHING_TO_SEE)
    await expect(page.get_by_role("button", name="Discard")).to_be_visible()
    yield "failed send", ann
    await page.get_by_role("button", name="Discard").click()
    await ann.go_offline()
    await expect(page.get_by_text("You are offline.")).to_be_visible()
    yield "offline", ann


async def send(talk: Talk, text: str) -> None:
    """By the button: with a keyboard on the screen, Enter begins a new line."""
    await talk.composer.fill(text)
    await talk.page.get_by_role("button", name="Send").click()


async def cards(visit: Visit) -> AsyncIterator[State]:
    ann = await visit.open(visit.project.buyer, visit.project.path)
    deal, page = Deal(ann), ann.page
    await deal.card("Expense").says("The charge failed")
    menu = await deal.open_menu()
    await expect(menu.get_by_role("menuitem").first).to_be_visible()
    yield "menu of new cards", ann
    await page.keyboard.press("Escape")
    for offer in ("Add extras", "Move the booking", "Ask for a signature", "Share my location"):
        form = await deal.begin(offer)
        await expect(form.dialog.get_by_role("button", name="Send")).to_be_visible()
        yield f"form: {offer}", ann
        await form.press("Send")
        yield f"form: {offer}, after sending it empty", ann
        if await form.dialog.count():
            await page.keyboard.press("Escape")
            await expect(form.dialog).to_have_count(0)
    await deal.card("Expense").press("Try the charge again")
    await expect(deal.card("Expense").place.get_by_text("will be charged to you")).to_be_visible()
    yield "question before paying", ann
    await page.keyboard.press("Escape")
    await deal.card("Deliverables").place.get_by_text("Show the files").click()
    await deal.card("Deliverables").says("proofs.zip")
    yield "files", ann
    form = await deal.card("New time for this booking").press_for_form("Accept a time")
    await expect(form.dialog.get_by_role("radio").first).to_be_visible()
    yield "form of an answer", ann
    await page.keyboard.press("Escape")
    await deal.card("Expense").history_button.click()
    await expect(
        page.locator("greenroom-card-history").get_by_role("listitem").first
    ).to_be_visible()
    yield "history", ann


async def panel(visit: Visit) -> AsyncIterator[State]:
    ann = await visit.open(visit.project.buyer, f"{visit.project.path}?panel=actions")
    shown = ann.page.locator("greenroom-panel")
    for tab in TABS:
        await shown.get_by_role("tab", name=tab).click()
        await expect(shown.get_by_role("tabpanel", name=tab)).to_be_visible()
        await expect(shown.get_by_role("status", name="Loading…")).to_have_count(0)
        yield f"tab {tab}", ann
    await ann.page.set_viewport_size({"width": 1024, "height": 768})
    await expect(ann.page.get_by_role("dialog", name="Project")).to_be_visible()
    yield "drawer", ann
    new = {"to": ["theo"], "kind": "inquiry", "subject": "No booking yet"}
    message = {"client_id": f"question-{next(_numbers)}", "body": "Only a question"}
    made = visit.demo.call("maya", "POST", "/v1/threads", {**new, "first_message": message})
    maya = await visit.open("maya", f"/app/threads/{made['thread']['id']}?panel=booking")
    await expect(maya.page.get_by_role("heading", name="No booking yet")).to_be_visible()
    yield "tab Booking without a booking", maya


async def elsewhere(visit: Visit) -> AsyncIterator[State]:
    maya = await visit.open("maya", "/app/threads/thr_nowhere")
    maya.expect_error("status of 404")
    missing = maya.page.get_by_role("heading", name="This conversation is not here")
    await expect(missing).to_be_visible()
    yield "no such thread", maya
    visitor = await visit.meet()
    page = visitor.page
    await page.goto(f"{visit.demo.host_url}/")
    row = page.get_by_role("list", name="Conversations").get_by_role("listitem").first
    await expect(row).to_be_visible()
    yield "host page", visitor
    await row.get_by_role("button").first.click()
    await expect(page.get_by_role("textbox", name="Write a message")).to_be_visible()
    yield "host page with a thread", visitor
    await page.get_by_role("button", name="Details", exact=True).click()
    await expect(page.get_by_role("tab", name="Actions")).to_be_visible()
    yield "host page with a panel", visitor


WALKS: dict[str, Callable[[Visit], AsyncIterator[State]]] = {
    each.__name__: each for each in (sign_in, inbox, thread, cards, panel, elsewhere)
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("walk", WALKS)
async def test_axe_finds_nothing(
    people: People, demo: Demo, project: Project, walk: str, screen: str
) -> None:
    theme, other = THEMES[screen]
    visit = Visit(people, demo, {**SCREENS[screen], "color_scheme": theme}, project)
    found: list[str] = []
    async for state, person in WALKS[walk](visit):
        found += [f"{state}: {each}" for each in await axe(person.page)]
        if IS_FULL:
            await person.page.emulate_media(color_scheme=other)
            found += [f"{state}, {other}: {each}" for each in await axe(person.page, COLOURS)]
            await person.page.emulate_media(color_scheme=theme)
    assert not found, "\n\n".join(found)


async def test_a_new_message_is_announced_once(people: People, demo: Demo) -> None:
    message = {"client_id": "heard", "body": "Can you hear me?"}
    new = {"kind": "inquiry", "to": ["theo"], "subject": "Heard", "first_message": message}
    thread_id = demo.call("maya", "POST", "/v1/threads", new)["thread"]["id"]
    maya, theo = [
        Talk(await people.open(user_id, f"/app/threads/{thread_id}"))
        for user_id in ("maya", "theo")
    ]
    await maya.sees("Can you hear me?")
    heard = maya.page.locator(
        "[role=status], [role=alert], [aria-live=polite], [aria-live=assertive]"
    )
    await theo.say("Loud and clear")
    await expect(heard.get_by_text("Theo: Loud and clear", exact=True)).to_have_count(1)
    await theo.say("And now")
    await expect(heard.get_by_text("Theo: And now", exact=True)).to_have_count(1)
    await expect(heard.filter(has_text="Loud and clear")).to_have_count(1)
    await expect(heard.get_by_text("Can you hear me?")).to_have_count(0)
    await maya.say("I said this myself")
    await theo.sees("I said this myself")
    await expect(heard.get_by_text("I said this myself")).to_have_count(0)


@pytest.fixture(scope="module")
def project(market: Market, demo: Demo) -> Project:
    """Ann and Ben have talked, and made a card of every type; some are answered."""
    # The first is to come; the second has begun.
    made = market.book(in_days(30), in_hours(-1))
    market.add_document(made, "Model release")
    market.add_document(made, "Use of the pictures")
    maker = _Maker(demo, made)
    maker.say(made.seller, "A question before the day: *which* gate? https://maps.example/gate")
    maker.say(made.buyer, "The green one.\n\n- by the river\n- opposite the kiosk")
    for card_type, payload in maker.payloads().items():
        card = maker.make(card_type, payload)
        if card_type == "expense":
            # An amount that ends so is declined by the sandbox.
            demo.call(made.buyer, "POST", f"/v1/cards/{card['id']}/accept", {"version": 1})
        if card_type in ("overtime", "propose_time"):
            demo.call(made.seller, "POST", f"/v1/cards/{card['id']}/accept", {"version": 1})
    return made


@dataclass(frozen=True, slots=True)
class _Maker:
    demo: Demo
    project: Project

    def say(self, user_id: str, body: str) -> None:
        path = f"/v1/threads/{self.project.thread_id}/messages"
        self.demo.call(user_id, "POST", path, {"client_id": f"by-{user_id}", "body": body})

    def make(self, card_type: str, payload: Json) -> Json:
        by_seller = card_type in ("complete", "deliverable", "expense", "proofs", "reschedule")
        maker = self.project.seller if by_seller else self.project.buyer
        path = f"/v1/threads/{self.project.thread_id}/cards"
        made = self.demo.call(maker, "POST", path, {"type": card_type, "payload": payload})
        card: Json = made["card"]
        return card

    def payloads(self) -> dict[str, Json]:
        seller, thread_id = self.project.seller, self.project.thread_id
        item = {"name": "proofs.zip", "bytes": 2048, "sha256": SHA256}
        files = {"items": [{**item, "url": "https://files.example/proofs.zip"}]}
        manifest = self.demo.call(seller, "POST", f"/v1/threads/{thread_id}/manifests", files)
        docs = self.demo.call(seller, "GET", f"/v1/threads/{thread_id}/panel/docs")
        coming, begun = ({"leg_id": leg_id} for leg_id in self.project.legs)
        extra = {"title": "Retouching", "qty": 3, "unit_cents": 1250}
        return {
            "propose_time": {**hours(35), "timezone": "Europe/London", "note": "Before noon"},
            "reschedule": {"options": [hours(50), hours(51)], "reason": "Rain"} | coming,
            "extras": {"items": [extra], "note": "As we said"} | coming,
            "overtime": {"rate_cents_per_hour": 8000} | begun,
            "expense": {
                "amount_cents": 1213,
                "merchant": "The ferry",
                "date": "2026-05-04",
                "buyer_payable": True,
                **coming,
            },
            "deliverable": {"manifest_id": manifest["manifest"]["id"], "note": "First proofs"}
            | coming,
            "proofs": {
                "gallery": [upload(self.demo, seller, thread_id, picture(), "proof")],
                "allow_selections": True,
                **coming,
            },
            "complete": {"kind": "milestone"} | coming,
            "cancel": {"reason": "The garden is under water"} | coming,
            "refund": {"amount_cents": 4000, "reason": "Ten pictures are missing"} | coming,
            "sign": {"document_id": docs["data"]["documents"][0]["id"]},
            "location": {"lat": 53.79648, "lon": -1.54785, "until": in_hours(12).isoformat()},
        }


def hours(days: int) -> Json:
    start = in_days(days)
    return {"start": start.isoformat(), "end": start.replace(hour=12).isoformat()}


def test_every_type_of_card_is_looked_at(demo: Demo, project: Project) -> None:
    catalogue = demo.call("maya", "GET", "/v1/cards/catalogue")
    assert {each["type"] for each in catalogue["items"]} == set(_Maker(demo, project).payloads())
