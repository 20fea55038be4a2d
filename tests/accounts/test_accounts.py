"""Authentication, users and API keys, against PostgreSQL."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from greenroom.accounts.actions import Accounts
from greenroom.accounts.model import UserChanges
from greenroom.accounts.postgres.store import PostgresAccountStore
from greenroom.accounts.rest import AccountsRest
from greenroom.kernel.errors import InvalidRequest, NotFound, Unauthenticated, UserNotFound
from greenroom.kernel.ids import system_randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.http.app import HttpApp
from greenroom.platform.tokens.verifying import TokenVerifier, sign_token

SECRET = b"a secret that only the backend knows"
START_MS = 1_800_000_000_007

fresh_number = itertools.count(1)


class Time:
    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def ada() -> str:
    """A user id that no other test of this module uses."""
    return f"ada.{next(fresh_number)}"


@pytest.fixture
def accounts(pool: asyncpg.Pool, clock: Time) -> Accounts:
    return make_accounts(pool, clock)


def make_accounts(pool: asyncpg.Pool, clock: Time, limits: Limits | None = None) -> Accounts:
    tokens = TokenVerifier(
        secret=SECRET, jwks_url=None, audience=None, issuer=None, clock=clock, cache_size=100
    )
    return Accounts(
        PostgresAccountStore(pool),
        tokens,
        clock=clock,
        randomness=system_randomness,
        limits=limits or Limits(),
    )


def bearer(clock: Time, user_id: str, operator_role: str | None = None) -> str:
    return "Bearer " + sign_token(
        SECRET, user_id, clock=clock, ttl_s=600, operator_role=operator_role
    )


class NoDatabase:
    """Stands in for the pool and fails the test when asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"The database was asked to {name}")


