"""What people choose for themselves."""

from __future__ import annotations

import asyncpg
import pytest

from greenroom.accounts.model import UserChanges, ViewingChoices
from tests.support.api import Api, Json, answered

PATH = "/v1/me/preferences"
DEFAULTS: Json = {"safe_mode": True, "contact": {}, "notify": {}, "telemetry": True}


@pytest.fixture(scope="module")
def conversations() -> str:
    """Accounts are in PostgreSQL, wherever conversations are."""
    return "postgres"


async def test_safe_mode_is_on_for_who_has_not_chosen(api: Api) -> None:
    [ann] = await api.people("ann")
    assert answered(await ann.get(PATH), 200) == {"preferences": DEFAULTS}
    assert await api.rooms.accounts.viewing_choices(ann.id) == ViewingChoices()


async def test_what_is_left_out_stays(api: Api) -> None:
    [ann] = await api.people("ann")
    first = await ann.put(PATH, {"preferences": {"safe_mode": False}})
    assert answered(first, 200)["preferences"] == {**DEFAULTS, "safe_mode": False}
    second = await ann.put(PATH, {"preferences": {"telemetry": False, "contact": {}}})
    chosen = {**DEFAULTS, "safe_mode": False, "telemetry": False}
    assert answered(second, 200)["preferences"] == chosen
    assert answered(await ann.put(PATH, {"preferences": {}}), 200)["preferences"] == chosen
    assert answered(await ann.get(PATH), 200)["preferences"] == chosen


async def test_each_has_their_own(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    await ann.put(PATH, {"preferences": {"safe_mode": False}})
    await api.rooms.accounts.put_user(ann.id, UserChanges(age_verified=True))
    assert answered(await bob.get(PATH), 200)["preferences"] == DEFAULTS
    choices = api.rooms.accounts.viewing_choices
    assert await choices(ann.id) == ViewingChoices(safe_mode=False, age_verified=True)
    assert await choices(bob.id) == ViewingChoices()
    assert await choices("nobody") == ViewingChoices()


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"safe_mode": False},
        {"preferences": {"safe_mode": None}},
        {"preferences": {"safe_mode": "no"}},
        {"preferences": {"safemode": False}},
        {"preferences": {"contact": {"verified": True}}},
        {"preferences": {"notify": []}},
    ],
)
async def test_what_is_not_known_is_refused_and_changes_nothing(api: Api, wrong: Json) -> None:
    [ann] = await api.people("ann")
    assert await ann.refusal("PUT", PATH, wrong) == (400, "INVALID_REQUEST")
    assert answered(await ann.get(PATH), 200)["preferences"] == DEFAULTS


async def test_are_for_people(api: Api) -> None:
    for method, body in (("GET", None), ("PUT", {"preferences": {}})):
        refusal = await api.anonymous.refusal(method, PATH, body)
        assert refusal == (401, "UNAUTHENTICATED")
        assert await api.backend.refusal(method, PATH, body) == (403, "FORBIDDEN")


async def test_are_erased_with_the_person(api: Api, pool: asyncpg.Pool) -> None:
    [ann] = await api.people("ann")
    await ann.put(PATH, {"preferences": {"safe_mode": False}})
    await api.rooms.accounts.erase_user(ann.id)
    left = await pool.fetchval("select preferences from app_user where user_id = $1", ann.id)
    assert left == "{}"
