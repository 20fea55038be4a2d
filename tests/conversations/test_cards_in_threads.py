"""Cards as clients see them in pages, in the feed and in the inbox."""

from typing import Any

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.thread_updates import Shadow, Standing, ThreadUpdate
from greenroom.conversations.wire import show_shadow
from tests.support.api import Api, Json

AT = "2027-01-15T08:00:00.000Z"


def card(thread_id: str, by: str, **more: Any) -> Shadow:
    shown: Json = {
        "id": f"crd_{thread_id}",
        "thread_id": thread_id,
        "type": "extras",
        "state": "pending",
        "version": 1,
        "payload": {"items": [{"title": "Prints", "qty": 2, "unit_cents": 1500}]},
        "totals": {"amount_cents": 3000},
        "created_by": by,
        "waits_for": [],
        "created_at": AT,
        "updated_at": AT,
    }
    return Shadow(shown["id"], "extras", {**shown, **more})


async def post(rooms: Rooms, pool: asyncpg.Pool, update: ThreadUpdate) -> None:
    thread_updates = rooms._kept.thread_updates
    async with pool.acquire() as conn, conn.transaction():
        applied = await thread_updates.apply(conn, update)
    await thread_updates.show([applied])


@pytest.fixture
def buttons(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room that knows what can be done with a card."""

    def show(shadow: "Json", viewer: str | None) -> "Json":
        pay = {"action": "pay", "label": "Pay", "style": "primary", "input": None}
        actions = [] if viewer == shadow["created_by"] else [pay]
        shown = {name: shadow.get(name) for name in ("buyer", "seller", "group_id", "leg_id")}
        shown |= {"answers_card": None, "expires_at": None}
        labels = {"title": "Extras", "state": "Waiting"}
        return {**shown, **shadow, "available_actions": actions, "labels": labels}

    monkeypatch.setattr(rooms.conversations, "show_card", show)


async def test_a_card_shows_in_pages_with_what_the_viewer_can_do(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, buttons: None
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await post(rooms, pool, ThreadUpdate(thread_id, maya.id, new_card=card(thread_id, maya.id)))
    mine, theirs = [(await each.messages(thread_id))[-1] for each in (maya, theo)]
    assert (theirs["kind"], theirs["body"], theirs["body_html"]) == ("card", "", "")
    assert theirs["card"]["message_id"] == theirs["id"]
    assert theirs["card"]["totals"] == {"amount_cents": 3000}
    assert theirs["card"]["labels"] == {"title": "Extras", "state": "Waiting"}
    assert [each["action"] for each in theirs["card"]["available_actions"]] == ["pay"]
    assert mine["card"]["available_actions"] == []
    text = (await theo.messages(thread_id))[0]
    assert text["card"] is None


async def test_a_change_comes_as_card_changed_with_the_row(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, buttons: None
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    waits = Standing(None, 1, frozenset({theo.id}))
    new = card(thread_id, maya.id)
    await post(rooms, pool, ThreadUpdate(thread_id, maya.id, new_card=new, standing=waits))
    row = await theo.row(thread_id)
    assert (row["state"], row["needs_action"], row["badges"]) == (
        "pending_decision",
        True,
        ["action"],
    )
    assert (row["last_message"]["kind"], row["last_message"]["card_type"]) == ("card", "extras")
    assert (await theo.thread(thread_id))["thread"]["state"] == "pending_decision"
    cursor = await theo.cursor()
    paid = card(thread_id, maya.id, state="paid", version=2)
    done = ThreadUpdate(thread_id, theo.id, changed_card=paid, standing=Standing("confirmed"))
    await post(rooms, pool, done)
    [event] = await theo.sync(cursor)
    assert event["type"] == "card.changed"
    assert "message" not in event
    assert (event["card"]["state"], event["card"]["version"]) == ("paid", 2)
    assert [each["action"] for each in event["card"]["available_actions"]] == ["pay"]
    assert (await theo.messages(thread_id))[-1]["card"] == event["card"]
    assert (event["inbox"]["state"], event["inbox"]["needs_action"]) == ("confirmed", False)


async def test_by_itself_a_card_shows_without_actions(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms.conversations, "show_card", show_shadow)
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await post(rooms, pool, ThreadUpdate(thread_id, maya.id, new_card=card(thread_id, maya.id)))
    shown = (await theo.messages(thread_id))[-1]["card"]
    assert shown["available_actions"] == []
    assert (shown["id"], shown["expires_at"]) == (f"crd_{thread_id}", None)


async def test_the_feeds_document_tells_of_changed_cards(api: "Api") -> None:
    document = (await api.anonymous.get("/asyncapi.json")).json()
    told = document["components"]["messages"]["card.changed"]["payload"]["allOf"][1]
    assert told["required"] == ["card", "inbox"]
