"""A card to a person who has blocked its creator is invisible to them, and the creator
cannot tell."""

import pytest

from tests.support.api import Api

PROPOSAL = {
    "type": "propose_time",
    "payload": {
        "start": "2027-03-01T10:00:00Z",
        "end": "2027-03-01T12:00:00Z",
        "timezone": "Europe/Vienna",
    },
}


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def test_who_has_blocked_somebody_hears_nothing_of_their_card(api: "Api") -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await theo.block(maya)
    cursor, row = await theo.cursor(), await theo.row(thread_id)

    made = (await maya.post(f"/v1/threads/{thread_id}/cards", PROPOSAL)).json()
    assert made["card"]["state"] == "pending"
    assert [each["kind"] for each in await maya.messages(thread_id)][-1] == "card"

    assert await theo.sync(cursor) == []
    assert await theo.row(thread_id) == row
    assert (await theo.get(f"/v1/threads/{thread_id}/panel/actions")).json()["data"] == {
        "cards": []
    }
    assert "card" not in [each["kind"] for each in await theo.messages(thread_id)]
    withdrawn = await maya.post(f"/v1/cards/{made['card']['id']}/withdraw", {"version": 1})
    assert withdrawn.json()["card"]["state"] == "withdrawn"
    assert await theo.sync(cursor) == []


async def test_who_blocks_the_only_other_person_is_told_so(api: "Api") -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await maya.block(theo)
    refusal = await maya.refusal("POST", f"/v1/threads/{thread_id}/cards", PROPOSAL)
    assert refusal == (403, "MSG_BLOCKED_BY_USER")
