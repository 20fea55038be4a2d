"""`greenroom events list`: what the event log contains."""

import argparse
import json
from typing import Any

from greenroom.bootstrap import database
from greenroom.events.log import EventLog
from greenroom.events.model import LoggedEvent
from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.platform.bus.port import LonelyBus
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.postgres.pool import open_pool
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings


def list_events(args: argparse.Namespace, settings: Settings) -> int:
    since_ms = None if args.since is None else parse_rfc3339(args.since, "--since")
    with database(settings) as url:

        async def run() -> list[LoggedEvent]:
            await migrate(url)
            timeout_ms = settings.limits.statement_timeout_ms
            pool = await open_pool(url, min_size=1, max_size=1, statement_timeout_ms=timeout_ms)
            try:
                return await _find(EventLog(pool, LonelyBus()), args, since_ms)
            finally:
                await pool.close()

        events = run_until_sigterm(run())
    if args.json:
        print(json.dumps([_row(each) for each in events], indent=2))
        return 0
    for each in events:
        ids = [each.actor, each.message_id, each.group_id, each.leg_id, each.card_id]
        where = "" if each.thread_id is None else f"{each.thread_id} {each.thread_number}"
        rest = " ".join(part for part in (where, *ids) if part)
        print(f"{each.position}  {rfc3339(each.at_ms)}  {each.type}  {each.event_id}  {rest}")
    if not events:
        print("the event log contains no such event")
    return 0


async def _find(log: EventLog, args: argparse.Namespace, since_ms: int | None) -> list[LoggedEvent]:
    types = None if args.type is None else [args.type]
    after = 0 if since_ms is None else await log.position_at(since_ms)
    if args.thread is not None:
        return await log.of_thread(args.thread, after, args.limit, types=types)
    if since_ms is not None:
        return await log.read(after, args.limit, types=types)
    return await log.latest(args.limit, types=types)


def _row(event: LoggedEvent) -> dict[str, Any]:
    money = event.money
    return {
        "position": event.position,
        "id": event.event_id,
        "type": event.type,
        "at": rfc3339(event.at_ms),
        "actor": event.actor,
        "thread_id": event.thread_id,
        "thread_number": event.thread_number,
        "message_id": event.message_id,
        "group_id": event.group_id,
        "leg_id": event.leg_id,
        "card_id": event.card_id,
        "amount_cents": None if money is None else money.amount_cents,
        "currency": None if money is None else money.currency,
        "data": event.data,
    }
