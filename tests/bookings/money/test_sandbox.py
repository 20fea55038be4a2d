"""The sandbox gives the guarantees of a payment provider, over its real socket."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from greenroom.bookings.money.provider import Outcome, ProviderUnavailable
from greenroom.bookings.money.provider_http import HttpPayments

from .sandbox_users import SECRET, Steering, asking


async def test_a_charge_succeeds_and_a_repeat_tells_of_the_same(steering: Steering) -> None:
    first = await steering.provider.carry_out(asking())
    assert first == Outcome("succeeded", "sbx_charge_1", None)
    assert await steering.provider.carry_out(asking()) == first
    [operation] = await steering.operations()
    assert (operation["times"], operation["moved"]) == (2, True)
    assert (await steering.call("GET", "/v1/operations/k1"))["id"] == "sbx_charge_1"


async def test_a_repeat_at_the_same_time_is_a_repeat(steering: Steering) -> None:
    outcomes = await asyncio.gather(*(steering.provider.carry_out(asking()) for _ in range(10)))
    assert len(set(outcomes)) == 1
    [operation] = await steering.operations()
    assert operation["times"] == 10


async def test_the_same_key_for_something_else_is_refused(steering: Steering) -> None:
    await steering.provider.carry_out(asking())
    assert await _status(steering, key="k1", amount_cents=5) == 422
    with pytest.raises(ProviderUnavailable):
        await steering.provider.carry_out(asking(amount_cents=5))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": ""}, 401),
        ({"key": ""}, 400),
        ({"amount_cents": 0}, 400),
        ({"currency": "euro"}, 400),
        ({"operation": "steal"}, 400),
    ],
)
async def test_what_is_not_of_the_protocol_is_refused(
    steering: Steering, change: dict[str, Any], status: int
) -> None:
    assert await _status(steering, **change) == status
    assert await steering.operations() == []


async def test_amounts_that_end_in_13_cents_are_declined(steering: Steering) -> None:
    outcome = await steering.provider.carry_out(asking(amount_cents=5013))
    assert outcome == Outcome("failed", "sbx_charge_1", "card_declined")
    [operation] = await steering.operations()
    assert not operation["moved"]


async def test_refunds_are_at_most_the_charge(steering: Steering) -> None:
    charge = await steering.provider.carry_out(asking(amount_cents=10_000))
    of = charge.provider_id
    assert await _codes(
        steering,
        asking("refund", 6000, key="r1", source=of),
        asking("refund", 4001, key="r2", source=of),
        asking("refund", 4000, key="r3", source=of),
        asking("refund", 1, key="r4", source=of),
        asking("refund", 1, key="r5", source="sbx_charge_99"),
        asking("refund", 1, key="r6", source=of, currency="USD"),
        asking("refund", 1, key="r7"),
    ) == [
        None,
        "refund_exceeds_charge",
        None,
        "refund_exceeds_charge",
        "no_such_source",
        "wrong_currency",
        "no_such_source",
    ]


async def test_captures_are_at_most_the_hold_which_is_released_once(steering: Steering) -> None:
    hold = await steering.provider.carry_out(asking("hold", 10_000))
    of = hold.provider_id
    assert await _codes(
        steering,
        asking("capture", 3000, key="c1", source=of),
        asking("capture", 8000, key="c2", source=of),
        asking("release", 7000, key="x1", source=of),
        asking("release", 7000, key="x2", source=of),
        asking("capture", 1, key="c3", source=of),
        asking("refund", 1, key="r1", source=of),
    ) == [
        None,
        "capture_exceeds_hold",
        None,
        "already_released",
        "already_released",
        "no_such_source",
    ]


async def test_what_was_captured_can_be_refunded_and_sellers_are_paid(
    steering: Steering,
) -> None:
    hold = await steering.provider.carry_out(asking("hold", 10_000))
    capture = await steering.provider.carry_out(
        asking("capture", 3000, key="c1", source=hold.provider_id)
    )
    assert await _codes(
        steering,
        asking("refund", 3000, key="r1", source=capture.provider_id),
        asking("payout", 9000, key="p1"),
    ) == [None, None]


async def test_a_script_is_followed_in_order_by_the_calls_it_is_for(steering: Steering) -> None:
    await steering.script(
        {"operation": "payout", "do": "fail", "code": "account_closed"},
        {"do": "fail", "code": "no_money"},
        {"do": "error", "status": 503},
    )
    charge = await steering.provider.carry_out(asking(key="a"))
    assert charge.failure_code == "no_money"
    with pytest.raises(ProviderUnavailable):
        await steering.provider.carry_out(asking(key="b"))
    payout = await steering.provider.carry_out(asking("payout", key="c"))
    assert payout.failure_code == "account_closed"
    assert (await steering.provider.carry_out(asking(key="b"))).status == "succeeded"


async def test_what_is_pending_stays_so_until_it_is_settled(steering: Steering) -> None:
    await steering.script({"do": "pending"})
    pending = await steering.provider.carry_out(asking())
    assert pending == Outcome("pending", "sbx_charge_1", None)
    assert await steering.provider.carry_out(asking()) == pending
    await steering.call("POST", "/sandbox/settle", {"key": "k1", "status": "succeeded"})
    assert (await steering.provider.carry_out(asking())).status == "succeeded"
    assert (await steering.call("POST", "/sandbox/settle", {}))["settled"] == []


async def test_the_sandbox_killed_at_any_moment_goes_on_where_it_was(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    program, url = await _start(tmp_path, secret)
    async with httpx.AsyncClient() as http:
        headers = {"authorization": f"Bearer {SECRET}"}
        steps = {"steps": [{"do": "timeout_after"}]}
        await http.post(f"{url}/sandbox/script", json=steps, headers=headers)
    with pytest.raises(ProviderUnavailable):
        await HttpPayments(url, SECRET).carry_out(asking())
    program.send_signal(signal.SIGKILL)
    await program.wait()
    with pytest.raises(ProviderUnavailable):
        await HttpPayments(url, SECRET).carry_out(asking())

    program, url = await _start(tmp_path, secret)
    try:
        again = await HttpPayments(url, SECRET).carry_out(asking())
        assert again == Outcome("succeeded", "sbx_charge_1", None)
        other = await HttpPayments(url, SECRET).carry_out(asking(key="k2"))
        assert other.provider_id == "sbx_charge_2"
    finally:
        program.terminate()
        await program.communicate()


async def _start(folder: Path, secret: Path) -> tuple[asyncio.subprocess.Process, str]:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "greenroom.bookings.sandbox.provider", "--port", "0"),
        *("--file", str(folder / "sandbox.db"), "--secret-file", str(secret)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    url = (await program.stdout.readline()).decode().strip()
    return program, url


async def _codes(steering: Steering, *operations: Any) -> list[str | None]:
    outcomes = [await steering.provider.carry_out(each) for each in operations]
    return [each.failure_code for each in outcomes]


async def _status(
    steering: Steering, *, key: str = "k9", authorization: str = f"Bearer {SECRET}", **change: Any
) -> int:
    body = {"operation": "charge", "account": "b", "amount_cents": 100, "currency": "EUR"}
    headers = {"authorization": authorization, "idempotency-key": key}
    async with httpx.AsyncClient() as http:
        answer = await http.post(
            f"{steering.sandbox.url}/v1/operations",
            json={**body, "reference": "r", **change},
            headers=headers,
        )
    return answer.status_code
