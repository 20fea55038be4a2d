"""Compares one thread with its messages, its members' inbox rows, and the items that point to it.

All of it is compared at one version: the thread is read before and after everything else, and if it
has changed meanwhile, all is read again. Rows follow their thread a little later; a row that is
behind while the outbox record of the change exists is not a fault.
"""

import asyncio
from dataclasses import dataclass, field

from greenroom.conversations.dynamodb.changes.blocks import Blocks, KnownBlocks, note_key
from greenroom.conversations.dynamodb.changes.projection import PARALLEL, pause
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    PARTICIPANTS,
    outbox_key,
    outbox_sort,
    pair_key,
    pointer_key,
    row_key,
    thread_partition,
)
from greenroom.conversations.dynamodb.items.rows import (
    Packed,
    Row,
    inbox_row,
    row_from,
    row_item,
    with_standing,
)
from greenroom.conversations.dynamodb.items.threads import (
    PublicThread,
    StoredThread,
    public_thread,
    thread_for,
)
from greenroom.conversations.dynamodb.reads.paging import messages_of
from greenroom.conversations.dynamodb.upkeep.recount import FAULTS_AT_ONCE, Recount
from greenroom.conversations.model import Thread
from greenroom.conversations.upkeep import Fault
from greenroom.kernel.clock import LAST_GIVEN_MS, is_given
from greenroom.kernel.errors import Unreadable
from greenroom.platform.dynamodb.table import Key
from greenroom.platform.dynamodb.values import Item

ATTEMPTS = 12

Pair = tuple[str, str]
Difference = tuple[str, str, str]
"""(kind, what was found, what is right)"""


@dataclass(slots=True)
class ThreadCopies:
    """A thread at one version, with everything that is derived from it or copied to it."""

    state: StoredThread
    count: Recount
    items: dict[str, Item] = field(default_factory=dict)
    """Rows by their user."""
    rows: dict[str, Row] = field(default_factory=dict)
    on_their_way: set[str] = field(default_factory=set)
    """Users whose rows still have to take a change that is in the outbox."""
    pointed_at: set[str] = field(default_factory=set)
    """Members who have a pointer to the thread."""
    is_listed: bool = True
    """Whether a thread of two people is in the list of the two."""
    blocks: frozenset[Pair] = frozenset()
    settling: frozenset[Pair] = frozenset()
    """Blocks with a note in the outbox, which are about to be copied to the thread or removed."""

    def belongs(self, user: str) -> bool:
        """Whether they must have a row with content."""
        member = self.state.members.get(user)
        return (
            member is not None and member.is_active and (member.knows or self.count.sees_any(user))
        )

    def packed(self, user: str) -> Packed | None:
        row = self.rows.get(user)
        return None if row is None else row.packed

    def people(self) -> list[str]:
        """Everyone who is or was a member or has a row, except those in `on_their_way`."""
        return sorted({*self.state.members, *self.rows} - self.on_their_way)

    def version(self, user: str) -> int:
        """The version of their row, 0 without one."""
        return self.rows[user].ver if user in self.rows else 0

    def must_be_remade(self, user: str) -> bool:
        """Whether their row cannot take an ordinary change: it is missing, has another version than
        the thread expects, or has another read mark or floor than the member."""
        member, packed = self.state.members.get(user), self.packed(user)
        if member is None:
            return False
        if self.version(user) != member.ver:
            return True
        if packed is None:
            return self.belongs(user)
        marks = (packed.read_id, packed.read_ms, packed.floor)
        return marks != (member.read_id, member.read_ms, member.floor)


