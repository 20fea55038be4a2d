"""Lock groups and legs and change them. Each change is written with its history and events."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import asyncpg

from greenroom.bookings import sql
from greenroom.bookings.model import (
    LEG_MOVES,
    UNDER_WAY,
    Group,
    GroupState,
    Leg,
    LegState,
    Stage,
)
from greenroom.bookings.transactions import ContractTransaction, HistoryEntry, NewEvent
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, NotFound

BEGIN = "begin"
"""The timer that puts a confirmed leg in progress at its start."""

SLOT_CONSTRAINT = "leg_slot_taken"

_EVENTS = {state: f"leg.{state.value}" for state in LegState}


async def lock_group(tx: ContractTransaction, group_id: str) -> Group:
    """Lock the group, then all its legs in the order of their ids."""
    row = await tx.conn.fetchrow(sql.LOCK_GROUP, group_id)
    if row is None:
        raise NotFound
    return sql.read_group(row, await tx.conn.fetch(sql.LOCK_LEGS, group_id))


async def lock_leg(tx: ContractTransaction, leg_id: str) -> tuple[Group, Leg]:
    group_id = await tx.conn.fetchval(sql.GROUP_OF_LEG, leg_id)
    if group_id is None:
        raise NotFound
    group = await lock_group(tx, group_id)
    return group, group.leg(leg_id)


async def thread_of(tx: ContractTransaction, group_id: str) -> str | None:
    """Needs no lock, because a group never changes its thread. Callers lock the thread before the
    group."""
    thread_id: str | None = await tx.conn.fetchval(sql.THREAD_OF_GROUP, group_id)
    return thread_id


async def change_group(
    tx: ContractTransaction,
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
        updated_at_ms=tx.now_ms,
    )
    await tx.conn.execute(
        sql.KEEP_GROUP, group.group_id, to, changed.version, failure_code, tx.now_ms
    )
    record_group(tx, changed, group.state, actor=actor, role=role, act=act)
    return changed


def record_group(
    tx: ContractTransaction,
    group: Group,
    from_state: GroupState | None,
    *,
    actor: str | None,
    role: str,
    act: str,
) -> None:
    after = {**asdict(replace(group, legs=())), "legs": [leg.leg_id for leg in group.legs]}
    tx.record(
        HistoryEntry(
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


async def take_slots(tx: ContractTransaction, group: Group) -> Group:
    """Reserve the time of every leg with its seller. Raises ActionConflict at the first one that is
    taken; the caller's transaction then rolls back the others."""
    await tx.conn.execute(sql.TAKE_TURNS, [leg.seller for leg in group.legs])
    for leg in sorted(group.legs, key=lambda leg: leg.leg_id):
        taken = await _keep(tx, leg, holds_slot=True)
        record_leg(tx, taken, leg.state, actor=None, role="server", act="hold_slot")
        group = group.with_leg(taken)
    return group


async def give_slots_back(tx: ContractTransaction, group: Group) -> Group:
    for leg in group.legs:
        if leg.holds_slot:
            given = await _keep(tx, leg, holds_slot=False)
            record_leg(tx, given, leg.state, actor=None, role="server", act="free_slot")
            group = group.with_leg(given)
    return group


