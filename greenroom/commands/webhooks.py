"""`greenroom webhooks`: where events are posted to, and what came of it."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from greenroom.bootstrap import Rooms, database
from greenroom.commands.failures import UsageError
from greenroom.commands.output import show
from greenroom.doctor import MissingError
from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.kernel.errors import NotFound
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings
from greenroom.webhooks.actions import Changes, Replay, Webhooks
from greenroom.webhooks.model import Delivery, Webhook
from greenroom.webhooks.rest import delivery_view, replay_view, webhook_view

T = TypeVar("T")

OUTCOME_S = 15.0
LOOK_S = 0.2


def add(args: argparse.Namespace, settings: Settings) -> int:
    async def work(webhooks: Webhooks) -> dict[str, Any]:
        made = await webhooks.add(
            args.url,
            args.events.split(","),
            include_content=args.include_content,
            description=args.description,
        )
        return await _with_secret(webhooks, made)

    return _show_secret(args, _with_webhooks(settings, work))


def rotate(args: argparse.Namespace, settings: Settings) -> int:
    async def work(webhooks: Webhooks) -> dict[str, Any]:
        return await _with_secret(webhooks, await webhooks.rotate(args.webhook))

    return _show_secret(args, _with_webhooks(settings, work))


async def _with_secret(webhooks: Webhooks, made: object) -> dict[str, Any]:
    assert isinstance(made, Webhook)  # noqa: S101 (no key is given)
    secret = await webhooks.reveal(made.webhook_id, made.secret_version)
    return {**msgspec.to_builtins(webhook_view(made)), "secret": secret}


def _show_secret(args: argparse.Namespace, row: dict[str, Any]) -> int:
    note = f"({row['id']}. It is shown this once.)"
    if row["previous_secret_until"]:
        note = f"({row['id']}. The one before signs too until {row['previous_secret_until']}.)"
    return show(args, row, [row["secret"], note])


def list_all(args: argparse.Namespace, settings: Settings) -> int:
    found = _with_webhooks(settings, lambda webhooks: webhooks.list_all())
    lines = [line for each in found for line in _lines(each)]
    rows = [msgspec.to_builtins(webhook_view(each)) for each in found]
    return show(args, rows, lines or ["there are no webhooks"])


def _lines(webhook: Webhook) -> list[str]:
    state = "enabled"
    if webhook.disabled_at_ms is not None:
        state = f"disabled ({webhook.disabled_reason}) since {rfc3339(webhook.disabled_at_ms)}"
    elif webhook.failing_since_ms is not None:
        state = f"failing since {rfc3339(webhook.failing_since_ms)}"
    lines = [f"{webhook.webhook_id}  {state}  {webhook.url}", f"    {', '.join(webhook.events)}"]
    if webhook.description:
        lines.append(f"    {webhook.description}")
    if webhook.disabled_reason in ("gone", "failing"):
        lines.append(f"    `greenroom webhooks enable {webhook.webhook_id}` goes on with it")
    return lines


def remove(args: argparse.Namespace, settings: Settings) -> int:
    _with_webhooks(settings, lambda webhooks: webhooks.remove(args.webhook))
    return show(args, {"id": args.webhook}, [f"{args.webhook} is removed"])


def enable(args: argparse.Namespace, settings: Settings) -> int:
    changed = _with_webhooks(
        settings, lambda webhooks: webhooks.change(args.webhook, Changes(enabled=True))
    )
    return show(args, msgspec.to_builtins(webhook_view(changed)), _lines(changed))


def test(args: argparse.Namespace, settings: Settings) -> int:
    """Waits for the worker of a running server to post it."""

    async def work(webhooks: Webhooks) -> Delivery:
        made = await webhooks.test(args.webhook)
        assert isinstance(made, Delivery)  # noqa: S101 (no key is given)
        until_s = time.monotonic() + OUTCOME_S
        while made.state == "waiting" and time.monotonic() < until_s:
            await asyncio.sleep(LOOK_S)
            made = await webhooks.delivery(made.delivery_id) or made
        return made

    found = _with_webhooks(settings, work)
    said = "nobody has posted it yet; does a server or a worker run?"
    if found.state != "waiting":
        said = f"{found.state}: {found.error or f'status {found.status}'}, {found.duration_ms} ms"
    show(args, msgspec.to_builtins(delivery_view(found)), [said])
    return 0 if found.state == "delivered" else 1


def replay(args: argparse.Namespace, settings: Settings) -> int:
    async def work(webhooks: Webhooks) -> Replay:
        if args.event is not None:
            made = await webhooks.replay_event(args.webhook, args.event)
        else:
            to_ms = None if args.to is None else parse_rfc3339(args.to, "--to")
            from_ms = parse_rfc3339(args.since, "--since")
            made = await webhooks.replay_span(args.webhook, from_ms, to_ms)
        assert isinstance(made, Replay)  # noqa: S101 (no key is given)
        return made

    if args.event is not None and args.to is not None:
        raise UsageError("--to goes with --since, not with --event.")
    view = replay_view(_with_webhooks(settings, work))
    more = f"; go on with --since {view.next_since}" if view.next_since else ""
    lines = [f"{view.events} events are posted again{more}"]
    return show(args, msgspec.to_builtins(view), lines)


def deliveries(args: argparse.Namespace, settings: Settings) -> int:
    found = _with_webhooks(
        settings,
        lambda webhooks: webhooks.deliveries(args.webhook, args.state, None, args.limit),
    )
    rows = [msgspec.to_builtins(delivery_view(each)) for each in found]
    lines = [_delivery_line(each) for each in found]
    return show(args, rows, lines or ["there are no deliveries"])


def _delivery_line(delivery: Delivery) -> str:
    said = delivery.error or ("" if delivery.status is None else f"status {delivery.status}")
    tried = f"{delivery.attempts} attempts" if delivery.attempts != 1 else "1 attempt"
    again = "" if delivery.next_at_ms is None else f", again {rfc3339(delivery.next_at_ms)}"
    at = rfc3339(delivery.queued_at_ms)
    text = f"{at}  {delivery.state:9}  {delivery.event_id}  {delivery.type}"
    return f"{text}  {tried}{again}  {said}".rstrip()


def _with_webhooks(settings: Settings, work: Callable[[Webhooks], Awaitable[T]]) -> T:
    with database(settings) as url:

        async def run() -> T:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                try:
                    return await work(rooms.webhooks.webhooks)
                except NotFound as problem:
                    text = f"{problem} `greenroom webhooks list` shows what there is."
                    raise MissingError(text) from problem

        return run_until_sigterm(run())
