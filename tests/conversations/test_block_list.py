"""Whom one has blocked, and what everybody may know of a person."""

from __future__ import annotations

from tests.support.api import Api, Json, Person


async def blocks(person: Person, **params: int | str) -> Json:
    answer = await person.get("/v1/me/blocks", **params)
    assert answer.status_code == 200, answer.text
    page: Json = answer.json()
    return page


class TestBlocks:
    async def test_newest_first_with_names(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        profile = {"display_name": "Bob B.", "avatar_url": "https://cdn.example.org/b.png"}
        await api.backend.put(f"/v1/users/{bob.id}", profile)
        assert await blocks(ann) == {"items": [], "next_cursor": None}
        await ann.block(bob)
        api.clock.advance(seconds=1)
        await ann.block(carl)
        newest, oldest = (await blocks(ann))["items"]
        assert newest["user_id"] == carl.id
        created_at = oldest.pop("created_at")
        assert oldest == {"user_id": bob.id, **profile}
        assert created_at < newest["created_at"]

    async def test_blocking_again_changes_nothing_and_unblocking_ends_it(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.block(bob)
        before = await blocks(ann)
        api.clock.advance(days=1)
        await ann.block(bob)
        assert await blocks(ann) == before
        await ann.unblock(bob)
        assert (await blocks(ann))["items"] == []

    async def test_pages_have_each_block_once(self, api: Api) -> None:
        [ann] = await api.people("ann")
        others = await api.people(*(f"other{number}" for number in range(5)))
        for place, other in enumerate(others):
            await ann.block(other)
            if place % 2:
                api.clock.advance(seconds=1)
        seen: list[str] = []
        cursor: str | None = None
        while cursor is not None or not seen:
            page = await blocks(ann, limit=2, **({} if cursor is None else {"cursor": cursor}))
            seen += [each["user_id"] for each in page["items"]]
            cursor = page["next_cursor"]
        assert sorted(seen) == sorted(other.id for other in others)

    async def test_the_blocked_do_not_learn_of_it(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.block(bob)
        assert await blocks(bob) == {"items": [], "next_cursor": None}
        assert await bob.refusal("GET", "/v1/me/blocks?limit=101") == (400, "INVALID_REQUEST")


class TestProfile:
    async def test_everybody_may_know_the_public_facts(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        whole = {
            "display_name": "Bob B.",
            "avatar_url": None,
            "roles": ["photographer"],
            "timezone": "Europe/Berlin",
            "verified": True,
            "age_verified": True,
            "locale": "de",
        }
        await api.backend.put(f"/v1/users/{bob.id}", whole)
        public = {name: whole[name] for name in ("display_name", "avatar_url", "roles", "verified")}
        for caller in (ann, bob, api.backend):
            answer = await caller.get(f"/v1/users/{bob.id}")
            assert answer.json() == {"user": {"user_id": bob.id, **public}}

    async def test_a_block_cannot_be_read_from_it(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        before = (await ann.get(f"/v1/users/{bob.id}")).json()
        await bob.block(ann)
        assert (await ann.get(f"/v1/users/{bob.id}")).json() == before

    async def test_who_is_not_there_is_not_found(self, api: Api) -> None:
        [ann] = await api.people("ann")
        assert await ann.refusal("GET", "/v1/users/nobody") == (404, "USER_NOT_FOUND")
        assert await ann.refusal("GET", "/v1/users/no%20id") == (404, "USER_NOT_FOUND")
