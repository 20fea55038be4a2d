"""Adding and removing participants on DynamoDB, binding a thread to a booking, inbox settings."""

from dataclasses import replace

import msgspec

from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import pair_key, pointer_key
from greenroom.conversations.dynamodb.items.rows import Joined, Left, RowSettings
from greenroom.conversations.dynamodb.items.threads import Member, StoredThread
from greenroom.conversations.inbox import InboxChanges, Placement
from greenroom.conversations.model import (
    EARLIER_BOOKINGS,
    PARTIES,
    BookingRef,
    EventType,
    Role,
    Thread,
    ThreadKind,
    check_promotion,
    check_takes_people,
    promotion_said,
)
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    MsgBlockedByUser,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.platform.dynamodb.table import Delete, Put
from greenroom.platform.idempotency import Kept, Once

# Stored instead of a message id with the last `thread.changed` of someone who left. It keeps its
# meaning when they come back: a client that was offline all the time must drop what it had.
LEFT = ""


class Membership:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks

    async def set_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        async def decide(change: Change) -> Thread:
            if not change.state.sees(viewer):
                raise ThreadNotFound
            row = (await self._threads.row_before(viewer, change)).packed
            if row is None:
                raise ThreadNotFound
            before = RowSettings(row.placement, row.pinned, row.starred, row.muted_until_ms)
            arranged = _changed_settings(before, changes)
            if arranged != before:
                change.notify([viewer], EventType.INBOX_CHANGED, arranged, actor=viewer)
            return await self._threads.view_after(viewer, change)

        thread = await self._threads.change(thread_id, decide)
        assert isinstance(thread, Thread)  # noqa: S101 (there was no key)
        return thread

    async def add(
        self, by: str | None, thread_id: str, user: str, role: Role, once: Once | None
    ) -> Thread | Kept:
        async def decide(change: Change) -> Thread:
            state = change.state
            known = await self._blocks.known_blocks(user, state.members)
            if by is not None:
                if not state.sees(by):
                    raise ThreadNotFound
                if state.members[by].role not in PARTIES:
                    raise Forbidden("Only the buyer and the seller bring others in.")
                if (by, user) in known.pairs:
                    raise MsgBlockedByUser
            check_takes_people(state.kind)
            if user not in state.active():
                if len(state.active()) >= self._threads.limits.participants:
                    raise ActionInvalidState("This thread is full.")
                change.state = replace(state, blocks=state.blocks | known.pairs)
                self._join(change, by, user, role)
                change.writes.append(known.unchanged())
            return await self._threads.view_after(by, change)

        return await self._threads.change(thread_id, decide, once)

    def _join(self, change: Change, by: str | None, user: str, role: Role) -> None:
        before, now_ms = change.state, change.now_ms
        # If they blocked the one who adds them, they see the thread when somebody else writes.
        knows = by is None or not before.is_between(by, user)
        was = before.members.get(user)
        floor = before.last_message_id
        member = Member(
            role, "active", knows, now_ms, floor=floor, read_id=floor, ver=was.ver if was else 0
        )
        if was is not None:
            member = replace(member, blocked_until_ms=was.blocked_until_ms)
        members = {**before.members, user: member}
        change.state = replace(before, members=members, updated_at_ms=now_ms)
        self.update_pair_list(change, before)
        pk, sk = pointer_key(user, before.id)
        change.writes.append(Put({"pk": pk, "sk": sk}))
        change.shows_thread = True
        others = [each for each in change.state.viewers() if each != user]
        change.notify(others, EventType.THREAD_CHANGED, actor=by)
        if knows:
            joined = Joined(now_ms, floor)
            change.notify([user], EventType.THREAD_CHANGED, joined, actor=by)
        change.append_notice(by, "participant.added", user_id=user, role=role)
        change.publish("participant.added", by, data={"user_id": user, "role": role})

    async def remove(self, by: str | None, thread_id: str, user: str) -> None:
        async def decide(change: Change) -> None:
            before = change.state
            if by is not None and not before.sees(by):
                raise ThreadNotFound
            if user not in before.active():
                raise UserNotFound("This person is not in the thread.")
            if by is not None and by != user:
                _check_may_remove(before.members[by].role, before.members[user].role)
            saw = before.sees(user)
            change.state = replace(
                before.with_member(user, status="left", knows=False),
                updated_at_ms=change.now_ms,
            )
            self.update_pair_list(change, before)
            if saw:
                change.notify([user], EventType.THREAD_CHANGED, Left(), message_id=LEFT, actor=by)
            change.notify_all(by)
            code = "participant.left" if by == user else "participant.removed"
            change.append_notice(by, code, user_id=user)
            change.publish(code, by, data={"user_id": user})

        await self._threads.change(thread_id, decide)

    def update_pair_list(self, change: Change, before: StoredThread) -> None:
        """Keep the list of threads of only two people up to date."""
        was, now = before.pair(), change.state.pair()
        if was is not None and now is None:
            change.writes.append(Delete(pair_key(*was, before.started_n)))
        if now is not None and was is None:
            pk, sk = pair_key(*now, before.started_n)
            change.writes.append(Put({"pk": pk, "sk": sk, "th": before.id}))

    def add_promotion(self, change: Change, booking: BookingRef, *, follows: bool = False) -> None:
        """Add to the change that the thread is bound to this booking."""
        state = change.state
        is_project = state.kind == ThreadKind.PROJECT
        before = BookingRef(state.group_id, state.leg_id)
        if is_project and before == booking:
            return
        check_promotion(state.kind, state.standing.stage, follows=follows)
        change.state = replace(
            state,
            kind=ThreadKind.PROJECT.value,
            group_id=booking.group_id,
            leg_id=booking.leg_id,
            updated_at_ms=change.now_ms,
        )
        if is_project:
            earlier = (*state.bookings, before)[-EARLIER_BOOKINGS:]
            standing = msgspec.structs.replace(state.standing, stage=None)
            change.state = replace(change.state, bookings=earlier, standing=standing)
        change.notify_all(None)
        code, event = promotion_said(is_project=is_project)
        change.append_notice(None, code, **booking._asdict())
        change.publish(event, None, data=booking._asdict())


def _changed_settings(before: RowSettings, changes: InboxChanges) -> RowSettings:
    placement = before.placement
    if changes.archived and placement == Placement.INBOX:
        placement = Placement.ARCHIVED
    if changes.archived is False and placement == Placement.ARCHIVED:
        placement = Placement.INBOX
    return RowSettings(
        placement,
        before.pinned if changes.pinned is None else changes.pinned,
        before.starred if changes.starred is None else changes.starred,
        changes.muted_until_ms if changes.sets_muted else before.muted_until_ms,
    )


def _check_may_remove(role: str, of_role: str) -> None:
    if role not in PARTIES or of_role in PARTIES:
        raise Forbidden("The buyer and the seller remove others, not each other.")
