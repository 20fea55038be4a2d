"""One thread against its messages, its people's rows, and what points at it.

A thread is compared as of one version: it is read before and after everything else, and if somebody
has changed it meanwhile, all is read again. Rows follow their thread a moment later; one that is
behind while the record of the change is there is on its way, and is nobody's fault.
"""

import asyncio
from dataclasses import dataclass, field

from greenroom.conversations.blocks_dynamodb import Blocks, Known, note_key
from greenroom.conversations.keys_dynamodb import (
    PARTICIPANTS,
    outbox_key,
    outbox_sort,
    pair_key,
    pointer_key,
    row_key,
    thread_partition,
)
from greenroom.conversations.model import Thread
from greenroom.conversations.projection_dynamodb import AT_ONCE, pause
from greenroom.conversations.recount_dynamodb import FAULTS_AT_ONCE, Recount
from greenroom.conversations.rows_dynamodb import (
    Packed,
    Row,
    beside,
    inbox_row,
    row_from,
    row_item,
)
from greenroom.conversations.states_dynamodb import (
    PublicThread,
    ThreadState,
    public_thread,
    thread_for,
)
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.upkeep import Fault
from greenroom.conversations.walks_dynamodb import messages_of
from greenroom.platform.dynamodb.table import Key
from greenroom.platform.dynamodb.values import Item

LOOKS = 12

Pair = tuple[str, str]
Difference = tuple[str, str, str]
"""What kind it is, what was found, and what is right."""


@dataclass(slots=True)
class Look:
    """A thread at one version, and everything that is derived from it or copied onto it."""

    state: ThreadState
    count: Recount
    items: dict[str, Item] = field(default_factory=dict)
    """Rows by their user."""
    rows: dict[str, Row] = field(default_factory=dict)
    on_their_way: set[str] = field(default_factory=set)
    """Users whose rows are yet to take a change that is recorded."""
    pointed_at: set[str] = field(default_factory=set)
    """Members from whose list of threads one finds it."""
    is_listed: bool = True
    """Whether a thread of two is in the list of the two."""
    blocks: frozenset[Pair] = frozenset()
    settling: frozenset[Pair] = frozenset()
    """Blocks that somebody is about to copy onto the thread, or to take from it."""

    def belongs(self, user: str) -> bool:
        """Whether the thread exists for them."""
        member = self.state.members.get(user)
        return (
            member is not None and member.is_active and (member.knows or self.count.sees_any(user))
        )

    def packed(self, user: str) -> Packed | None:
        row = self.rows.get(user)
        return None if row is None else row.packed

    def people(self) -> list[str]:
        """Whoever is or was in it or has a row of it, but for those that are yet to be told."""
        return sorted({*self.state.members, *self.rows} - self.on_their_way)

    def version(self, user: str) -> int:
        """Up to which their row is."""
        return self.rows[user].ver if user in self.rows else 0

    def must_be_remade(self, user: str) -> bool:
        """Whether their row cannot take the next change as rows do: it is not there, stands at
        another version than the thread knows of, or has other marks than its person."""
        member, packed = self.state.members.get(user), self.packed(user)
        if member is None:
            return False
        if self.version(user) != member.ver:
            return True
        if packed is None:
            return self.belongs(user)
        marks = (packed.read_id, packed.read_ms, packed.floor)
        return marks != (member.read_id, member.read_ms, member.floor)


