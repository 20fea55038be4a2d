"""Without network, after a server crash or a lost answer, messages arrive once and in order."""

import asyncio
import json
import re

import pytest
from playwright.async_api import Browser, Route, WebSocketRoute, expect

from tools.demo import Demo

from .market import Market
from .people import PATIENCE_MS, WAYS, People, Person, Way
from .second_server import second_server
from .starting import say, start_thread, texts
from .talking import Talk

OFFLINE = "You are offline. Messages will be sent when you are back."
SENT = r"(Sent|Delivered|Read)"
SENDS = "**/v1/threads/*/messages"


def address(thread_id: str) -> str:
    return f"/app/threads/{thread_id}"


async def write(talk: Talk, *lines: str) -> None:
    for line in lines:
        await talk.say(line)


async def open_row(person: Person, subject: str) -> None:
    await person.page.locator("greenroom-inbox").get_by_text(subject, exact=True).click()


async def sees_waiting(talk: Talk, *lines: str) -> None:
    for line in lines:
        await expect(talk.message(line)).to_have_accessible_name("You, Waiting to be sent")


async def sees_sent(talk: Talk, *lines: str) -> None:
    for line in lines:
        await talk.sees_progress(line, SENT)


async def loses_the_network(talk: Talk) -> None:
    """Until the page has noticed, it would still send."""
    await talk.person.go_offline()
    await expect(talk.page.get_by_text(OFFLINE)).to_be_visible()


async def test_what_was_written_offline_is_sent_once_and_in_order(
    people: People, demo: Demo
) -> None:
    doors = start_thread(demo, "About the doors", subject="Doors")
    stairs = start_thread(demo, "About the stairs", subject="Stairs")
    maya = Talk(await people.open("maya", address(stairs)))
    theo = Talk(await people.open("theo", address(doors)))
    await maya.sees("About the stairs")
    await theo.sees("About the doors")
    await open_row(maya.person, "Doors")
    await maya.sees("About the doors")

    await loses_the_network(maya)
    await write(maya, "Two of them", "Both are blue", "One squeaks")
    await expect(maya.page.get_by_text("3 wait", exact=True)).to_be_visible()
    await sees_waiting(maya, "Two of them", "Both are blue", "One squeaks")
    await open_row(maya.person, "Stairs")
    await write(maya, "Five steps", "They fold")
    await expect(maya.page.get_by_text("2 wait", exact=True)).to_be_visible()
    await maya.composer.fill("Not finished")
    assert texts(demo, "theo", doors) == ["About the doors"]

    await maya.person.go_online()
    await sees_sent(maya, "Five steps", "They fold")
    await expect(maya.page.get_by_text(OFFLINE)).to_have_count(0)
    await expect(maya.composer).to_have_value("Not finished")
    await theo.sees("One squeaks")
    said = ["About the doors", "Two of them", "Both are blue", "One squeaks"]
    await theo.reads(*said)
    assert texts(demo, "theo", doors) == said
    assert texts(demo, "theo", stairs) == ["About the stairs", "Five steps", "They fold"]
    await open_row(maya.person, "Doors")
    await sees_sent(maya, "Two of them", "Both are blue", "One squeaks")
    await maya.reads(*said)


async def test_a_page_left_offline_keeps_what_waits_and_what_was_begun(
    people: People, demo: Demo
) -> None:
    thread_id = start_thread(demo, "Before the tunnel", subject="Tunnel")
    maya = Talk(await people.open("maya", address(thread_id)))
    await maya.sees("Before the tunnel")
    await loses_the_network(maya)
    await write(maya, "In the tunnel", "Still dark here")
    await sees_waiting(maya, "In the tunnel", "Still dark here")
    await maya.composer.fill("Light at the")

    await maya.page.goto("about:blank")
    await maya.person.go_online()
    await maya.page.goto(demo.url + address(thread_id))
    await sees_sent(maya, "In the tunnel", "Still dark here")
    await expect(maya.composer).to_have_value("Light at the")
    said = ["Before the tunnel", "In the tunnel", "Still dark here"]
    await maya.reads(*said)
    assert texts(demo, "theo", thread_id) == said

    await maya.page.reload()
    await expect(maya.composer).to_have_value("Light at the")


async def test_a_server_that_dies_in_mid_conversation_loses_and_repeats_nothing(
    browser: Browser, demo: Demo, database_url: str
) -> None:
    thread_id = start_thread(demo, "Can you hear me?", subject="Radio")
    with second_server(demo, database_url) as server:
        people = People(browser, server.demo)
        maya = Talk(await people.open("maya", address(thread_id)))
        theo = Talk(await people.open("theo", address(thread_id)))
        for each in (maya, theo):
            each.person.expect_error("net::ERR_")
            each.person.expect_error("WebSocket connection to .* failed")
            # The pictures are the sample's own, and this is a server without it.
            each.person.expect_error("404 .*/demo/avatars/")
            await expect(each.page.get_by_role("status", name="Live")).to_be_visible()
        await maya.say("One")
        await theo.sees("One")

        server.kill()
        await write(maya, "Two", "Three")
        await write(theo, "Four")
        await expect(maya.page.get_by_text(OFFLINE)).to_be_visible()
        await sees_waiting(maya, "Two", "Three")

        await asyncio.to_thread(server.start)
        await sees_sent(maya, "Two", "Three")
        await sees_sent(theo, "Four")
        await maya.sees("Four")
        await theo.sees("Three")
        said = texts(demo, "theo", thread_id)
        assert sorted(said) == sorted(["Can you hear me?", "One", "Two", "Three", "Four"])
        assert said.index("Two") < said.index("Three")
        await maya.reads(*said)
        await theo.reads(*said)
        await people.close()
        assert people.complaints() == []


