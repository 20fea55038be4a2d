"""Effects on times and legs. The changes of legs themselves are in `bookings/legs.py`."""

from typing import Any

from greenroom.bookings.ending import complete_leg as complete
from greenroom.bookings.legs import accept_deliverables as accept
from greenroom.bookings.legs import change_leg_state, move_leg
from greenroom.bookings.model import LegState
from greenroom.bookings.money.payout_holds import hold_payout
from greenroom.bookings.proposals import check_time as check_leg_time
from greenroom.bookings.proposals import check_timezone
from greenroom.cards.context import EffectContext
from greenroom.cards.registry import effect
from greenroom.cards.sql import MANIFEST_IN_THREAD
from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.kernel.errors import CardInvalid, InvalidRequest
from greenroom.kernel.money import per_hour

DAY_MS = 86_400_000
MINUTE_MS = 60_000
LONGEST_SHARE_MS = DAY_MS
OVERTIME_STEP_MINUTES = 15
MOST_OVERTIME_MINUTES = 24 * 60


def time_of(value: Any, name: str) -> int:
    """Milliseconds of a time in a payload. The schema has checked its form, but not whether the
    date exists."""
    try:
        return parse_rfc3339(value)
    except InvalidRequest:
        raise CardInvalid(f"{name} is not a time that exists.") from None


def _range_of(part: dict[str, Any], now_ms: int) -> tuple[int, int]:
    start_ms, end_ms = time_of(part["start"], "start"), time_of(part["end"], "end")
    if start_ms <= now_ms:
        raise CardInvalid("start must be in the future.")
    try:
        check_leg_time(start_ms, end_ms, now_ms)
    except InvalidRequest as error:
        raise CardInvalid(error.detail) from None
    return start_ms, end_ms


@effect("check_time")
async def check_time(ctx: EffectContext) -> None:
    _range_of(ctx.card.payload, ctx.tx.now_ms)
    try:
        check_timezone(ctx.card.payload["timezone"])
    except InvalidRequest as error:
        raise CardInvalid(error.detail) from None


@effect("set_time", uses_leg=True)
async def set_time(ctx: EffectContext) -> None:
    """Move the card's leg to the agreed time. If there is no leg yet, nothing else changes."""
    if ctx.leg is None:
        return
    start_ms, end_ms = _range_of(ctx.card.payload, ctx.tx.now_ms)
    ctx.leg = await move_leg(
        ctx.tx,
        ctx.leg,
        start_ms,
        end_ms,
        ctx.card.payload["timezone"],
        actor=ctx.actor,
        role=ctx.role,
        act="set_time",
    )


@effect("check_options", uses_leg=True)
async def check_options(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    options = [_range_of(option, ctx.tx.now_ms) for option in ctx.card.payload["options"]]
    ctx.set_totals(
        old_range={
            "start": rfc3339(leg.start_ms),
            "end": rfc3339(leg.end_ms),
            "timezone": leg.timezone,
        },
        latest_start=rfc3339(max(start_ms for start_ms, _ in options)),
    )


@effect("take_option", uses_leg=True)
async def take_option(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    options, option = ctx.card.payload["options"], ctx.input["option"]
    if option >= len(options):
        raise CardInvalid(f"option is the number of one of {len(options)}, counted from 0.")
    start_ms, end_ms = _range_of(options[option], ctx.tx.now_ms)
    ctx.leg = await move_leg(
        ctx.tx, leg, start_ms, end_ms, actor=ctx.actor, role=ctx.role, act="reschedule"
    )
    ctx.set_totals(option=option)


@effect("counter", uses_leg=True)
async def counter(ctx: EffectContext) -> None:
    """Answer with a new card of the same type about the same leg."""
    kept = {name: ctx.card.payload[name] for name in ("leg_id",) if name in ctx.card.payload}
    ctx.answer = {**kept, **ctx.input}


@effect("start_clock")
async def start_clock(ctx: EffectContext) -> None:
    ctx.set_totals(started_at=rfc3339(ctx.tx.now_ms))


@effect("stop_clock")
async def stop_clock(ctx: EffectContext) -> None:
    """Round up to quarters of an hour, at most `MOST_OVERTIME_MINUTES`: the server may have been
    down when the clock should have stopped."""
    started_ms = time_of(ctx.card.totals["started_at"], "started_at")
    begun = -(-(ctx.tx.now_ms - started_ms) // (OVERTIME_STEP_MINUTES * MINUTE_MS))
    minutes = min(max(begun, 1) * OVERTIME_STEP_MINUTES, MOST_OVERTIME_MINUTES)
    ctx.set_totals(
        stopped_at=rfc3339(ctx.tx.now_ms),
        minutes=minutes,
        total_cents=per_hour(ctx.card.payload["rate_cents_per_hour"], minutes),
    )


@effect("check_manifest")
async def check_manifest(ctx: EffectContext) -> None:
    await _check_manifest(ctx, ctx.card.payload["manifest_id"])
    ctx.set_totals(round=1)


@effect("next_round")
async def next_round(ctx: EffectContext) -> None:
    await _check_manifest(ctx, ctx.input["manifest_id"])
    ctx.set_payload(**ctx.input)
    ctx.set_totals(round=ctx.card.totals["round"] + 1)
    ctx.drop_totals(["revision_notes"])


async def _check_manifest(ctx: EffectContext, manifest_id: str) -> None:
    found = await ctx.tx.conn.fetchval(MANIFEST_IN_THREAD, manifest_id, ctx.card.thread_id)
    if found is None:
        raise CardInvalid("There is no such manifest in this thread.")


@effect("note_revision")
async def note_revision(ctx: EffectContext) -> None:
    ctx.set_totals(revision_notes=ctx.input["notes"])


@effect("accept_deliverables", uses_leg=True)
async def accept_deliverables(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    ctx.leg = await accept(ctx.tx, leg, actor=ctx.actor, role=ctx.role)


@effect("complete_leg", uses_leg=True)
async def complete_leg(ctx: EffectContext) -> None:
    group, leg = ctx.booked()
    await complete(ctx.tx, group, leg, actor=ctx.actor, role=ctx.role)


@effect("dispute_leg", uses_leg=True)
async def dispute_leg(ctx: EffectContext) -> None:
    """Dispute the leg, and do not pay its seller until the dispute is over. `totals.payout` is
    `held`, or `sent` if the money had already left."""
    _, leg = ctx.booked()
    leg = await change_leg_state(
        ctx.tx, leg, LegState.DISPUTED, actor=ctx.actor, role=ctx.role, act="dispute"
    )
    ctx.leg = await hold_payout(ctx.tx, leg, "disputed")
    payout = "held" if ctx.leg.payout == "held" else "sent"
    ctx.set_totals(reason=ctx.input["reason"], payout=payout)


@effect("check_until")
async def check_until(ctx: EffectContext) -> None:
    until_ms = time_of(ctx.card.payload["until"], "until")
    if not ctx.tx.now_ms < until_ms <= ctx.tx.now_ms + LONGEST_SHARE_MS:
        raise CardInvalid("until must be in the future, by 24 hours at most.")
