"""Two people in a conversation at the same time, over every transport."""

import asyncio
from collections.abc import Sequence

import pytest
from playwright.async_api import expect

from tools.demo import Demo

from .people import WAYS, People, Way
from .starting import start_thread
from .talking import Shown, Talk
from .waiting import becomes


@pytest.mark.parametrize(
    ("blocked", "indicator"),
    [
        (WAYS[:0], "Live"),
        (WAYS[:1], "Live"),
        (WAYS[:2], "Live"),
        (WAYS[:3], "Updates every few seconds"),
    ],
    ids=["websocket", "sse", "long-poll", "poll"],
)
async def test_a_talk_ends_the_same_whatever_is_blocked(
    people: People, demo: Demo, blocked: Sequence[Way], indicator: str
) -> None:
    path = f"/app/threads/{start_thread(demo, 'Are you free on Saturday?')}"
    maya, theo = [
        Talk(await people.open(user_id, path, blocked=blocked)) for user_id in ("maya", "theo")
    ]
    for each in (maya, theo):
        await expect(each.page.get_by_role("status", name=indicator)).to_be_visible()
        await becomes(each.page, set(WAYS[: len(blocked) + 1]), each.person.ways_tried)
    await talk(maya, theo, is_live="sse" not in blocked)
    said = [
        Shown("Maya Lindqvist", "Are you free on Saturday?", is_edited=False),
        Shown("Theo Adeyemi", "After three, yes", is_edited=True),
        Shown("Maya Lindqvist", "This message was deleted", is_edited=False),
        Shown("Theo Adeyemi", "See you there", is_edited=False),
    ]
    await maya.sees_all(*said, own="Maya Lindqvist")
    await theo.sees_all(*said, own="Theo Adeyemi")


async def talk(maya: Talk, theo: Talk, *, is_live: bool) -> None:
    await theo.sees("Are you free on Saturday?")
    if is_live:
        await asyncio.gather(theo.type("After two, yes"), maya.sees_typing("Theo"))
    await theo.say("After two, yes")
    await maya.sees("After two, yes")
    await theo.sees_progress("After two, yes", "Read")
    await maya.say("I will bring the wrong lens")
    await theo.sees("I will bring the wrong lens")
    await theo.edit("After two, yes", "After three, yes")
    await maya.sees("After three, yes")
    await maya.delete("I will bring the wrong lens")
    await theo.say("See you there")
    await maya.sees("See you there")
    await expect(theo.message("This message was deleted")).to_be_visible()
    await theo.sees_progress("See you there", "Read")
