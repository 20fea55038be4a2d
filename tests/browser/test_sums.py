"""The numbers on the screen: header, booking and expenses say the same sums by the same words, and
they add up whatever has happened."""

import re
from decimal import Decimal
from typing import Any

from playwright.async_api import Locator, expect

from tools.demo import Demo

from .dealing import Deal
from .market import Market, Project, in_days
from .people import People

WORDS = {
    "Agreed": "agreed",
    "Paid": "paid",
    "Pending": "pending",
    "Open": "open",
    "Failed": "failed",
    "Refunded": "refunded",
    "Kept until the work is done": "kept",
    "Paid out to the seller": "paid_out",
    "Deposit held": "held",
}
IN_HEADER = re.compile(r"£([\d,.]+) (agreed|paid|pending|open|failed|refunded|held)\b")
DECLINED = 1_013
"""The sandbox declines amounts that end in 13."""

Sums = dict[str, Decimal]
Json = dict[str, Any]


class Cards:
    """Cards of a project, made and answered by the API."""

    def __init__(self, demo: Demo, project: Project) -> None:
        self._demo = demo
        self._project = project

    def extras(self, cents: int) -> None:
        items = [{"title": "Prints", "qty": 1, "unit_cents": cents}]
        self._make_and_answer(
            self._project.seller, "extras", {"items": items}, self._project.buyer, "accept"
        )

    def refund(self, cents: int) -> None:
        payload = {"amount_cents": cents, "reason": "One picture is missing"}
        self._make_and_answer(
            self._project.buyer, "refund", payload, self._project.seller, "accept"
        )

    def complete(self) -> None:
        self._make_and_answer(
            self._project.seller, "complete", {"kind": "milestone"}, self._project.buyer, "accept"
        )

    def _make_and_answer(
        self, maker: str, type_name: str, payload: Json, other: str, action: str
    ) -> None:
        path = f"/v1/threads/{self._project.thread_id}/cards"
        made = self._demo.call(maker, "POST", path, {"type": type_name, "payload": payload})
        card = made["card"]
        answer = {"version": card["version"]}
        self._demo.call(other, "POST", f"/v1/cards/{card['id']}/{action}", answer)


async def header_of(deal: Deal) -> Sums:
    text = await deal.header.text_content() or ""
    return {word: amount_of(amount) for amount, word in IN_HEADER.findall(text)}


async def rows_of(rows: Locator, name: str, value: str) -> Sums:
    sums = {}
    for each in await rows.all():
        word = WORDS.get((await each.locator(name).inner_text()).strip())
        if word is not None:
            sums[word] = amount_of((await each.locator(value).inner_text()).strip().lstrip("£"))
    return sums


async def booking_of(deal: Deal, rows: list[re.Pattern[str]]) -> Sums:
    shown = await open_tab(deal, "Booking", *rows)
    found = await shown.locator("dl.facts").first.evaluate(
        """list => [...list.querySelectorAll('dt')].map(
            name => [name.innerText.trim(), name.nextElementSibling.innerText.trim()])"""
    )
    return {WORDS[name]: amount_of(text.lstrip("£")) for name, text in found if name in WORDS}


async def expenses_of(deal: Deal, rows: list[re.Pattern[str]]) -> Sums:
    shown = await open_tab(deal, "Expenses", *rows)
    return await rows_of(shown.locator("table.sums").first.locator("tr"), "th", "td")


async def open_tab(deal: Deal, name: str, *texts: re.Pattern[str]) -> Locator:
    """Once it is there and says this."""
    await deal.panel.get_by_role("tab", name=name).click()
    shown = deal.panel.get_by_role("tabpanel", name=name)
    await expect(shown).to_be_visible()
    for text in texts:
        await expect(shown).to_contain_text(text)
    return shown