class LostAnswer:
    """The first send gets through to the server; what comes back does not."""

    def __init__(self) -> None:
        self.count = 0

    async def by_request(self, route: Route) -> None:
        if route.request.method != "POST" or self.count > 0:
            await route.fallback()
        else:
            self.count += 1
            await route.fetch()
            await route.abort("connectionreset")

    def by_socket(self, page: WebSocketRoute) -> None:
        server = page.connect_to_server()
        refs: list[str] = []

        def to_server(frame: str | bytes) -> None:
            sent = json.loads(frame)
            if sent["type"] == "send" and self.count == 0:
                refs.append(sent["ref"])
            server.send(frame)

        async def to_page(frame: str | bytes) -> None:
            if not refs:
                page.send(frame)
            elif json.loads(frame).get("ref") in refs and self.count == 0:
                self.count += 1
                await page.close(code=1011)

        page.on_message(to_server)
        server.on_message(to_page)


@pytest.mark.parametrize("way", WAYS)
async def test_a_send_whose_answer_is_lost_is_one_message(
    people: People, demo: Demo, way: Way
) -> None:
    thread_id = start_thread(demo, "Did you get it?", subject="Answers")
    lost = LostAnswer()
    maya = Talk(await people.meet("maya"))
    maya.person.expect_error("net::ERR_CONNECTION_RESET")
    await maya.person.block(WAYS[: WAYS.index(way)])
    await maya.person.context.route(SENDS, lost.by_request)
    if way == "websocket":
        await maya.person.context.route_web_socket(re.compile("/v1/ws"), lost.by_socket)
    await maya.page.goto(f"{demo.url}{address(thread_id)}#token={demo.token('maya')}")
    theo = Talk(await people.open("theo", address(thread_id)))
    await expect(maya.page.get_by_role("status", name="Live")).to_be_visible()
    await write(maya, "Got it", "And this")
    await sees_sent(maya, "Got it", "And this")
    await theo.sees("And this")
    assert lost.count == 1
    said = ["Did you get it?", "Got it", "And this"]
    await maya.reads(*said)
    await theo.reads(*said)
    assert texts(demo, "theo", thread_id) == said


async def test_what_is_written_while_the_page_loads_is_shown(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Is it you at the door?", subject="Door")
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.fallback()

    theo = Talk(await people.meet("theo"))
    await theo.person.context.route("**/v1/inbox*", late)
    await theo.page.goto(f"{demo.url}{address(thread_id)}#token={demo.token('theo')}")
    await theo.sees("Is it you at the door?")
    say(demo, "maya", thread_id, "It rang twice")
    may_answer.set()
    await theo.sees("It rang twice")


async def test_what_one_types_while_the_page_loads_stays(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Is the kettle on?", subject="Kettle")
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.fallback()

    theo = Talk(await people.meet("theo"))
    for calls in ("**/v1/inbox*", "**/v1/threads/**"):
        await theo.person.context.route(calls, late)
    await theo.page.goto(f"{demo.url}{address(thread_id)}#token={demo.token('theo')}")
    await theo.composer.fill("It boils")
    may_answer.set()
    await theo.sees("Is the kettle on?")
    await expect(theo.composer).to_have_value("It boils")
    await theo.page.reload()
    await expect(theo.composer).to_have_value("It boils")


async def test_what_becomes_of_a_booking_while_the_page_loads_is_shown(
    people: People, demo: Demo, market: Market
) -> None:
    project = market.book()
    may_answer = asyncio.Event()

    async def late(route: Route) -> None:
        await may_answer.wait()
        await route.fallback()

    ann = await people.meet(project.buyer)
    await ann.context.route("**/v1/inbox*", late)
    token = demo.token(project.buyer)
    await ann.page.goto(f"{demo.url}{project.path}?panel=booking#token={token}")
    header = ann.page.get_by_role("group", name="Booking", exact=True)
    panel = ann.page.locator("greenroom-panel")
    for shown in (header, panel):
        await expect(shown.get_by_text("Confirmed")).to_be_visible()
    market.call("POST", f"/v1/bookings/{project.booking_id}/cancel", {"by": "buyer"})
    may_answer.set()
    for shown in (header, panel):
        await expect(shown.get_by_text("Cancelled")).to_be_visible()


async def test_a_page_that_dies_while_sending_sends_once(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "Battery at one percent", subject="Battery")
    maya = Talk(await people.open("maya", address(thread_id), blocked=WAYS[:1]))
    await expect(maya.page.get_by_role("status", name="Live")).to_be_visible()
    taken = asyncio.Event()

    async def take(route: Route) -> None:
        if route.request.method != "POST":
            await route.fallback()
        else:
            await route.fetch()
            taken.set()

    await maya.person.context.route(SENDS, take)
    await maya.say("Call me on the other phone")
    await asyncio.wait_for(taken.wait(), PATIENCE_MS / 1000)
    await maya.page.goto("about:blank")
    await maya.person.context.unroute_all(behavior="ignoreErrors")

    await maya.page.goto(demo.url + address(thread_id))
    await sees_sent(maya, "Call me on the other phone")
    said = ["Battery at one percent", "Call me on the other phone"]
    await maya.reads(*said)
    assert texts(demo, "theo", thread_id) == said
