"""Groups and legs under their locks, and every change of theirs: kept, recorded and told."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import asyncpg

from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.deeds import Deed, Step, Told
from greenroom.bookings.model import (
    LEG_MOVES,
    UNDER_WAY,
    Group,
    GroupState,
    Leg,
    LegState,
    Stage,
)
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, NotFound

BEGIN = "begin"
"""The timer that puts a confirmed leg in progress at its start."""

SLOT_CONSTRAINT = "leg_slot_taken"

_EVENTS = {state: f"leg.{state.value}" for state in LegState}


async def lock_group(deed: Deed, group_id: str) -> Group:
    """The group and all its legs, locked: first the group, then the legs, sorted."""
    row = await deed.conn.fetchrow(sql.LOCK_GROUP, group_id)
    if row is None:
        raise NotFound
    return sql.read_group(row, await deed.conn.fetch(sql.LOCK_LEGS, group_id))


async def lock_leg(deed: Deed, leg_id: str) -> tuple[Group, Leg]:
    group_id = await deed.conn.fetchval(sql.GROUP_OF_LEG, leg_id)
    if group_id is None:
        raise NotFound
    group = await lock_group(deed, group_id)
    return group, group.leg(leg_id)


async def thread_of(deed: Deed, group_id: str) -> str | None:
    """Without a lock: a group never changes its thread, and threads are locked before groups."""
    thread_id: str | None = await deed.conn.fetchval(sql.THREAD_OF_GROUP, group_id)
    return thread_id


async def change_group(
    deed: Deed,
    group: Group,
    to: GroupState,
    *,
    actor: str | None,
    role: str,
    act: str,
    failure_code: str | None = None,
) -> Group:
    changed = replace(
        group,
        state=to,
        version=group.version + 1,
        failure_code=failure_code,
        updated_at_ms=deed.now_ms,
    )
    await deed.conn.execute(
        sql.KEEP_GROUP, group.group_id, to, changed.version, failure_code, deed.now_ms
    )
    record_group(deed, changed, group.state, actor=actor, role=role, act=act)
    return changed


def record_group(
    deed: Deed,
    group: Group,
    from_state: GroupState | None,
    *,
    actor: str | None,
    role: str,
    act: str,
) -> None:
    after = {**asdict(replace(group, legs=())), "legs": [leg.leg_id for leg in group.legs]}
    deed.record(
        Step(
            subject=group.group_id,
            version=group.version,
            chain=group.group_id,
            actor=actor,
            role=role,
            act=act,
            from_state=from_state,
            to_state=group.state,
            after=after,
        )
    )


async def take_slots(deed: Deed, group: Group) -> Group:
    """Every leg takes its time of its seller, or none does: raises ActionConflict for the first
    that is taken, and leaves the rest to the transaction's end."""
    await deed.conn.execute(sql.TAKE_TURNS, [leg.seller for leg in group.legs])
    for leg in sorted(group.legs, key=lambda leg: leg.leg_id):
        taken = await _keep(deed, leg, holds_slot=True)
        record_leg(deed, taken, leg.state, actor=None, role="server", act="hold_slot")
        group = group.with_leg(taken)
    return group


async def give_slots_back(deed: Deed, group: Group) -> Group:
    for leg in group.legs:
        if leg.holds_slot:
            given = await _keep(deed, leg, holds_slot=False)
            record_leg(deed, given, leg.state, actor=None, role="server", act="free_slot")
            group = group.with_leg(given)
    return group


async def move_leg(
    deed: Deed,
    leg: Leg,
    start_ms: int,
    end_ms: int,
    timezone: str | None = None,
    *,
    actor: str | None,
    role: str,
    act: str,
) -> Leg:
    """Another time for a leg that has not begun. When the seller's time is taken: ActionConflict,
    and the deed can go on as if this had not been tried."""
    if leg.state not in (LegState.PROPOSED, LegState.CONFIRMED):
        raise ActionInvalidState(f"A leg that is {leg.state} does not move.")
    if leg.holds_slot:
        await deed.conn.execute(sql.TAKE_TURNS, [leg.seller])
    # A savepoint: whoever is refused a slot can still say so in the same transaction.
    async with deed.conn.transaction():
        moved = await _keep(
            deed,
            leg,
            start_ms=start_ms,
            end_ms=end_ms,
            timezone=timezone or leg.timezone,
            sequence=leg.sequence + 1,
        )
    record_leg(deed, moved, leg.state, actor=actor, role=role, act=act)
    deed.tell(Told("leg.moved", actor, group_id=leg.group_id, leg_id=leg.leg_id))
    if leg.state is LegState.CONFIRMED:
        deed.set_timer(leg.leg_id, BEGIN, start_ms)
    return moved


