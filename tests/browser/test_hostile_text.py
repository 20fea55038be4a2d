"""Hostile text is shown as text everywhere and has no other effect."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx
import pytest
from playwright.async_api import Route, expect

from tests.support import IS_FULL
from tools.demo import Demo

from .hostile import AVATARS, CORPUS, LAYOUT, SCRIPTS, TEMPLATES, Watch
from .market import Json, Market, Project
from .people import DESKTOP, PHONE, People, Person
from .talking import Talk
from .waiting import becomes

SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}
NAME_CHARACTERS = 80
SUBJECT_CHARACTERS = 200
TITLE_CHARACTERS = 120
NOTE_CHARACTERS = 500
ITEMS = 10


@pytest.fixture(params=SCREENS)
def screen(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SCREENS[request.param]


@pytest.fixture(scope="module")
def reader(market: Market, demo: Demo) -> str:
    """Somebody with an inbox full of it: names, subjects and first words."""
    user_id = market.person("Reader")
    for number, text in enumerate(CORPUS):
        sender = f"sender-{number}"
        # What the server refuses as a name or a subject cannot come here by them.
        with suppress(httpx.HTTPStatusError):
            market.describe(sender, display_name=text[:NAME_CHARACTERS])
        message = {"client_id": f"first-{number}", "body": text[:2000]}
        new: Json = {"kind": "inquiry", "to": [user_id], "first_message": message}
        try:
            about = {**new, "subject": text[:SUBJECT_CHARACTERS]}
            demo.call(sender, "POST", "/v1/threads", about)
        except httpx.HTTPStatusError:
            demo.call(sender, "POST", "/v1/threads", new)
    return user_id


@pytest.fixture(scope="module")
def project(market: Market, demo: Demo) -> Project:
    """A thread in which all of it was said, and put on cards."""
    made = market.book(title=CORPUS[0])
    market.describe(made.seller, display_name=CORPUS[5])
    path = f"/v1/threads/{made.thread_id}"
    for number, text in enumerate(CORPUS):
        message = {"client_id": f"said-{number}", "body": text[:2000]}
        demo.call(made.seller, "POST", f"{path}/messages", message)
    titles = [" ".join(text.split())[:TITLE_CHARACTERS] for text in CORPUS]
    for begin in range(0, len(titles), ITEMS):
        items = [
            {"title": title, "qty": 1, "unit_cents": 100} for title in titles[begin : begin + ITEMS]
        ]
        payload = {"items": items, "note": CORPUS[begin][:NOTE_CHARACTERS]}
        demo.call(made.seller, "POST", f"{path}/cards", {"type": "extras", "payload": payload})
    for text in LAYOUT[2:4]:
        payload = {"reason": text[:1000]}
        demo.call(made.seller, "POST", f"{path}/cards", {"type": "cancel", "payload": payload})
    return made


async def open_watched(
    people: People, demo: Demo, user_id: str, path: str, screen: dict[str, Any]
) -> tuple[Person, Watch]:
    person = await people.meet(user_id, **screen)
    watch = Watch(person, demo.url)
    await person.page.goto(f"{demo.url}{path}#token={demo.token(user_id)}")
    return person, watch


async def test_names_subjects_and_previews_in_the_inbox(
    people: People, demo: Demo, reader: str, screen: dict[str, Any]
) -> None:
    person, watch = await open_watched(people, demo, reader, "/app", screen)
    rows = person.page.get_by_role("list", name="Conversations").get_by_role("listitem")
    await expect(rows.first).to_be_visible()
    assert await watch.harm() == []
    await rows.first.get_by_role("button").first.press("End")
    await expect(rows.last).to_have_attribute("aria-posinset", str(len(CORPUS)))
    assert await watch.harm() == []


async def test_messages_and_cards_in_the_thread_and_the_panel(
    people: People, demo: Demo, project: Project, screen: dict[str, Any]
) -> None:
    user_id, path = project.buyer, f"{project.path}?panel=actions"
    person, watch = await open_watched(people, demo, user_id, path, screen)
    page = person.page
    waiting = page.locator("greenroom-panel").get_by_role("group", name="Extras")
    await expect(waiting.first).to_be_visible()
    assert await watch.harm() == []
    for tab in ("Booking", "Expenses", "Docs"):
        await page.get_by_role("tab", name=tab, exact=True).click()
        await expect(page.get_by_role("tabpanel", name=tab)).to_be_visible()
        assert await watch.harm() == []
    await page.get_by_role("button", name="Close the project panel").click()
    articles = page.get_by_role("log").get_by_role("article")
    await expect(articles.last).to_be_visible()
    await articles.last.press("Home")
    assert await watch.harm() == []


@pytest.mark.parametrize(
    # On a phone nothing but the layout is another.
    ("screen", "typed"),
    [("desktop", CORPUS), ("phone", CORPUS if IS_FULL else LAYOUT)],
    ids=SCREENS,
    indirect=["screen"],
)
async def test_what_is_typed_is_echoed_sent_and_received(
    people: People, demo: Demo, market: Market, screen: dict[str, Any], typed: Sequence[str]
) -> None:
    made = market.book()
    writer, writers = await open_watched(people, demo, made.buyer, made.path, screen)
    other, others = await open_watched(people, demo, made.seller, made.path, screen)
    talk = Talk(writer)
    for text in typed:
        await talk.composer.fill(text[:2000])
        await writer.page.get_by_role("button", name="Send").click()
        if text in SCRIPTS:
            await Talk(other).sees(text)
    await talk.composer.fill("The end")
    await writer.page.get_by_role("button", name="Send").click()
    await Talk(other).sees("The end")
    # Some of it may have run past the screen at once: whoever answers has read all of it.
    await Talk(other).composer.fill("All of it is here")
    await other.page.get_by_role("button", name="Send").click()
    await talk.sees_progress("The end", "Read")
    assert await writers.harm() == []
    assert await others.harm() == []


async def test_a_search_for_it(
    people: People, demo: Demo, reader: str, screen: dict[str, Any]
) -> None:
    person, watch = await open_watched(people, demo, reader, "/app", screen)
    search = person.page.get_by_role("searchbox")
    for text in (CORPUS[5], CORPUS[16], TEMPLATES[0], LAYOUT[0], LAYOUT[2], LAYOUT[4]):
        await search.fill(" ".join(f"nobody {text}".split())[:100])
        nothing = person.page.get_by_role("heading", name="Nothing found")
        await expect(nothing.locator("xpath=..")).to_contain_text("nobody")
        assert await watch.harm() == []


async def test_a_draft_of_it(people: People, demo: Demo, market: Market) -> None:
    made = market.book()
    path = made.path
    person, watch = await open_watched(people, demo, made.buyer, path, SCREENS["phone"])
    page = person.page
    for text in (CORPUS[0], CORPUS[5], TEMPLATES[1], LAYOUT[2], LAYOUT[5], LAYOUT[7]):
        await Talk(person).composer.fill(text)
        assert await watch.harm() == []
        await page.get_by_role("button", name="Back to the list").click()
        row = page.get_by_role("list", name="Conversations").get_by_role("listitem")
        await expect(row).to_contain_text("Draft:")
        assert await watch.harm() == []
        await row.get_by_role("button").first.click()
        await expect(Talk(person).composer).to_have_value(text)


async def test_html_that_a_broken_server_would_let_through(
    people: People, demo: Demo, project: Project, screen: dict[str, Any]
) -> None:
    """The page does not rely on the server alone: here it gets people's words as HTML."""

    async def let_through(route: Route) -> None:
        answer = await route.fetch()
        page = await answer.json()
        for message in page["items"]:
            message["body_html"] = message["body"]
        await route.fulfill(response=answer, json=page)

    person = await people.meet(project.buyer, **screen)
    # Of the document in which it is parsed, where nothing runs: even there these are refused.
    person.expect_error("Applying inline style|document's base URI|(style-src|base-uri)")
    watch = Watch(person, demo.url)
    await person.page.route("**/v1/threads/*/messages*", let_through)
    token = demo.token(project.buyer)
    await person.page.goto(f"{demo.url}{project.path}#token={token}")
    articles = person.page.get_by_role("log").get_by_role("article")
    await expect(articles.last).to_be_visible()
    await articles.last.press("Home")
    assert await watch.harm() == []