class ThreadLooks:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table
        self._parallel = asyncio.Semaphore(AT_ONCE)

    async def faults(self, thread_id: str) -> list[Fault]:
        for attempt in range(LOOKS):
            await pause(attempt)
            state = await self._threads.read(thread_id)
            if state is None:
                return await self._without_thread(thread_id)
            look = await self.look(state)
            again = await self._threads.read(thread_id)
            if again is not None and again.ver == state.ver and await self._stands(look):
                return all_faults(look)[:FAULTS_AT_ONCE]
        found, right = f"changed during each of {LOOKS} looks", "looked at when it is quiet"
        return [Fault("unchecked", thread_id, None, found, right)]

    async def _without_thread(self, thread_id: str) -> list[Fault]:
        async for page in messages_of(self._table, thread_id):
            if page:
                found = "messages without a thread"
                return [Fault("thread_missing", thread_id, None, found, "a thread")]
        return []

    async def look(self, state: ThreadState) -> Look:
        """Right if the thread is still at this version when all is read."""
        look = Look(state, Recount(state))
        async for page in messages_of(self._table, state.id):
            for item in page:
                look.count.add(item)
        await self._read_rows(look)
        await self._read_links(look)
        await self._read_blocks(look)
        return look

    async def _read_rows(self, look: Look) -> None:
        items = await self._table.query(thread_partition(look.state.id), prefix=PARTICIPANTS)
        look.rows = {row.user_id: row for row in map(row_from, items)}
        look.items = {item["sk"].removeprefix(PARTICIPANTS): item for item in items}
        for user, member in look.state.members.items():
            at = look.version(user)
            if at < member.ver and await self._has_record(look.state.id, at, member.ver):
                look.on_their_way.add(user)

    async def _has_record(self, thread_id: str, after: int, up_to: int) -> bool:
        partition, _ = outbox_key(thread_id, 0, self._threads.limits.outbox_shards)
        bounds = outbox_sort(thread_id, after + 1), outbox_sort(thread_id, up_to)
        return bool(await self._table.query(partition, between=bounds, limit=1))

    async def _read_links(self, look: Look) -> None:
        state, pair = look.state, look.state.pair()
        pointers: dict[Key, str] = {pointer_key(user, state.id): user for user in state.members}
        listed = None if pair is None else pair_key(*pair, state.started_n)
        found = await self._table.get_many([*pointers, *([] if listed is None else [listed])])
        look.pointed_at = {user for key, user in pointers.items() if key in found}
        look.is_listed = listed is None or found.get(listed, {}).get("th") == state.id

    async def _read_blocks(self, look: Look) -> None:
        """A block is known to both, so all but one are asked."""
        members = look.state.members

        async def around(user: str) -> Known:
            async with self._parallel:
                return await self._blocks.around(user, members)

        known = await asyncio.gather(*(around(user) for user in sorted(members)[:-1]))
        look.blocks = frozenset().union(*(each.pairs for each in known))
        wrong = look.blocks ^ look.state.blocks
        notes = await self._table.get_many([note_key(*pair) for pair in wrong])
        look.settling = frozenset(pair for pair in wrong if note_key(*pair) in notes)

    async def _stands(self, look: Look) -> bool:
        """Whether rows that are behind without a record still are: a record goes as soon as its
        rows have come."""
        behind = {
            row_key(look.state.id, user): look.version(user)
            for user, member in look.state.members.items()
            if user not in look.on_their_way and look.version(user) < member.ver
        }
        found = await self._table.get_many(behind)
        return all(found.get(key, {}).get("ver", 0) == ver for key, ver in behind.items())


def all_faults(look: Look) -> list[Fault]:
    return [*_of_thread(look), *look.count.faults, *_of_links(look), *_of_rows(look)]


def _of_thread(look: Look) -> list[Fault]:
    state, right = look.state, look.count.righted()
    compared = (
        ("last_seq", state.last_seq, right.last_seq),
        ("last_msg_ts", state.last_message_ms, right.last_message_ms),
        ("last_message_id", state.last_message_id, right.last_message_id),
    )
    return [
        Fault(kind, state.id, None, str(found), str(should))
        for kind, found, should in compared
        if found != should
    ]