class TestPeople:
    async def test_an_unknown_person_is_created_on_first_use(
        self, accounts: Accounts, clock: Time, ada: str
    ) -> None:
        with pytest.raises(UserNotFound):
            await accounts.require_users([ada])
        caller = await accounts.authenticate(bearer(clock, ada, operator_role="trust"))
        assert (caller.kind, caller.user_id, caller.operator_role) == ("person", ada, "trust")
        assert caller.expires_at == (clock.now_ms // 1000 + 600) * 1000
        await accounts.require_users([ada])

    async def test_a_known_person_costs_no_database_call(
        self, accounts: Accounts, clock: Time, ada: str
    ) -> None:
        header = bearer(clock, ada)
        await accounts.authenticate(header)
        accounts._store = PostgresAccountStore(NoDatabase())  # type: ignore[arg-type]
        assert (await accounts.authenticate(header)).user_id == ada
        await accounts.require_users([ada])

    async def test_first_use_keeps_what_the_backend_said(
        self, pool: asyncpg.Pool, clock: Time, ada: str
    ) -> None:
        await make_accounts(pool, clock).put_user(ada, UserChanges(display_name="Ada"))
        elsewhere = make_accounts(pool, clock)
        caller = await elsewhere.authenticate(bearer(clock, ada))
        assert (await elsewhere.access_own_user(caller)).display_name == "Ada"

    async def test_memory_of_known_people_is_bounded(self, pool: asyncpg.Pool, clock: Time) -> None:
        accounts = make_accounts(pool, clock, Limits(known_users=2))
        for number in range(5):
            await accounts.authenticate(bearer(clock, f"many.{number}"))
        assert list(accounts._known._ids) == ["many.3", "many.4"]

    @pytest.mark.parametrize(
        "header", [None, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer x", "Bearer a.b.c d"]
    )
    async def test_without_a_token_nobody_is_calling(
        self, accounts: Accounts, header: str | None
    ) -> None:
        with pytest.raises(Unauthenticated):
            await accounts.authenticate(header)

    async def test_the_scheme_may_be_written_in_any_case(
        self, accounts: Accounts, clock: Time, ada: str
    ) -> None:
        header = bearer(clock, ada).replace("Bearer ", "bEARER  ")
        assert (await accounts.authenticate(header)).user_id == ada

    @pytest.mark.parametrize("stranger", ["nobody.here", "not an id", "nul\0", ""])
    async def test_unknown_recipients_are_not_found(
        self, accounts: Accounts, clock: Time, ada: str, stranger: str
    ) -> None:
        await accounts.authenticate(bearer(clock, ada))
        with pytest.raises(UserNotFound):
            await accounts.require_users([ada, stranger])

    async def test_concurrent_partial_puts_all_take_effect(
        self, accounts: Accounts, ada: str
    ) -> None:
        results = await asyncio.gather(
            accounts.put_user(ada, UserChanges(display_name="Ada")),
            accounts.put_user(ada, UserChanges(roles=["model"])),
            accounts.put_user(ada, UserChanges(verified=True)),
        )
        assert sum(created for _, created in results) == 1
        user, _ = await accounts.put_user(ada, UserChanges())
        assert (user.display_name, user.roles, user.verified) == ("Ada", ["model"], True)


class TestKeys:
    async def test_a_key_is_the_backend(self, accounts: Accounts) -> None:
        new = await accounts.create_key("shop")
        caller = await accounts.authenticate(f"Bearer {new.text}")
        assert (caller.kind, caller.user_id) == ("backend", None)
        assert caller.key_id == new.key.key_id

    async def test_only_the_hash_is_stored(self, accounts: Accounts, pool: asyncpg.Pool) -> None:
        new = await accounts.create_key("shop")
        rows = await pool.fetch("SELECT * FROM api_key")
        secret = new.text.removeprefix("grk_")[26:]
        assert len(secret) == 64
        assert secret not in str(rows)
        assert bytes.fromhex(secret) not in [row["hash"] for row in rows]

    async def test_a_changed_key_is_nobody(self, accounts: Accounts) -> None:
        text = (await accounts.create_key("shop")).text
        last = "0" if text[-1] != "0" else "1"
        for forged in (text[:-1] + last, text[:-1], text + "0", "grk_", text.upper(), text + "ä"):
            with pytest.raises(Unauthenticated):
                await accounts.authenticate(f"Bearer {forged}")

    async def test_a_revoked_key_ends_at_once_everywhere(
        self, accounts: Accounts, pool: asyncpg.Pool, clock: Time
    ) -> None:
        new = await accounts.create_key("shop")
        elsewhere = make_accounts(pool, clock)
        await elsewhere.authenticate(f"Bearer {new.text}")
        revoked = await accounts.revoke_key(new.key.key_id)
        with pytest.raises(Unauthenticated, match="revoked"):
            await elsewhere.authenticate(f"Bearer {new.text}")
        clock.now_ms += 5
        assert await accounts.revoke_key(new.key.key_id) == revoked

    async def test_revoking_what_is_not_there(self, accounts: Accounts) -> None:
        with pytest.raises(NotFound):
            await accounts.revoke_key("key_unknown")

    async def test_its_last_use_is_kept_to_the_minute(
        self, accounts: Accounts, clock: Time
    ) -> None:
        new = await accounts.create_key("shop")
        seen = []
        for passed_ms in (0, 59_999, 1):
            clock.now_ms += passed_ms
            await accounts.authenticate(f"Bearer {new.text}")
            listed = {key.key_id: key for key in await accounts.list_keys()}
            seen.append(listed[new.key.key_id].last_used_at)
        assert seen[0] == seen[1] == new.key.created_at
        assert seen[2] is not None
        assert seen[2] - new.key.created_at == 60_000

    async def test_the_newest_is_listed_first(self, accounts: Accounts, clock: Time) -> None:
        clock.now_ms += 3_600_000
        first = await accounts.create_key("first")
        clock.now_ms += 1
        second = await accounts.create_key("second")
        assert (await accounts.list_keys())[:2] == [second.key, first.key]

    @pytest.mark.parametrize("name", ["", " \n", "x" * 65])
    async def test_a_key_needs_a_name(self, accounts: Accounts, name: str) -> None:
        with pytest.raises(InvalidRequest):
            await accounts.create_key(name)


class TestRest:
    @pytest.fixture
    async def client(self, accounts: Accounts) -> AsyncIterator[httpx.AsyncClient]:
        app = HttpApp(AccountsRest(accounts).endpoints(), authenticate=accounts.authenticate)
        key = await accounts.create_key("shop")
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://greenroom",
            headers={"Authorization": f"Bearer {key.text}"},
        ) as client:
            yield client

    async def test_put_creates_then_changes_what_is_given(
        self, client: httpx.AsyncClient, clock: Time, ada: str
    ) -> None:
        whole = {
            "display_name": "Ada",
            "avatar_url": "https://cdn.example.org/a.png",
            "roles": ["model"],
            "timezone": "Europe/Berlin",
            "verified": True,
            "age_verified": True,
            "locale": "de-DE",
        }
        created = await client.put(f"/v1/users/{ada}", json=whole)
        assert created.status_code == 201
        times = dict.fromkeys(("created_at", "updated_at"), "2027-01-15T08:00:00.007Z")
        assert created.json() == {"user": {"user_id": ada, **whole, **times}}

        clock.now_ms += 1000
        given = {"avatar_url": None, "timezone": None, "locale": None, "verified": False}
        changed = await client.put(f"/v1/users/{ada}", json=given)
        assert changed.status_code == 200
        times["updated_at"] = "2027-01-15T08:00:01.007Z"
        assert changed.json() == {"user": {"user_id": ada, **whole, **given, **times}}

    async def test_me_is_the_person_of_the_token(
        self, client: httpx.AsyncClient, clock: Time, ada: str
    ) -> None:
        me = await client.get("/v1/me", headers={"Authorization": bearer(clock, ada)})
        assert (me.status_code, me.json()["user"]["user_id"]) == (200, ada)

    async def test_each_call_has_its_own_kind_of_caller(
        self, client: httpx.AsyncClient, clock: Time, ada: str
    ) -> None:
        person = {"Authorization": bearer(clock, ada)}
        nobody = {"Authorization": ""}
        path = f"/v1/users/{ada}"
        assert (await client.put(path, json={}, headers=person)).status_code == 403
        assert (await client.put(path, json={}, headers=nobody)).status_code == 401
        assert (await client.get("/v1/me")).status_code == 403
        assert (await client.get("/v1/me", headers=nobody)).status_code == 401

    @pytest.mark.parametrize(
        "body",
        [
            {"display_name": None},
            {"roles": None},
            {"verified": "yes"},
            {"displayName": "Ada"},
            {"timezone": "Mars/Olympus"},
            [],
        ],
    )
    async def test_unfit_bodies_change_nothing(
        self, client: httpx.AsyncClient, accounts: Accounts, ada: str, body: object
    ) -> None:
        refused = await client.put(f"/v1/users/{ada}", json=body)
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")
        with pytest.raises(UserNotFound):
            await accounts.require_users([ada])

    async def test_an_email_address_is_not_a_user_id(self, client: httpx.AsyncClient) -> None:
        assert (await client.put("/v1/users/ada@example.org", json={})).status_code == 400
