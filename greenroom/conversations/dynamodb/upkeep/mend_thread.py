"""Repairs what is derived from a thread, by ordinary changes of the thread.

A row that is at the right version gets a `Recounted` change. Another row is written again in the
same transaction as the thread, with feed number 0. The 0 means that the person has no event of it
yet; the next round, also after a crash, sends one.
"""

import msgspec

from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.membership import LEFT
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import pair_key, pointer_key, row_key
from greenroom.conversations.dynamodb.items.rows import (
    Left,
    Packed,
    Row,
    RowSettings,
    apply_row_change,
    row_item,
    with_standing,
)
from greenroom.conversations.dynamodb.items.threads import StoredThread, row_copy
from greenroom.conversations.dynamodb.upkeep.check_thread import (
    ThreadCheck,
    ThreadCopies,
    bounded_mute,
    row_differences,
)
from greenroom.conversations.inbox import Placement
from greenroom.conversations.model import EventType
from greenroom.conversations.upkeep import Fault
from greenroom.platform.dynamodb.table import UNLESS_THERE, Delete, Key, Put
from greenroom.platform.dynamodb.values import Item

PEOPLE_AT_ONCE = 30
"""At most three items for each; a transaction takes a hundred."""
ROUNDS = 20


class ThreadMending:
    def __init__(self, threads: Threads, blocks: Blocks, check: ThreadCheck) -> None:
        self._threads = threads
        self._blocks = blocks
        self._check = check

    async def mend(self, thread_id: str, faults: list[Fault]) -> None:
        kinds = {fault.kind for fault in faults}
        if "thread_missing" in kinds:
            return
        for _ in range(ROUNDS):
            # The cached state may differ from the table, which is what is repaired.
            self._threads.uncache(thread_id)
            if not await self._threads.change(thread_id, self._decide):
                break
        state = await self._threads.read(thread_id)
        if "block_copy" in kinds and state is not None:
            copies = await self._check.read(state)
            for pair in sorted(copies.blocks ^ state.blocks):
                await self._blocks.settle(*pair)

    async def _decide(self, change: Change) -> bool:
        """Returns whether another round is needed."""
        copies = await self._check.read(change.state)
        for user in copies.on_their_way:
            await self._threads.projector.row(change.state.id, user, change.state.members[user].ver)
        if copies.on_their_way:
            copies = await self._check.read(change.state)
        state = _corrected(copies)
        if state != change.state:
            change.state = state
        _mend_links(change, copies)
        remade = [user for user in copies.people() if copies.must_be_remade(user)][:PEOPLE_AT_ONCE]
        for user in remade:
            _remake(change, copies, user)
        is_more = len(copies.state.members) - len(copies.pointed_at) > PEOPLE_AT_ONCE
        if remade:
            return True
        return _notify(change, copies) or is_more


def _corrected(copies: ThreadCopies) -> StoredThread:
    state = copies.count.corrected()
    for user in state.active():
        if copies.belongs(user) and not state.members[user].knows:
            state = state.with_member(user, knows=True)
    return state


def _mend_links(change: Change, copies: ThreadCopies) -> None:
    state, pair = copies.state, copies.state.pair()
    missing = sorted(set(state.members) - copies.pointed_at)[:PEOPLE_AT_ONCE]
    change.writes += [Put(_item(pointer_key(user, state.id))) for user in missing]
    if pair is not None and not copies.is_listed:
        change.writes.append(Put({**_item(pair_key(*pair, state.started_n)), "th": state.id}))
    # Rows of people who are not members: there is nobody to notify, so they are just deleted.
    strays = [user for user in copies.rows if user not in state.members][:PEOPLE_AT_ONCE]
    change.writes += [Delete(row_key(state.id, user)) for user in strays]


def _remake(change: Change, copies: ThreadCopies, user: str) -> None:
    """Write the correct row, at the version of this change."""
    before, ver = copies.rows.get(user), change.before.ver + 1
    packed = _packed(copies, user) if copies.belongs(user) else None
    must_tell = packed is not None or copies.packed(user) is not None
    row = Row(copies.state.id, user, ver, 0 if must_tell else 1, packed)
    condition, values = UNLESS_THERE, None
    if before is not None:
        condition, values = "ver = :ver", {":ver": before.ver}
    change.writes.append(Put(row_item(row), condition, values))
    change.state = change.state.with_member(user, ver=ver)


def _packed(copies: ThreadCopies, user: str) -> Packed:
    """The person's own settings are kept if they are known."""
    state, member = copies.state, copies.state.members[user]
    fresh = Packed(state.kind, Placement.INBOX, state.last_message_ms)
    before = copies.packed(user) or fresh
    packed = msgspec.structs.replace(
        before,
        muted_until_ms=bounded_mute(before),
        read_id=member.read_id,
        read_ms=member.read_ms,
        floor=member.floor,
        thread=row_copy(state),
    )
    packed = with_standing(packed, user, state.kind, state.standing)
    counted = apply_row_change(packed, copies.count.row(user, packed), user, state.kind)
    assert counted is not None  # noqa: S101 (only who leaves has none)
    return counted


def _notify(change: Change, copies: ThreadCopies) -> bool:
    """Notify people of the corrected rows. Returns whether another round is needed, because
    somebody's row needs two changes."""
    is_partial = False
    for user in copies.people():
        if user not in copies.state.members or not row_differences(copies, user):
            continue
        packed = copies.packed(user)
        if packed is None or not copies.belongs(user):
            change.notify([user], EventType.THREAD_CHANGED, Left(), message_id=LEFT)
            continue
        is_new = not copies.rows[user].n
        event = EventType.THREAD_CHANGED if is_new else EventType.INBOX_CHANGED
        change.shows_thread = True
        muted_ms = bounded_mute(packed)
        if muted_ms != packed.muted_until_ms:
            own = RowSettings(packed.placement, packed.pinned, packed.starred, muted_ms)
            change.notify([user], event, own)
            is_partial = len(row_differences(copies, user)) > 1
        else:
            change.notify([user], event, copies.count.row(user, packed))
    return is_partial


def _item(key: Key) -> Item:
    return {"pk": key[0], "sk": key[1]}
