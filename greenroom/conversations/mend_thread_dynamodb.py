"""Setting right what is derived from a thread, by changes of the thread like any other.

A row that can take a change is told how it is counted anew. One that cannot is made anew beside the
thread, without a number in the feed; that it has none says that its person is still to be told,
whoever comes to it after a crash.
"""

import msgspec

from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.check_thread_dynamodb import Look, ThreadLooks, row_differences
from greenroom.conversations.keys_dynamodb import pair_key, pointer_key, row_key
from greenroom.conversations.membership_dynamodb import LEFT
from greenroom.conversations.model import EventType
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.rows_dynamodb import (
    INBOX,
    Left,
    Packed,
    Row,
    after,
    beside,
    row_item,
)
from greenroom.conversations.states_dynamodb import ThreadState, row_copy
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.upkeep import Fault
from greenroom.platform.dynamodb.table import UNLESS_THERE, Delete, Key, Put
from greenroom.platform.dynamodb.values import Item

PEOPLE_AT_ONCE = 30
"""Three items for each of them at most: a transaction takes a hundred."""
ROUNDS = 20


class ThreadMending:
    def __init__(self, threads: Threads, blocks: Blocks, looks: ThreadLooks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._looks = looks

    async def mend(self, thread_id: str, faults: list[Fault]) -> None:
        kinds = {fault.kind for fault in faults}
        if "thread_missing" in kinds:
            return
        for _ in range(ROUNDS):
            # What is wrong in the table may be right in memory, and the other way round.
            self._threads.forget(thread_id)
            if not await self._threads.change(thread_id, self._decide):
                break
        state = await self._threads.read(thread_id)
        if "block_copy" in kinds and state is not None:
            look = await self._looks.look(state)
            for pair in sorted(look.blocks ^ state.blocks):
                await self._blocks.settle(*pair)

    async def _decide(self, change: Change) -> bool:
        """Whether another round is needed."""
        look = await self._looks.look(change.state)
        for user in look.on_their_way:
            await self._threads.projector.row(change.state.id, user, change.state.members[user].ver)
        if look.on_their_way:
            look = await self._looks.look(change.state)
        state = _righted(look)
        if state != change.state:
            change.state = state
        _mend_links(change, look)
        remade = [user for user in look.people() if look.must_be_remade(user)][:PEOPLE_AT_ONCE]
        for user in remade:
            _remake(change, look, user)
        if not remade:
            _tell(change, look)
        return bool(remade) or len(look.state.members) - len(look.pointed_at) > PEOPLE_AT_ONCE


def _righted(look: Look) -> ThreadState:
    state = look.count.righted()
    for user in state.active():
        if look.belongs(user) and not state.members[user].knows:
            state = state.with_member(user, knows=True)
    return state


def _mend_links(change: Change, look: Look) -> None:
    state, pair = look.state, look.state.pair()
    missing = sorted(set(state.members) - look.pointed_at)[:PEOPLE_AT_ONCE]
    change.writes += [Put(_item(pointer_key(user, state.id))) for user in missing]
    if pair is not None and not look.is_listed:
        change.writes.append(Put({**_item(pair_key(*pair, state.started_n)), "th": state.id}))
    # Nobody in the thread, so nobody who could be told: they see the row in lists only.
    strays = [user for user in look.rows if user not in state.members][:PEOPLE_AT_ONCE]
    change.writes += [Delete(row_key(state.id, user)) for user in strays]


def _remake(change: Change, look: Look, user: str) -> None:
    """The row as it must be, at the version that this change makes."""
    before, ver = look.rows.get(user), change.before.ver + 1
    packed = _packed(look, user) if look.belongs(user) else None
    must_tell = packed is not None or look.packed(user) is not None
    row = Row(look.state.id, user, ver, 0 if must_tell else 1, packed)
    condition, values = UNLESS_THERE, None
    if before is not None:
        condition, values = "ver = :ver", {":ver": before.ver}
    change.writes.append(Put(row_item(row), condition, values))
    change.state = change.state.with_member(user, ver=ver)


def _packed(look: Look, user: str) -> Packed:
    """What they have done with the row themselves stays, where it is known."""
    state, member = look.state, look.state.members[user]
    fresh = Packed(state.kind, INBOX, state.last_message_ms)
    packed = msgspec.structs.replace(
        look.packed(user) or fresh,
        read_id=member.read_id,
        read_ms=member.read_ms,
        floor=member.floor,
        thread=row_copy(state),
    )
    packed = beside(packed, user, state.kind, state.stands)
    counted = after(packed, look.count.row(user, packed), user, state.kind)
    assert counted is not None  # noqa: S101 (only who leaves has none)
    return counted


def _tell(change: Change, look: Look) -> None:
    for user in look.people():
        if user not in look.state.members or not row_differences(look, user):
            continue
        packed = look.packed(user)
        if packed is None or not look.belongs(user):
            change.tell([user], EventType.THREAD_CHANGED, Left(), message_id=LEFT)
            continue
        is_new = not look.rows[user].n
        event = EventType.THREAD_CHANGED if is_new else EventType.INBOX_CHANGED
        change.shows_thread = True
        change.tell([user], event, look.count.row(user, packed))


def _item(key: Key) -> Item:
    return {"pk": key[0], "sk": key[1]}
