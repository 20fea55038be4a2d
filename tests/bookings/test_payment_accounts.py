"""How the payment provider knows people: given by the backend, shown to nobody else, erased."""

from __future__ import annotations

import asyncpg

from tests.support.api import Api, answered


async def test_references_are_kept_field_by_field(api: Api) -> None:
    [ann] = await api.people("ann")
    path = f"/v1/users/{ann.id}/payment-account"
    assert await api.backend.refusal("GET", path) == (404, "NOT_FOUND")
    for changes, kept in (
        ({"customer": "cus_1", "payment_method": "pm_1"}, ("cus_1", "pm_1", None)),
        ({"payee": "acct_1"}, ("cus_1", "pm_1", "acct_1")),
        ({"payment_method": "pm_2", "customer": None}, (None, "pm_2", "acct_1")),
    ):
        put = answered(await api.backend.put(path, changes), 200)["payment_account"]
        assert (put["customer"], put["payment_method"], put["payee"]) == kept
        assert answered(await api.backend.get(path), 200)["payment_account"] == put
    nobody = "/v1/users/nobody/payment-account"
    assert await api.backend.refusal("PUT", nobody, {"payee": "a"}) == (404, "USER_NOT_FOUND")


async def test_references_are_for_the_backend_only_and_go_with_the_person(
    api: Api, pool: asyncpg.Pool
) -> None:
    ann, bob = await api.people("ann", "bob")
    path = f"/v1/users/{ann.id}/payment-account"
    answered(await api.backend.put(path, {"customer": "cus_secret"}), 200)
    for person in (ann, bob):
        assert (await person.get(path)).status_code == 403
    seen = [await bob.get(f"/v1/users/{ann.id}"), await ann.get("/v1/me")]
    assert all("cus_secret" not in each.text for each in seen)
    exported = [each async for each in api.rooms.contract.upkeep.export(ann.id)]
    kept = {"customer": "cus_secret", "payment_method": None, "payee": None}
    assert exported == [("payment_accounts", kept)]
    await api.rooms.contract.upkeep.erase(ann.id)
    assert await api.backend.refusal("GET", path) == (404, "NOT_FOUND")
    assert await pool.fetchval("select count(*) from payment_account") == 1
