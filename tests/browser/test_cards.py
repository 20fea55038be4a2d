"""Every type of card, made by one person and answered by the other, both looking at it."""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Route, WebSocketRoute, expect

from tools.demo import Demo
from tools.webapp import REPOSITORY

from .dealing import ACTING, Deal
from .market import Market, Project, in_days, in_hours
from .people import People
from .pictures import picture
from .sandbox import PaymentSandbox, open_sandbox

PLACE = {"latitude": 53.79648, "longitude": -1.54785}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaymentSandbox]:
    with open_sandbox(tmp_path_factory.mktemp("bank") / "bank.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def own_types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The type `tip`, made from exactly what docs/cards.md tells people to write."""
    page = (REPOSITORY / "docs" / "cards.md").read_text(encoding="utf-8")
    folder = tmp_path_factory.mktemp("types")
    for language, name in (("toml", "tip.toml"), ("python", "effects.py")):
        [text] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def demo_settings(
    demo_settings: dict[str, str], bank: PaymentSandbox, own_types: Path
) -> dict[str, str]:
    """With a card type of the marketplace's own, and payments that we decide."""
    return {**demo_settings, **bank.environment, "GREENROOM_CARDS": str(own_types)}


@pytest.fixture(scope="module")
def demo(demo: Demo, bank: PaymentSandbox) -> Demo:
    bank.tell(demo.url)
    return demo


@dataclass(frozen=True, slots=True)
class Two:
    """Ann, who has booked, and Ben, who is booked, in front of the same thread."""

    project: Project
    ann: Deal
    ben: Deal
    market: Market
    bank: PaymentSandbox

    async def both_see(self, title: str, state: str) -> None:
        for each in (self.ann, self.ben):
            await each.card(title).is_in(state)

    async def both_see_booking(self, state: str) -> None:
        for each in (self.ann, self.ben):
            await expect(each.header).to_contain_text(state)


BEFORE = ("[propose_time]", "reads_what_has_happened", "are_one_answer", "happens_once")
"""Tests about a time that is proposed, which is done before a booking is confirmed."""


@pytest.fixture
async def two(
    people: People, market: Market, bank: PaymentSandbox, request: pytest.FixtureRequest
) -> Two:
    is_under_way = request.node.name.endswith("[overtime]")
    is_confirmed = not request.node.name.endswith(BEFORE)
    project = market.book(*([in_hours(-1)] if is_under_way else []), is_confirmed=is_confirmed)
    options: dict[str, Any] = {"geolocation": PLACE, "permissions": ["geolocation"]}
    ann, ben = [
        Deal(await people.open(user_id, project.path, **options))
        for user_id in (project.buyer, project.seller)
    ]
    for each in (ann, ben) if is_confirmed else ():
        await expect(each.header).to_contain_text(re.compile("Confirmed|In progress"))
    return Two(project, ann, ben, market, bank)


async def propose_time(two: Two) -> None:
    start = in_days(40)
    form = await two.ann.begin("Propose a time")
    await form.fill_hours(start, 3)
    said = re.compile(rf"^{start:%a} {start.day} {start:%b}\w*, 10:00$")
    await expect(form.dialog.get_by_text(said)).to_be_visible()
    await form.fill("Note", "The light is best before noon")
    await form.send()
    card = two.ben.card("Proposed time")
    await card.says("The light is best before noon")
    await card.offers("Accept this time", "Propose another time", "Decline")
    form = await card.press_for_form("Propose another time")
    await form.fill_hours(start + timedelta(days=1), 3)
    await form.send("Propose another time")
    await two.ann.card("Proposed time").press("Accept this time")
    await two.both_see("Proposed time", "Accepted")


async def reschedule(two: Two) -> None:
    # Once: the test may run over midnight.
    first = in_days(50)
    second = first + timedelta(days=1)
    form = await two.ben.begin("Move the booking")
    await form.fill_hours(first, 2, row=1)
    await form.press("Add another")
    await form.fill_hours(second, 2, row=2)
    await form.fill("Reason", "The greenhouse is closed that week")
    await form.send()
    card = two.ann.card("New time for this booking")
    await card.says("The greenhouse is closed that week")
    form = await card.press_for_form("Accept a time")
    await form.dialog.get_by_role("radio").nth(1).check()
    await form.send("Accept a time")
    await two.both_see("New time for this booking", "Moved")
    await two.both_see_booking(f"{second.day} {second:%b}")


async def extras(two: Two) -> None:
    form = await two.ben.begin("Add extras")
    await form.fill("What", "Retouching", row=1)
    await form.fill("Number", "3", row=1)
    await expect(form.dialog).to_contain_text("£0.00")
    await expect(form.dialog).not_to_contain_text("Kind")
    await form.fill("Price each", "12.50", row=1)
    await expect(form.dialog).to_contain_text("£37.50")
    await form.send()
    two.bank.keep_next_charge_waiting()
    await two.ann.card("Extras").press_surely("Accept extras", "Pay £37.50")
    await two.both_see("Extras", "Being charged…")
    two.bank.decide()
    await two.both_see("Extras", "Paid")


async def overtime(two: Two) -> None:
    form = await two.ben.begin("Add overtime")
    await form.fill("Rate per hour", "80")
    await form.send()
    await two.ann.card("Overtime").press("Start overtime")
    await two.both_see("Overtime", "Overtime is running")
    await expect(two.ann.card("Overtime").place.get_by_role("timer")).to_be_visible()
    await two.ben.card("Overtime").press("Stop overtime")
    await two.both_see("Overtime", "Stopped, waiting for confirmation")
    await two.ann.card("Overtime").press_surely("Confirm and pay", "Pay £20.00")
    await two.both_see("Overtime", "Paid")


async def expense(two: Two) -> None:
    form = await two.ben.begin("Claim an expense")
    await form.fill("Amount", "35.50")
    await form.fill("Paid to", "Fern & Daughters")
    await form.send()
    card = two.ann.card("Expense")
    await card.says("Fern & Daughters")
    await card.press_surely("Accept and pay", "Pay £35.50")
    await two.both_see("Expense", "Paid")


async def proofs(two: Two) -> None:
    form = await two.ben.begin("Show proofs")
    field = form.dialog.locator("greenroom-file-field")
    await field.locator("input").set_input_files([picture("one.jpg", 300, 200)])
    await form.send()
    card = two.ann.card("Proofs")
    await expect(card.place.get_by_role("button", name="Open Proof 1 of 1")).to_be_visible()
    form = await card.press_for_form("Ask for changes")
    await form.fill("What should change", "A little brighter")
    await form.send("Ask for changes")
    await two.both_see("Proofs", "Changes were asked for")


async def deliverable(two: Two) -> None:
    form = await two.ben.begin("Deliver the files")
    await form.list_file("proofs.zip")
    await form.send()
    card = two.ann.card("Deliverables")
    await card.place.get_by_text("Show the files").click()
    await card.says("proofs.zip")
    form = await card.press_for_form("Ask for changes")
    await form.fill("What should change", "Less green in the shadows")
    await form.send("Ask for changes")
    await two.both_see("Deliverables", "Changes were asked for")
    await two.ben.card("Deliverables").says("Less green in the shadows")
    form = await two.ben.card("Deliverables").press_for_form("Deliver again")
    await form.list_file("finals.zip")
    await form.send("Deliver again")
    await card.says("finals.zip")
    await card.press("Approve")
    await two.both_see("Deliverables", "Approved")


async def complete(two: Two) -> None:
    form = await two.ben.begin("Mark the work as done")
    await expect(form.dialog).not_to_contain_text("Kind")
    await form.send()
    card = two.ann.card("Work is done")
    await card.press_surely("Accept the work", "Accept the work")
    await two.both_see("Work is done", "Accepted")
    await two.both_see_booking("Completed")


async def cancel(two: Two) -> None:
    form = await two.ann.begin("Ask to cancel")
    await expect(form.dialog).to_contain_text("You get £300.00 back (100%)")
    await expect(form.dialog).to_contain_text("as agreed for at least 7 days of notice")
    await form.fill("Reason", "The garden is under water")
    await form.send()
    card = two.ben.card("Request to cancel")
    await card.says("The garden is under water")
    await card.says("£300.00 goes back to the buyer (100%)")
    await card.press_surely("Cancel the booking", "Cancel the booking")
    await two.both_see("Request to cancel", "Cancelled")
    await two.both_see_booking("Cancelled")


async def refund(two: Two) -> None:
    form = await two.ann.begin("Ask for a refund")
    await form.fill("Amount", "40")
    await form.fill("Reason", "Ten pictures are missing")
    await form.send()
    card = two.ben.card("Request for a refund")
    await card.says("Ten pictures are missing")
    await card.press_surely("Refund", "Refund £40.00")
    await two.both_see("Request for a refund", "Refunded")


async def sign(two: Two) -> None:
    two.market.add_document(two.project, "Model release")
    form = await two.ann.begin("Ask for a signature")
    await form.choose("Model release")
    await form.send()
    form = await two.ben.card("Document to sign").press_for_form("Sign")
    await form.send("Sign")
    await two.both_see("Document to sign", "Partly signed")
    form = await two.ann.card("Document to sign").press_for_form("Sign")
    await form.send("Sign")
    await two.both_see("Document to sign", "Signed")


async def location(two: Two) -> None:
    form = await two.ann.begin("Share my location")
    await form.press("Use my current position")
    await expect(form.field("Latitude")).to_have_value("53.79648")
    await form.fill("Address or place", "The old mill, second door")
    await form.send()
    shown = two.ben.card("Shared location")
    await shown.says("The old mill, second door")
    await shown.says("53.7965° N, 1.5479° W")
    await expect(shown.place.get_by_role("link", name="Open in maps")).to_be_visible()
    await shown.place.get_by_role("button", name="How far is it?").click()
    await shown.says("Right where you are")
    await two.ben.card("Shared location").is_in("Shared")
    await two.ann.card("Shared location").press("Stop sharing")
    await two.both_see("Shared location", "Ended")
    await two.ben.card("Shared location").says("What it said was erased when it ended.")


async def tip(two: Two) -> None:
    """Nothing in the app knows of this type."""
    form = await two.ann.begin("Tip")
    await form.fill("Percent", "10")
    await form.fill("Note", "For the umbrella")
    await form.send()
    card = two.ben.card("Tip")
    await card.says("For the umbrella")
    await card.says("£30.00")
    await card.offers("Thank you", "No, thank you")
    await card.press_surely("Thank you", "Thank you")
    await two.both_see("Tip", "Paid")


SCRIPTS: dict[str, Callable[[Two], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        *(propose_time, reschedule, extras, overtime, expense, proofs, deliverable),
        *(complete, cancel, refund, sign, location, tip),
    )
}


def test_every_type_of_the_catalogue_has_a_script_here(demo: Demo) -> None:
    catalogue = demo.call("maya", "GET", "/v1/cards/catalogue")
    assert {each["type"] for each in catalogue["items"]} == set(SCRIPTS)


@pytest.mark.parametrize("card_type", SCRIPTS)
async def test_a_card_is_made_by_one_and_answered_by_the_other(two: Two, card_type: str) -> None:
    await SCRIPTS[card_type](two)


async def make_time_card(two: Two) -> None:
    form = await two.ann.begin("Propose a time")
    await form.fill_hours(in_days(40), 2)
    await form.send()
    await two.both_see("Proposed time", "Waiting for an answer")


async def test_whoever_was_too_late_reads_what_has_happened(two: Two, demo: Demo) -> None:
    await make_time_card(two)

    async def let_ann_be_faster(route: Route) -> None:
        path = urlsplit(route.request.url).path.replace("/accept", "/withdraw")
        demo.call(two.project.buyer, "POST", path, route.request.post_data_json)
        await route.continue_()

    await two.ben.page.route(ACTING, let_ann_be_faster)
    two.ben.person.expect_error("status of 409")
    card = two.ben.card("Proposed time")
    await card.press("Accept this time")
    await card.says("Meanwhile: Ann Field withdrew it. It is now “Withdrawn”.")
    await expect(card.button("Accept this time")).to_have_count(0)
    await two.both_see("Proposed time", "Withdrawn")


async def test_two_clicks_are_one_answer(two: Two) -> None:
    await make_time_card(two)
    sent = two.ben.count_requests()
    card = two.ben.card("Proposed time")
    await card.button("Accept this time").dblclick()
    await two.both_see("Proposed time", "Accepted")
    assert sent() == 1
    assert await card.history() == ["You accepted", "Ann Field made this"]


async def test_a_lost_answer_is_tried_again_and_happens_once(two: Two) -> None:
    await make_time_card(two)

    async def lose_answer(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await two.ben.page.route(ACTING, lose_answer, times=1)
    two.ben.person.expect_error("net::ERR_FAILED")
    await two.ben.card("Proposed time").press("Accept this time")
    await two.both_see("Proposed time", "Accepted")
    history = await two.ann.card("Proposed time").history()
    assert history == ["Ben Moor accepted", "You made this"]


async def test_a_buyer_whose_bank_wants_a_confirmation_is_told_and_the_page_can_confirm(
    two: Two,
) -> None:
    """The sandbox asks for none, so whatever tells of the card says so on its way to the buyer."""
    card, page = two.ann.card("Expense"), two.ann.page

    def add_confirmation(text: str) -> str:
        return re.sub(r'"totals":{(?=")', '"totals":{"confirmation":"pay_1",', text)

    async def change_answer(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, body=add_confirmation(await answer.text()))

    def change_events(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda said: socket.send(add_confirmation(str(said))))

    async def confirm(route: Route) -> None:
        found = {"payment_id": "pay_1", "provider": "stripe", "client_secret": "a secret"}
        await route.fulfill(json={"confirmation": {**found, "payment_method": "pm_1", "url": None}})

    await page.route(ACTING, change_answer)
    await page.route("**/v1/payments/pay_1/confirmation", confirm)
    await page.route_web_socket(re.compile("/v1/ws"), change_events)
    await page.reload()
    form = await two.ben.begin("Claim an expense")
    await form.fill("Amount", "14.00")
    await form.fill("Paid to", "The bridge")
    await form.send()
    two.bank.keep_next_charge_waiting()
    await card.press_surely("Accept and pay", "Pay £14.00")
    await card.is_in("Being charged")
    await card.says("Your bank wants you to confirm this payment.")
    button = card.place.get_by_role("button", name="Confirm with your bank")
    await button.click()
    await card.says("Please confirm it where you manage your payments on this site.")
    await page.evaluate(
        "window.told = new Promise((told) => addEventListener('greenroom-confirm-payment',"
        " (event) => { event.preventDefault(); told(event.detail); })); null"
    )
    await button.click()
    detail = await page.evaluate("window.told")
    assert detail == {"paymentId": "pay_1", "clientSecret": "a secret", "paymentMethod": "pm_1"}
    two.bank.decide()


async def test_a_charge_that_failed_is_shown_and_can_be_tried_again(two: Two) -> None:
    form = await two.ben.begin("Claim an expense")
    await form.fill("Amount", "12.00")
    await form.fill("Paid to", "The ferry")
    await form.send()
    two.bank.decline_next_charge()
    card = two.ann.card("Expense")
    await card.press_surely("Accept and pay", "Pay £12.00")
    await two.both_see("Expense", "The charge failed")
    await card.says("The bank declined the payment.")
    await card.offers("Try the charge again", "Decline")
    await card.press_surely("Try the charge again", "Pay £12.00")
    await two.both_see("Expense", "Paid")
    history = await card.history()
    assert history == [
        "The payment went through",
        "You tried again",
        "The payment failed",
        "You accepted",
        "Ben Moor made this",
    ]


async def test_what_is_wrong_stands_beside_its_field(two: Two) -> None:
    form = await two.ben.begin("Add extras")
    await expect(form.field("What", row=1)).to_be_focused()
    await form.fill("Price each", "a lot", row=1)
    await form.press("Send")
    title = form.field("What", row=1)
    await expect(title).to_have_accessible_description("This is needed.")
    await expect(title).to_have_attribute("aria-invalid", "true")
    await expect(title).to_be_focused()
    price = form.field("Price each", row=1)
    await expect(price).to_have_accessible_description("Write an amount such as 12.50.")
    await title.fill("A balloon")
    await expect(title).to_have_attribute("aria-invalid", "false")


async def test_what_the_server_refuses_is_said_and_nothing_typed_is_lost(two: Two) -> None:
    two.ann.person.expect_error("status of 4")
    form = await two.ann.begin("Ask for a refund")
    await form.fill("Amount", "999")
    await form.fill("Reason", "Everything is wrong")
    await form.press("Send")
    await expect(form.dialog.get_by_role("alert")).to_contain_text("This could not be sent.")
    await expect(form.field("Reason")).to_have_value("Everything is wrong")
    await form.fill("Amount", "9.99")
    await form.send()
    await two.both_see("Request for a refund", "Waiting for an answer")


async def test_header_and_panel_follow_what_happens(two: Two) -> None:
    await two.ann.header.get_by_role("button").first.click()
    panel = two.ann.panel
    await expect(panel).to_contain_text("Nothing is open")
    form = await two.ben.begin("Claim an expense")
    await form.fill("Amount", "18.00")
    await form.fill("Paid to", "Two taxis")
    await form.send()
    await expect(panel.get_by_role("heading", name="Waiting for you")).to_be_visible()
    await expect(panel.get_by_role("tab", name="Actions")).to_contain_text("1")
    waiting = panel.get_by_role("group", name="Expense", exact=True)
    await waiting.get_by_role("button", name="Accept and pay").click()
    await waiting.get_by_role("button", name="Pay £18.00").click()
    await two.both_see("Expense", "Paid")
    await expect(panel).to_contain_text("Nothing is open")
    await panel.get_by_role("tab", name="Expenses").click()
    await expect(panel).to_contain_text("£318.00")
    form = await two.ben.begin("Claim an expense")
    await form.fill("Amount", "2.00")
    await form.fill("Paid to", "A bridge")
    await form.send()
    await two.ann.card("Expense").press_surely("Accept and pay", "Pay £2.00")
    await expect(panel).to_contain_text("£320.00")


async def test_a_booking_that_is_cancelled_leaves_nothing_to_do(two: Two, demo: Demo) -> None:
    """Neither a button nor a time that runs, and the menu offers what is still possible."""
    path = f"/v1/threads/{two.project.thread_id}/cards"
    items = [{"title": "Retouching", "qty": 1, "unit_cents": 1250}]
    for card_type, payload in (("extras", {"items": items}), ("complete", {"kind": "milestone"})):
        demo.call(two.project.seller, "POST", path, {"type": card_type, "payload": payload})
    await expect(two.ann.card("Work is done").button("Accept the work")).to_be_visible()
    two.market.call("POST", f"/v1/bookings/{two.project.booking_id}/cancel", {})
    for title in ("Extras", "Work is done"):
        await two.both_see(title, "Closed: the booking was cancelled")
        for deal in (two.ann, two.ben):
            card = deal.card(title)
            await expect(card.place.get_by_role("button", name="Accept")).to_have_count(0)
    for deal in (two.ann, two.ben):
        await expect(deal.header).to_contain_text("Cancelled")
        await expect(deal.header).not_to_contain_text("Review ends")
    menu = await two.ben.open_menu()
    await expect(menu.get_by_role("menuitem", name="Mark the work as done")).to_have_count(0)
    await expect(menu.get_by_role("menuitem", name="Add extras")).to_have_count(0)
