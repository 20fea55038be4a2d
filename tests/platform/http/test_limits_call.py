"""`GET /v1/limits` answers with the values in effect, and with those that clients need only."""

from dataclasses import fields

import httpx

from greenroom.kernel.limits import Audience, Limits
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import Caller
from greenroom.platform.http.limits import limits_endpoint


async def limits_told_by(limits: Limits) -> dict[str, int]:
    async def authenticate(_authorization: str | None) -> Caller:
        return Caller("person", "ann")

    app = HttpApp([limits_endpoint(limits)], authenticate=authenticate)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://greenroom") as client:
        answer = await client.get("/v1/limits", headers={"Authorization": "Bearer ann"})
    assert answer.status_code == 200
    told: dict[str, int] = answer.json()["limits"]
    return told


async def test_a_limit_that_was_set_is_told() -> None:
    told = await limits_told_by(Limits(body_characters=120, edit_window_s=30))
    assert (told["body_characters"], told["edit_window_s"]) == (120, 30)
    assert told["messages_page"] == Limits().messages_page


async def test_limits_of_the_inside_of_the_server_are_not_told() -> None:
    told = await limits_told_by(Limits())
    operators = [
        each.name for each in fields(Limits) if each.metadata["audience"] is Audience.OPERATORS
    ]
    assert not told.keys() & set(operators)