def _of_links(look: Look) -> list[Fault]:
    state = look.state
    faults = [
        Fault("pointer_missing", state.id, user, "not among their threads", "among them")
        for user in sorted(set(state.members) - look.pointed_at)
    ]
    if not look.is_listed:
        faults.append(Fault("pair_missing", state.id, None, "not in the list of the two", "in it"))
    for pair in sorted((look.blocks ^ state.blocks) - look.settling):
        words = ("no block", f"{pair[0]} blocks {pair[1]}")
        found, right = words if pair in look.blocks else words[::-1]
        faults.append(Fault("block_copy", state.id, None, found, right))
    return faults


def _of_rows(look: Look) -> list[Fault]:
    return [
        Fault(kind, look.state.id, user, found, right)
        for user in look.people()
        for kind, found, right in row_differences(look, user)
    ]


def row_differences(look: Look, user: str) -> list[Difference]:
    """What someone's row says, and what it must say."""
    row, packed = look.rows.get(user), look.packed(user)
    is_untold = row is not None and not row.n
    if not look.belongs(user):
        if packed is not None or is_untold:
            return [("inbox_row_stray", "a row", "no row: not in the thread")]
        return _of_version(look, user)
    if row is None or packed is None:
        return [("inbox_row_missing", "no row", "a row")]
    if is_untold:
        return [("inbox_row_missing", "a row that they were not told of", "a row")]
    return [
        *_of_version(look, user),
        *_of_counts(look, user, packed),
        *_of_copies(look, row, packed),
    ]


def _of_version(look: Look, user: str) -> list[Difference]:
    member = look.state.members.get(user)
    if member is None or look.version(user) == member.ver:
        return []
    return [("row_version", str(look.version(user)), str(member.ver))]


def _of_counts(look: Look, user: str, packed: Packed) -> list[Difference]:
    right = look.count.row(user, packed)
    compared: tuple[tuple[str, object, object], ...] = (
        ("unread_count", packed.unread, right.unread),
        ("last_activity", packed.activity_ms, right.activity_ms),
        ("awaits_reply", packed.awaits_reply, right.awaits_reply),
        ("thread_kind", packed.kind, look.state.kind),
        ("standing", _standing(packed), _standing(_righted(look, user, packed))),
    )
    differences = [
        (kind, str(found), str(should)) for kind, found, should in compared if found != should
    ]
    if packed.last != right.last:
        # Not what it says: whoever reads this may not be one who may read that.
        found, should = (None if each is None else each.id for each in (packed.last, right.last))
        more = " in other words" if found == should else ""
        differences.append(("last_message", f"{found}{more}", str(should)))
    return differences


def _righted(look: Look, user: str, packed: Packed) -> Packed:
    return beside(packed, user, packed.kind, look.state.stands)


def _standing(packed: Packed) -> tuple[object, ...]:
    return packed.stage, packed.open_cards, packed.needs_action


def _of_copies(look: Look, row: Row, packed: Packed) -> list[Difference]:
    member = look.state.members[row.user_id]
    differences: list[Difference] = []
    if _shown(look, row, packed.thread) != _shown(look, row, None):
        differences.append(("thread_copy", "another copy", "the thread as it is"))
    if (packed.read_id, packed.read_ms) != (member.read_id, member.read_ms):
        differences.append(("read_mark", packed.read_id, member.read_id))
    if packed.floor != member.floor:
        differences.append(("visible_after", packed.floor, member.floor))
    # As DynamoDB has it: what lists find and sort the row by. The packed part is told of above.
    there, right = (
        {name: value for name, value in item.items() if name != "row"}
        for item in (look.items[row.user_id], row_item(row))
    )
    if there != right:
        differences.append(("row_index", str(there), str(right)))
    return differences


def _shown(look: Look, row: Row, copy: PublicThread | None) -> Thread:
    """As this viewer sees it: a copy may be old in what they do not see."""
    packed, state = row.packed, look.state
    return thread_for(
        state.id,
        copy or public_thread(state),
        {},
        viewer=row.user_id,
        inbox=None if packed is None else inbox_row(state.id, packed),
        floor="" if packed is None else packed.floor,
    )