class ThreadCheck:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table
        self._parallel = asyncio.Semaphore(PARALLEL)

    async def faults(self, thread_id: str) -> list[Fault]:
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            state = await self._threads.read(thread_id)
            if state is None:
                return await self._without_thread(thread_id)
            copies = await self.read(state)
            again = await self._threads.read(thread_id)
            if again is not None and again.ver == state.ver and await self._is_still_so(copies):
                return all_faults(copies)[:FAULTS_AT_ONCE]
        found, right = f"changed during each of {ATTEMPTS} attempts", "checked at a quieter time"
        return [Fault("unchecked", thread_id, None, found, right)]

    async def _without_thread(self, thread_id: str) -> list[Fault]:
        async for page in messages_of(self._table, thread_id):
            if page:
                found = "messages without a thread"
                return [Fault("thread_missing", thread_id, None, found, "a thread")]
        return []

    async def read(self, state: StoredThread) -> ThreadCopies:
        """Valid if the thread is still at this version after the call."""
        copies = ThreadCopies(state, Recount(state))
        async for page in messages_of(self._table, state.id):
            for item in page:
                copies.count.add(item)
        await self._read_rows(copies)
        await self._read_links(copies)
        await self._read_blocks(copies)
        return copies

    async def _read_rows(self, copies: ThreadCopies) -> None:
        items = await self._table.query(thread_partition(copies.state.id), prefix=PARTICIPANTS)
        copies.rows = {row.user_id: row for row in map(_row_or_none, items)}
        copies.items = {item["sk"].removeprefix(PARTICIPANTS): item for item in items}
        for user, member in copies.state.members.items():
            at = copies.version(user)
            if at < member.ver and await self._has_record(copies.state.id, at, member.ver):
                copies.on_their_way.add(user)

    async def _has_record(self, thread_id: str, after: int, up_to: int) -> bool:
        partition, _ = outbox_key(thread_id, 0, self._threads.limits.outbox_shards)
        bounds = outbox_sort(thread_id, after + 1), outbox_sort(thread_id, up_to)
        return bool(await self._table.query(partition, between=bounds, limit=1))

    async def _read_links(self, copies: ThreadCopies) -> None:
        state, pair = copies.state, copies.state.pair()
        pointers: dict[Key, str] = {pointer_key(user, state.id): user for user in state.members}
        listed = None if pair is None else pair_key(*pair, state.started_n)
        found = await self._table.get_many([*pointers, *([] if listed is None else [listed])])
        copies.pointed_at = {user for key, user in pointers.items() if key in found}
        copies.is_listed = listed is None or found.get(listed, {}).get("th") == state.id

    async def _read_blocks(self, copies: ThreadCopies) -> None:
        """Both people of a block have it, so one member need not be read."""
        members = copies.state.members

        async def known_blocks(user: str) -> KnownBlocks:
            async with self._parallel:
                return await self._blocks.known_blocks(user, members)

        known = await asyncio.gather(*(known_blocks(user) for user in sorted(members)[:-1]))
        copies.blocks = frozenset().union(*(each.pairs for each in known))
        wrong = copies.blocks ^ copies.state.blocks
        notes = await self._table.get_many([note_key(*pair) for pair in wrong])
        copies.settling = frozenset(pair for pair in wrong if note_key(*pair) in notes)

    async def _is_still_so(self, copies: ThreadCopies) -> bool:
        """Whether the rows that were behind without a record still are. A record may have been
        projected and deleted between the two reads."""
        behind = {
            row_key(copies.state.id, user): copies.version(user)
            for user, member in copies.state.members.items()
            if user not in copies.on_their_way and copies.version(user) < member.ver
        }
        found = await self._table.get_many(behind)
        return all(found.get(key, {}).get("ver", 0) == ver for key, ver in behind.items())


def all_faults(copies: ThreadCopies) -> list[Fault]:
    return [*_of_thread(copies), *copies.count.faults, *_of_links(copies), *_of_rows(copies)]


def _of_thread(copies: ThreadCopies) -> list[Fault]:
    state, right = copies.state, copies.count.corrected()
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


def _of_links(copies: ThreadCopies) -> list[Fault]:
    state = copies.state
    faults = [
        Fault("pointer_missing", state.id, user, "not among their threads", "among them")
        for user in sorted(set(state.members) - copies.pointed_at)
    ]
    if not copies.is_listed:
        faults.append(Fault("pair_missing", state.id, None, "not in the list of the two", "in it"))
    for pair in sorted((copies.blocks ^ state.blocks) - copies.settling):
        words = ("no block", f"{pair[0]} blocks {pair[1]}")
        found, right = words if pair in copies.blocks else words[::-1]
        faults.append(Fault("block_copy", state.id, None, found, right))
    return faults


def _of_rows(copies: ThreadCopies) -> list[Fault]:
    return [
        Fault(kind, copies.state.id, user, found, right)
        for user in copies.people()
        for kind, found, right in row_differences(copies, user)
    ]


