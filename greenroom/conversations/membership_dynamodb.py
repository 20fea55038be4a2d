"""Who is in a thread on DynamoDB, what it is bound to, and what someone does with their own row."""

from dataclasses import replace

from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.keys_dynamodb import pair_key, pointer_key
from greenroom.conversations.model import PARTIES, EventType, Role, Thread, ThreadKind
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.rows_dynamodb import ARCHIVED, INBOX, Arranged, Joined, Left
from greenroom.conversations.states_dynamodb import Member, ThreadState
from greenroom.conversations.store import InboxChanges
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    MsgBlockedByUser,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.platform.dynamodb.table import Delete, Put
from greenroom.platform.idempotency import Kept, Once

# In the place of a message id: this `thread.changed` is the last of someone who left. It stays so
# when they come back, or a client that was away all the while would keep what is not theirs.
LEFT = ""


class Membership:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks

    async def arrange(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        async def decide(change: Change) -> Thread:
            if not change.state.sees(viewer):
                raise ThreadNotFound
            row = (await self._threads.row_before(viewer, change)).packed
            if row is None:
                raise ThreadNotFound
            before = Arranged(row.placement, row.pinned, row.starred, row.muted_until_ms)
            arranged = _arranged(before, changes)
            if arranged != before:
                change.tell([viewer], EventType.INBOX_CHANGED, arranged, actor=viewer)
            return await self._threads.shown_after(viewer, change)

        thread = await self._threads.change(thread_id, decide)
        assert isinstance(thread, Thread)  # noqa: S101 (there was no key)
        return thread

    async def add(
        self, by: str | None, thread_id: str, user: str, role: Role, once: Once | None
    ) -> Thread | Kept:
        async def decide(change: Change) -> Thread:
            state = change.state
            known = await self._blocks.around(user, state.members)
            if by is not None:
                if not state.sees(by):
                    raise ThreadNotFound
                if state.members[by].role not in PARTIES:
                    raise Forbidden("Only the buyer and the seller bring others in.")
                if (by, user) in known.pairs:
                    raise MsgBlockedByUser
            if user not in state.active():
                if len(state.active()) >= self._threads.limits.participants:
                    raise ActionInvalidState("This thread is full.")
                change.state = replace(state, blocks=state.blocks | known.pairs)
                self._join(change, by, user, role)
                change.writes.append(known.unchanged())
            return await self._threads.shown_after(by, change)

        return await self._threads.change(thread_id, decide, once)

    def _join(self, change: Change, by: str | None, user: str, role: Role) -> None:
        before, now_ms = change.state, change.now_ms
        # Someone who blocked the one who adds them learns of the thread from the others only.
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
        self._follow_pair(change, before)
        pk, sk = pointer_key(user, before.id)
        change.writes.append(Put({"pk": pk, "sk": sk}))
        change.shows_thread = True
        others = [each for each in change.state.viewers() if each != user]
        change.tell(others, EventType.THREAD_CHANGED, actor=by)
        if knows:
            joined = Joined(now_ms, floor)
            change.tell([user], EventType.THREAD_CHANGED, joined, actor=by)
        change.say(by, "participant.added", user_id=user, role=role)

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
            self._follow_pair(change, before)
            if saw:
                change.tell([user], EventType.THREAD_CHANGED, Left(), message_id=LEFT, actor=by)
            change.tell_all(by)
            code = "participant.left" if by == user else "participant.removed"
            change.say(by, code, user_id=user)

        await self._threads.change(thread_id, decide)

    def _follow_pair(self, change: Change, before: ThreadState) -> None:
        """The list of threads of two people follows who is in them."""
        was, now = before.pair(), change.state.pair()
        if was is not None and now is None:
            change.writes.append(Delete(pair_key(*was, before.started_n)))
        if now is not None and was is None:
            pk, sk = pair_key(*now, before.started_n)
            change.writes.append(Put({"pk": pk, "sk": sk, "th": before.id}))

    def promotion(self, change: Change, group_id: str | None, leg_id: str | None) -> None:
        """Make it part of the change that the thread becomes a project, once."""
        state = change.state
        if state.kind in (ThreadKind.INQUIRY, ThreadKind.INVITE):
            change.state = replace(
                state,
                kind=ThreadKind.PROJECT.value,
                group_id=group_id,
                leg_id=leg_id,
                updated_at_ms=change.now_ms,
            )
            booking = {"group_id": group_id, "leg_id": leg_id}
            change.tell_all(None)
            change.say(None, "thread.promoted", **booking)
            change.publish("thread.promoted_to_project", None, data=booking)
        elif (state.kind, state.group_id, state.leg_id) != ("project", group_id, leg_id):
            raise ActionInvalidState("Only an inquiry or invite becomes a project, once.")


def _arranged(before: Arranged, changes: InboxChanges) -> Arranged:
    placement = before.placement
    if changes.archived and placement == INBOX:
        placement = ARCHIVED
    if changes.archived is False and placement == ARCHIVED:
        placement = INBOX
    return Arranged(
        placement,
        before.pinned if changes.pinned is None else changes.pinned,
        before.starred if changes.starred is None else changes.starred,
        changes.muted_until_ms if changes.sets_muted else before.muted_until_ms,
    )


def _check_may_remove(role: str, of_role: str) -> None:
    if role not in PARTIES or of_role in PARTIES:
        raise Forbidden("The buyer and the seller remove others, not each other.")