async def move_leg(
    tx: ContractTransaction,
    leg: Leg,
    start_ms: int,
    end_ms: int,
    timezone: str | None = None,
    *,
    actor: str | None,
    role: str,
    act: str,
) -> Leg:
    """Change the time of a leg that has not begun. Raises ActionConflict if the seller is not free;
    the transaction can continue after that, because nothing has changed."""
    has_begun = leg.state is LegState.CONFIRMED and leg.start_ms <= tx.now_ms
    if leg.state not in (LegState.PROPOSED, LegState.CONFIRMED) or has_begun:
        state = "begun" if has_begun else leg.state
        raise ActionInvalidState(f"A leg that is {state} does not move.")
    if leg.state is LegState.PROPOSED and leg.holds_slot:
        raise ActionInvalidState(
            "The booking is being confirmed for the time that it has.",
            hint="Wait until its payment is known.",
        )
    if leg.holds_slot:
        await tx.conn.execute(sql.TAKE_TURNS, [leg.seller])
    # A savepoint, so that the transaction can continue after a conflict.
    async with tx.conn.transaction():
        moved = await _keep(
            tx,
            leg,
            start_ms=start_ms,
            end_ms=end_ms,
            timezone=timezone or leg.timezone,
            sequence=leg.sequence + 1,
        )
    record_leg(tx, moved, leg.state, actor=actor, role=role, act=act)
    tx.emit(NewEvent("leg.moved", actor, group_id=leg.group_id, leg_id=leg.leg_id))
    if leg.state is LegState.CONFIRMED:
        tx.set_timer(leg.leg_id, BEGIN, start_ms)
    return moved


async def change_leg_state(
    tx: ContractTransaction,
    leg: Leg,
    to: LegState,
    *,
    actor: str | None,
    role: str,
    act: str,
    **columns: Any,
) -> Leg:
    """`columns` are other fields of the leg that change with its state."""
    if to not in LEG_MOVES[leg.state]:
        raise ActionInvalidState(f"A leg that is {leg.state} does not become {to}.")
    if to is LegState.CANCELLED:
        columns = {"holds_slot": False, "sequence": leg.sequence + 1, **columns}
    changed = await _keep(tx, leg, state=to, **columns)
    record_leg(tx, changed, leg.state, actor=actor, role=role, act=act)
    tx.emit(NewEvent(_EVENTS[to], actor, group_id=leg.group_id, leg_id=leg.leg_id))
    if to is LegState.CONFIRMED:
        tx.set_timer(leg.leg_id, BEGIN, changed.start_ms)
    else:
        tx.end_timer(leg.leg_id, BEGIN)
    return changed


async def change_leg(
    tx: ContractTransaction, leg: Leg, *, actor: str | None, role: str, act: str, **columns: Any
) -> Leg:
    """Change fields other than the state. Emits no event: the caller does, if one is needed."""
    changed = await _keep(tx, leg, **columns)
    record_leg(tx, changed, leg.state, actor=actor, role=role, act=act)
    return changed


async def accept_deliverables(
    tx: ContractTransaction, leg: Leg, *, actor: str | None, role: str
) -> Leg:
    accepted = await change_leg(
        tx,
        leg,
        actor=actor,
        role=role,
        act="accept_deliverables",
        deliverables_accepted_at_ms=tx.now_ms,
    )
    event = NewEvent("leg.deliverables_accepted", actor, group_id=leg.group_id, leg_id=leg.leg_id)
    tx.emit(event)
    return accepted


async def _keep(tx: ContractTransaction, leg: Leg, **changes: Any) -> Leg:
    """Write these fields as the leg's next version. Other fields that were written in the same
    transaction after `leg` was read keep their values."""
    time = changes.pop("start_ms", None), changes.pop("end_ms", None)
    statement = sql.keep_leg(list(changes))
    try:
        row = await tx.conn.fetchrow(statement, leg.leg_id, tx.now_ms, *time, *changes.values())
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
    tx: ContractTransaction,
    leg: Leg,
    from_state: LegState | None,
    *,
    actor: str | None,
    role: str,
    act: str,
) -> None:
    tx.record(
        HistoryEntry(
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


def stage_of_states(of_legs: Iterable[LegState]) -> Stage | None:
    """The stage of a whole booking, as its thread shows it. None: it has no legs."""
    states = set(of_legs)
    if not states:
        return None
    if states == {LegState.CANCELLED}:
        return "cancelled"
    states.discard(LegState.CANCELLED)
    if LegState.DISPUTED in states:
        return "disputed"
    if states == {LegState.COMPLETED}:
        return "completed"
    return "confirmed" if states & UNDER_WAY else "proposed"