def row_differences(copies: ThreadCopies, user: str) -> list[Difference]:
    """The differences between someone's row and what it should be."""
    row, packed = copies.rows.get(user), copies.packed(user)
    is_untold = row is not None and not row.n
    if not copies.belongs(user):
        if packed is not None or is_untold:
            return [("inbox_row_stray", "a row", "no row: not in the thread")]
        return _of_version(copies, user)
    if row is None or packed is None:
        return [("inbox_row_missing", "no row", "a row")]
    if is_untold:
        return [("inbox_row_missing", "a row that they were not told of", "a row")]
    return [
        *_of_version(copies, user),
        *_of_counts(copies, user, packed),
        *_of_copies(copies, row, packed),
    ]


def _of_version(copies: ThreadCopies, user: str) -> list[Difference]:
    member = copies.state.members.get(user)
    if member is None or copies.version(user) == member.ver:
        return []
    return [("row_version", str(copies.version(user)), str(member.ver))]


def _of_counts(copies: ThreadCopies, user: str, packed: Packed) -> list[Difference]:
    right = copies.count.row(user, packed)
    compared: tuple[tuple[str, object, object], ...] = (
        ("unread_count", packed.unread, right.unread),
        ("file_messages", packed.file_messages, right.file_messages),
        ("last_activity", packed.activity_ms, right.activity_ms),
        ("awaits_reply", packed.awaits_reply, right.awaits_reply),
        ("thread_kind", packed.kind, copies.state.kind),
        ("standing", _standing(packed), _standing(_corrected(copies, user, packed))),
    )
    differences = [
        (kind, str(found), str(should)) for kind, found, should in compared if found != should
    ]
    if packed.last != right.last:
        # Without the text: whoever reads the report may not be allowed to read the message.
        found, should = (None if each is None else each.id for each in (packed.last, right.last))
        more = " in other words" if found == should else ""
        differences.append(("last_message", f"{found}{more}", str(should)))
    return differences


def _corrected(copies: ThreadCopies, user: str, packed: Packed) -> Packed:
    return with_standing(packed, user, packed.kind, copies.state.standing)


def _standing(packed: Packed) -> tuple[object, ...]:
    return packed.stage, packed.open_cards, packed.needs_action


def _row_or_none(item: Item) -> Row:
    """A row whose content cannot be decoded counts as missing, and is written again like one."""
    try:
        return row_from(item)
    except Unreadable:
        if not isinstance(item.get("ver"), int):
            raise
        return row_from({**{name: item[name] for name in ("pk", "sk", "ver")}, "n": 0})


def bounded_mute(packed: Packed) -> int | None:
    """The end of muting, limited to times that can be shown. Older versions accepted others."""
    until_ms = packed.muted_until_ms
    if until_ms is None or is_given(until_ms):
        return until_ms
    return LAST_GIVEN_MS if until_ms > LAST_GIVEN_MS else None


def _of_copies(copies: ThreadCopies, row: Row, packed: Packed) -> list[Difference]:
    member = copies.state.members[row.user_id]
    differences: list[Difference] = []
    if _shown(copies, row, packed.thread) != _shown(copies, row, None):
        differences.append(("thread_copy", "another copy", "the thread as it is"))
    if (packed.read_id, packed.read_ms) != (member.read_id, member.read_ms):
        differences.append(("read_mark", packed.read_id, member.read_id))
    if bounded_mute(packed) != packed.muted_until_ms:
        should = "a time of the years 1970 to 9999"
        differences.append(("muted_until", str(packed.muted_until_ms), should))
    if packed.floor != member.floor:
        differences.append(("visible_after", packed.floor, member.floor))
    # The attributes that the indexes use. The packed content is compared above.
    there, right = (
        {name: value for name, value in item.items() if name != "row"}
        for item in (copies.items[row.user_id], row_item(row))
    )
    if there != right:
        differences.append(("row_index", str(there), str(right)))
    return differences


def _shown(copies: ThreadCopies, row: Row, copy: PublicThread | None) -> Thread:
    """The thread as this viewer sees it: a copy may be old in what the viewer does not see."""
    packed, state = row.packed, copies.state
    return thread_for(
        state.id,
        copy or public_thread(state),
        {},
        viewer=row.user_id,
        inbox=None if packed is None else inbox_row(state.id, packed),
        floor="" if packed is None else packed.floor,
    )