def propose_next(market: Market, project: Project) -> str:
    """Another booking in the same thread; its id."""
    start = in_days(60)
    leg = {
        "seller": project.seller,
        "title": "Portraits by the sea",
        "timezone": "Europe/London",
        "start": start.isoformat(),
        "end": start.replace(hour=12).isoformat(),
        "price_cents": 20_000,
    }
    new = {"buyer": project.buyer, "currency": "GBP", "legs": [leg]}
    made = market.call("POST", "/v1/bookings", {**new, "thread_id": project.thread_id})
    booking_id: str = made["booking"]["id"]
    return booking_id


def amount_of(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


async def check_screen(deal: Deal, *said: str) -> None:
    """Once the header says this, everything else on the screen agrees with it."""
    for text in said:
        await expect(deal.header).to_contain_text(text)
    header = await header_of(deal)
    labels = {word: label for label, word in WORDS.items()}
    rows = [re.compile(rf"{labels[word]}\s*£{amount:,}") for word, amount in header.items()]
    for sums in (await booking_of(deal, rows), await expenses_of(deal, rows)):
        assert sums["agreed"] == sums["paid"] + sums.get("pending", 0) + sums.get("open", 0)
        assert sums["paid"] == sum(sums.get(name, 0) for name in ("refunded", "kept", "paid_out"))
        assert header.items() <= sums.items()
        silent = {name for name, amount in sums.items() if amount != 0} - header.keys()
        # What is paid in full need not be told as agreed, nor where it lies.
        assert silent <= {"agreed", "kept", "paid_out"}
        assert "agreed" in header or sums["agreed"] == sums["paid"]


async def test_header_booking_and_expenses_say_the_same_sums(
    people: People, market: Market, demo: Demo
) -> None:
    project = market.book()
    cards = Cards(demo, project)
    ann = Deal(await people.open(project.buyer, f"{project.path}?panel=booking"))
    await check_screen(ann, "£300.00 paid")
    cards.extras(15_100)
    await check_screen(ann, "£451.00 paid")
    cards.extras(DECLINED)
    await check_screen(ann, "£451.00 paid", "£10.13 failed")
    cards.refund(4_000)
    await check_screen(ann, "£40.00 refunded")


async def test_an_open_panel_follows_what_the_marketplace_does(
    people: People, market: Market
) -> None:
    project = market.book()
    ann = Deal(await people.open(project.buyer, f"{project.path}?panel=expenses"))
    shown = ann.panel.get_by_role("tabpanel", name="Expenses")
    await expect(shown).to_contain_text(re.compile(r"Paid\s*£300.00"))
    market.call("POST", f"/v1/bookings/{project.booking_id}/cancel", {"by": "seller"})
    await expect(shown).to_contain_text(re.compile(r"Refunded\s*£300.00"))
    booking_id = propose_next(market, project)
    await expect(shown).to_contain_text(re.compile(r"Open\s*£200.00"))
    market.call("POST", f"/v1/bookings/{booking_id}/confirm")
    await expect(shown).to_contain_text(re.compile(r"Paid\s*£200.00"))
    await expect(shown).not_to_contain_text("No money has moved yet")


async def test_after_a_project_is_over_the_next_one_is_in_the_same_thread(
    people: People, market: Market
) -> None:
    project = market.book(title="Portraits in the garden")
    ann = Deal(await people.open(project.buyer, f"{project.path}?panel=booking"))
    await expect(ann.header).to_contain_text("Portraits in the garden")
    market.call("POST", f"/v1/bookings/{project.booking_id}/cancel", {"by": "seller"})
    await expect(ann.header).to_contain_text("Cancelled")
    booking_id = propose_next(market, project)
    await expect(ann.header).to_contain_text("Portraits by the sea")
    await check_screen(ann, "Proposed", "£200.00 open")
    market.call("POST", f"/v1/bookings/{booking_id}/confirm")
    await check_screen(ann, "Confirmed", "£200.00 paid")
    shown = await open_tab(ann, "Booking")
    earlier = shown.locator(".earlier")
    await expect(earlier).to_contain_text("Portraits in the garden")
    await expect(earlier).to_contain_text("Refunded £300.00")
