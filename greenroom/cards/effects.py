"""Effects on times and legs. Each is a few lines; what they do to a leg is the bookings' doing."""

from typing import Any

from greenroom.bookings.ending import complete_leg as complete
from greenroom.bookings.legs import accept_deliverables as accept
from greenroom.bookings.legs import change_leg_state, move_leg
from greenroom.bookings.model import LegState
from greenroom.bookings.money import hold_payout
from greenroom.bookings.proposals import check_time as check_leg_time
from greenroom.bookings.proposals import check_timezone
from greenroom.cards.context import EffectContext
from greenroom.cards.registry import effect
from greenroom.cards.sql_postgres import MANIFEST_IN_THREAD
from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.kernel.errors import CardInvalid, InvalidRequest
from greenroom.kernel.money import per_hour

DAY_MS = 86_400_000
MINUTE_MS = 60_000
LONGEST_SHARE_MS = DAY_MS
OVERTIME_STEP_MINUTES = 15
MOST_OVERTIME_MINUTES = 24 * 60


def time_of(value: Any, name: str) -> int:
    """Milliseconds of a time in a payload. Its form is checked; the calendar is not."""
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
    _range_of(ctx.card.payload, ctx.deed.now_ms)
    try:
        check_timezone(ctx.card.payload["timezone"])
    except InvalidRequest as error:
        raise CardInvalid(error.detail) from None


@effect("set_time", uses_leg=True)
async def set_time(ctx: EffectContext) -> None:
    """Before there is a leg, the two have agreed on a time, and that is all."""
    if ctx.leg is None:
        return
    start_ms, end_ms = _range_of(ctx.card.payload, ctx.deed.now_ms)
    ctx.leg = await move_leg(
        ctx.deed,
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
    options = [_range_of(option, ctx.deed.now_ms) for option in ctx.card.payload["options"]]
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
    start_ms, end_ms = _range_of(options[option], ctx.deed.now_ms)
    ctx.leg = await move_leg(
        ctx.deed, leg, start_ms, end_ms, actor=ctx.actor, role=ctx.role, act="reschedule"
    )
    ctx.set_totals(option=option)


@effect("counter", uses_leg=True)
async def counter(ctx: EffectContext) -> None:
    """Another card of the same type, by the one who counters, about the same leg."""
    kept = {name: ctx.card.payload[name] for name in ("leg_id",) if name in ctx.card.payload}
    ctx.answer = {**kept, **ctx.input}


@effect("start_clock")
async def start_clock(ctx: EffectContext) -> None:
    ctx.set_totals(started_at=rfc3339(ctx.deed.now_ms))


@effect("stop_clock")
async def stop_clock(ctx: EffectContext) -> None:
    """Begun quarters of an hour count whole. A clock that ran on while the server was down has not
    run for longer than a clock may."""
    started_ms = time_of(ctx.card.totals["started_at"], "started_at")
    begun = -(-(ctx.deed.now_ms - started_ms) // (OVERTIME_STEP_MINUTES * MINUTE_MS))
    minutes = min(max(begun, 1) * OVERTIME_STEP_MINUTES, MOST_OVERTIME_MINUTES)
    ctx.set_totals(
        stopped_at=rfc3339(ctx.deed.now_ms),
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
    found = await ctx.deed.conn.fetchval(MANIFEST_IN_THREAD, manifest_id, ctx.card.thread_id)
    if found is None:
        raise CardInvalid("There is no such manifest in this thread.")


@effect("note_revision")
async def note_revision(ctx: EffectContext) -> None:
    ctx.set_totals(revision_notes=ctx.input["notes"])


@effect("accept_deliverables", uses_leg=True)
async def accept_deliverables(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    ctx.leg = await accept(ctx.deed, leg, actor=ctx.actor, role=ctx.role)


@effect("complete_leg", uses_leg=True)
async def complete_leg(ctx: EffectContext) -> None:
    group, leg = ctx.booked()
    await complete(ctx.deed, group, leg, actor=ctx.actor, role=ctx.role)


@effect("dispute_leg", uses_leg=True)
async def dispute_leg(ctx: EffectContext) -> None:
    """The leg is disputed, and its seller is not paid until that is over."""
    _, leg = ctx.booked()
    leg = await change_leg_state(
        ctx.deed, leg, LegState.DISPUTED, actor=ctx.actor, role=ctx.role, act="dispute"
    )
    ctx.leg = await hold_payout(ctx.deed, leg, "disputed")
    ctx.set_totals(reason=ctx.input["reason"])


@effect("check_until")
async def check_until(ctx: EffectContext) -> None:
    until_ms = time_of(ctx.card.payload["until"], "until")
    if not ctx.deed.now_ms < until_ms <= ctx.deed.now_ms + LONGEST_SHARE_MS:
        raise CardInvalid("until must be in the future, by 24 hours at most.")