async def change_leg_state(
    deed: Deed, leg: Leg, to: LegState, *, actor: str | None, role: str, act: str, **columns: Any
) -> Leg:
    """`columns` are other fields of the leg that change with its state."""
    if to not in LEG_MOVES[leg.state]:
        raise ActionInvalidState(f"A leg that is {leg.state} does not become {to}.")
    if to is LegState.CANCELLED:
        columns = {"holds_slot": False, "sequence": leg.sequence + 1, **columns}
    changed = await _keep(deed, leg, state=to, **columns)
    record_leg(deed, changed, leg.state, actor=actor, role=role, act=act)
    deed.tell(Told(_EVENTS[to], actor, group_id=leg.group_id, leg_id=leg.leg_id))
    if to is LegState.CONFIRMED:
        deed.set_timer(leg.leg_id, BEGIN, changed.start_ms)
    else:
        deed.end_timer(leg.leg_id, BEGIN)
    return changed


async def change_leg(
    deed: Deed, leg: Leg, *, actor: str | None, role: str, act: str, **columns: Any
) -> Leg:
    """Other fields than its state. Nothing is told; the caller knows what it means."""
    changed = await _keep(deed, leg, **columns)
    record_leg(deed, changed, leg.state, actor=actor, role=role, act=act)
    return changed


async def accept_deliverables(deed: Deed, leg: Leg, *, actor: str | None, role: str) -> Leg:
    accepted = await change_leg(
        deed,
        leg,
        actor=actor,
        role=role,
        act="accept_deliverables",
        deliverables_accepted_at_ms=deed.now_ms,
    )
    told = Told("leg.deliverables_accepted", actor, group_id=leg.group_id, leg_id=leg.leg_id)
    deed.tell(told)
    return accepted


async def _keep(deed: Deed, leg: Leg, **changes: Any) -> Leg:
    """Write what changes as the leg's next version. What else was written since `leg` was read, in
    the same deed, stays."""
    time = changes.pop("start_ms", None), changes.pop("end_ms", None)
    statement = sql.keep_leg(list(changes))
    try:
        row = await deed.conn.fetchrow(statement, leg.leg_id, deed.now_ms, *time, *changes.values())
    except asyncpg.ExclusionViolationError as violation:
        if violation.constraint_name != SLOT_CONSTRAINT:
            raise
        raise ActionConflict(
            f"The seller of {leg.leg_id} is not free at that time.", extra={"leg_id": leg.leg_id}
        ) from None
    if row is None:
        raise NotFound
    return sql.read_leg(row)


def record_leg(
    deed: Deed, leg: Leg, from_state: LegState | None, *, actor: str | None, role: str, act: str
) -> None:
    deed.record(
        Step(
            subject=leg.leg_id,
            version=leg.version,
            chain=leg.group_id,
            actor=actor,
            role=role,
            act=act,
            from_state=from_state,
            to_state=leg.state,
            after=asdict(leg),
        )
    )


def stage_of(group: Group) -> Stage | None:
    """How the booking stands as a whole, for its thread."""
    return stage_of_states(leg.state for leg in group.legs)


def stage_of_states(of_legs: Iterable[LegState]) -> Stage | None:
    states = set(of_legs)
    if states == {LegState.CANCELLED}:
        return "cancelled"
    states.discard(LegState.CANCELLED)
    if LegState.DISPUTED in states:
        return "disputed"
    if states == {LegState.COMPLETED}:
        return "completed"
    return "confirmed" if states & UNDER_WAY else None
