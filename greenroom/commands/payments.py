"""`greenroom payments list` and `retry`: refunds, releases and payouts that failed for good."""

import argparse
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from greenroom.bookings.model import Payment
from greenroom.bookings.money.retrying import Retrying
from greenroom.bookings.rest.payments import payment_view
from greenroom.bootstrap import Rooms, database
from greenroom.doctor import MissingError
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import NotFound, Problem
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings

T = TypeVar("T")

LISTED = 1000


def list_payments(args: argparse.Namespace, settings: Settings) -> int:
    failed = _with_rooms(settings, lambda retrying: retrying.failed("", LISTED))
    if args.json:
        rows = [msgspec.to_builtins(payment_view(payment)) for payment in failed]
        print(json.dumps(rows, indent=2))
        return 0
    for each in failed:
        money = f"{each.amount_cents} cents {each.currency}"
        print(f"{each.payment_id}  {each.operation} of {money} of {each.leg_id}")
        print(f"    {rfc3339(each.updated_at_ms)}: {each.failure_code or 'no reason is known'}")
    if failed:
        print("`greenroom payments retry --id ID` or `--all` tries them again, each once")
    else:
        print("no refund, release or payout has failed for good")
    return 0


def retry_payments(args: argparse.Namespace, settings: Settings) -> int:
    async def work(retrying: Retrying) -> list[tuple[str, str]]:
        ids = [args.id] if args.id else [each.payment_id for each in await _all(retrying)]
        return [(payment_id, await _retry(retrying, payment_id)) for payment_id in ids]

    outcomes = _with_rooms(settings, work)
    if args.json:
        print(json.dumps([{"id": payment_id, "outcome": said} for payment_id, said in outcomes]))
    else:
        for payment_id, said in outcomes:
            print(f"{payment_id}  {said}")
    return 0


async def _all(retrying: Retrying) -> list[Payment]:
    return await retrying.failed("", LISTED)


async def _retry(retrying: Retrying, payment_id: str) -> str:
    try:
        made = await retrying.retry(payment_id)
    except NotFound:
        raise MissingError(
            f"{payment_id[:80]!r} is not a payment. `greenroom payments list` shows what failed."
        ) from None
    except Problem as problem:
        return f"not tried again: {problem.detail}"
    return f"tried again as {made.payment_id}" if isinstance(made, Payment) else "tried again"


def _with_rooms(settings: Settings, work: Callable[[Retrying], Awaitable[T]]) -> T:
    with database(settings) as url:

        async def run() -> T:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                return await work(rooms.contract.retrying)

        return run_until_sigterm(run())