async def test_addresses_of_pictures_that_are_none(
    people: People, demo: Demo, market: Market, reader: str
) -> None:
    for address in AVATARS:
        with pytest.raises(httpx.HTTPStatusError):
            market.describe("sender-0", avatar_url=address)

    async def let_through(route: Route) -> None:
        answer = await route.fetch()
        page = await answer.json()
        for number, item in enumerate(page["items"]):
            for person in item["thread"]["participants"]:
                person["avatar_url"] = AVATARS[number % len(AVATARS)]
        await route.fulfill(response=answer, json=page)

    person = await people.meet(reader)
    watch = Watch(person, demo.url)
    await person.page.route("**/v1/inbox?*", let_through)
    token = demo.token(reader)
    await person.page.goto(f"{demo.url}/app#token={token}")
    rows = person.page.get_by_role("list", name="Conversations").get_by_role("listitem")
    await expect(rows.nth(len(AVATARS))).to_be_visible()
    assert await watch.harm() == []


async def test_notices_to_one_person_are_read_and_not_answered(
    people: People, market: Market, demo: Demo
) -> None:
    """In the marketplace's own words, live, with a quiet line in place of the composer."""
    ada = market.person("Ada North")
    opened = market.call(
        "PUT",
        f"/v1/threads/by/news:{ada}",
        {
            "kind": "system",
            "subject": "Your listings",
            "participants": [{"user_id": ada, "role": "seller"}],
            "first_notice": {"code": "sold", "text": "The **lamp** is sold, <b>all</b> of it."},
        },
    )
    thread_id = opened["thread"]["id"]
    page = (await people.open(ada, f"/app/threads/{thread_id}")).page
    await expect(page.get_by_role("heading", name="Your listings")).to_be_visible()
    notice = page.get_by_role("article").filter(has_text="The lamp is sold, <b>all</b> of it.")
    await expect(notice.locator("strong")).to_have_text("lamp")
    await expect(page.get_by_text("Notices only. Nobody can answer here.")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Write a message")).to_have_count(0)

    async def unread() -> object:
        return demo.call(ada, "GET", f"/v1/threads/{thread_id}")["inbox"]["unread_count"]

    await becomes(page, 0, unread)
    path = f"/v1/threads/{thread_id}/notices"
    market.call("POST", path, {"code": "paid", "text": "The payout is on its way."})
    await expect(page.get_by_role("article").filter(has_text="on its way")).to_be_visible()
    row = page.locator("greenroom-inbox").get_by_text("The payout is on its way.")
    await expect(row).to_be_visible()
