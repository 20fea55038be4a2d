"""What the items of a table must say of each other, counted anew from the messages.

Nothing here is told by the code that wrote the rows and feeds: a row is compared with what the
thread and its messages make of it, a feed with the row that names its place in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from greenroom.conversations.dynamodb.items.keys import (
    HEAD,
    MESSAGES,
    PARTICIPANTS,
    blocks_partition,
    feed_partition,
    outbox_shard,
    pair_partition,
    thread_partition,
    user_partition,
)
from greenroom.conversations.dynamodb.items.rows import (
    Packed,
    Row,
    inbox_row,
    is_visible,
    message_from,
    row_from,
)
from greenroom.conversations.dynamodb.items.threads import (
    MOST_PEOPLE_IN_A_ROW,
    StoredThread,
    public_thread,
    state_from,
    thread_for,
)
from greenroom.conversations.previews import as_last_message
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.values import Item


@dataclass(slots=True)
class Books:
    """All that a table holds of some people and of the threads that they have heard of."""

    threads: dict[str, StoredThread] = field(default_factory=dict)
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    messages: dict[str, list[Item]] = field(default_factory=dict)
    feeds: dict[str, list[Item]] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)
    blocks: set[tuple[str, str]] = field(default_factory=set)
    pointers: set[tuple[str, str]] = field(default_factory=set)
    pairs: set[str] = field(default_factory=set)
    """Threads that are listed as those of two people."""
    outbox: list[str] = field(default_factory=list)

    def after(self, user: str, n: int) -> list[Item]:
        """What the user's feed holds after a place."""
        return [item for item in self.feeds[user] if number_of(item) > n]


async def open_books(table: Table, people: Sequence[str], shards: int = 1) -> Books:
    books = Books()
    for user in people:
        items = await table.query(feed_partition(user))
        books.feeds[user] = [item for item in items if item["sk"] != HEAD]
        books.heads[user] = next((i.get("last", 0) for i in items if i["sk"] == HEAD), 0)
        out = await table.query(blocks_partition(user), prefix="OUT#")
        books.blocks |= {(user, item["sk"].removeprefix("OUT#")) for item in out}
        pointers = await table.query(user_partition(user), prefix="THR#")
        books.pointers |= {(user, item["sk"].removeprefix("THR#")) for item in pointers}
    named = {item["th"] for feed in books.feeds.values() for item in feed if item["th"]}
    for thread_id in sorted(named):
        _enter_thread(books, thread_id, await table.query(thread_partition(thread_id)))
        if books.threads[thread_id].pair() is not None:
            listed = await table.query(pair_partition(*books.threads[thread_id].members))
            books.pairs |= {item["th"] for item in listed if "th" in item}
    for shard in range(shards):
        books.outbox.extend(item["sk"] for item in await table.query(outbox_shard(shard)))
    return books


def _enter_thread(books: Books, thread_id: str, items: Sequence[Item]) -> None:
    books.messages[thread_id] = []
    for item in items:
        if item["sk"] == "THR":
            books.threads[thread_id] = state_from(item)
        elif item["sk"].startswith(PARTICIPANTS):
            row = row_from(item)
            books.rows[row.user_id, thread_id] = row
        elif item["sk"].startswith(MESSAGES):
            books.messages[thread_id].append(item)


def differences(books: Books) -> list[str]:
    """Everything that does not add up, in words."""
    found = [f"{each} is still in the outbox" for each in books.outbox]
    for user, entries in books.feeds.items():
        found += [f"{user}: {each}" for each in _of_feed(entries, books.heads[user])]
    for thread_id, state in books.threads.items():
        found += [f"{thread_id}: {each}" for each in _of_thread(books, state)]
    return found


def _of_feed(entries: Sequence[Item], head: int) -> list[str]:
    found = []
    numbers = [number_of(item) for item in entries]
    if any(after != before + 1 for before, after in pairwise(numbers)):
        found.append(f"the feed has holes: {numbers}")
    if numbers and head != numbers[-1]:
        found.append(f"the head says {head}, the feed ends with {numbers[-1]}")
    return found


def _of_thread(books: Books, state: StoredThread) -> list[str]:
    found, messages = [], books.messages[state.id]
    seqs = [item["seq"] for item in messages]
    if seqs != [*range(1, state.last_seq + 1)]:
        found.append(f"messages are numbered {seqs}, and the last is to be {state.last_seq}")
    expected = {pair for pair in books.blocks if set(pair) <= set(state.members)}
    if state.blocks != expected:
        found.append(f"blocks are {sorted(state.blocks)} and not {sorted(expected)}")
    if state.pair() is not None and state.id not in books.pairs:
        found.append("it is not listed among the threads of the two")
    for user in state.members:
        if (user, state.id) not in books.pointers:
            found.append(f"{user} has no pointer to it")
        row = books.rows.get((user, state.id), Row(state.id, user, 0, 0, None))
        found += [f"{user}: {each}" for each in _of_row(row, state, messages)]
        found += [f"{user}: {each}" for each in _of_entries(row, books.feeds.get(user, []))]
    return found


def _of_row(row: Row, state: StoredThread, messages: Sequence[Item]) -> list[str]:
    user, member = row.user_id, state.members[row.user_id]
    if row.ver != member.ver:
        return [f"the row is at version {row.ver} and not at {member.ver}"]
    if (row.packed is not None) != state.sees(user):
        return [f"the row is {row.packed} though sees is {state.sees(user)}"]
    if row.packed is None:
        return []
    packed = row.packed
    visible = [item for item in messages if is_visible(item, user, member.floor)]
    unread = sum(
        item["sk"].rpartition("#")[2] > member.read_id
        and item.get("authorUserId") != user
        and "deletedAt" not in item
        for item in visible
    )
    last = as_last_message(message_from(visible[-1])) if visible else None
    expected = {
        "kind": state.kind,
        "unread": unread,
        "last": last,
        "floor": member.floor,
        "read_id": member.read_id,
        "read_ms": member.read_ms,
        "activity_ms": last.created_at_ms if last else member.joined_ms,
        "stage": state.standing.stage,
        "open_cards": state.standing.open_cards,
        "needs_action": user in state.standing.waits_for,
    }
    found = [
        f"{name} of the row is {getattr(packed, name)!r} and not {value!r}"
        for name, value in expected.items()
        if getattr(packed, name) != value
    ]
    return found + _of_copy(user, state, packed)


def _of_copy(user: str, state: StoredThread, packed: Packed) -> list[str]:
    """The thread as the row has it looks to its owner as the thread itself does."""
    if len(state.members) > MOST_PEOPLE_IN_A_ROW:
        return ["the row holds a thread of many"] if packed.thread is not None else []
    if packed.thread is None:
        return ["the row does not hold its thread"]
    inbox = inbox_row(state.id, packed)
    held, true = (
        thread_for(state.id, each, {}, viewer=user, inbox=inbox, floor=packed.floor)
        for each in (packed.thread, public_thread(state))
    )
    return [] if held == true else [f"the row holds {held} and not {true}"]


def _of_entries(row: Row, entries: Sequence[Item]) -> list[str]:
    """Each version once and in order, the last where the row says."""
    here = [item for item in entries if item["th"] == row.thread_id]
    versions = [item["v"] for item in here]
    if versions != sorted(versions):
        return [f"the feed tells of versions {versions}"]
    at = {item["v"]: number_of(item) for item in here}
    if at.get(row.ver, 0) != row.n:
        return [f"the row says that its event is at {row.n}, the feed has it at {at.get(row.ver)}"]
    for before, after in pairwise(here):
        if before["v"] == after["v"] and number_of(after) != number_of(before) + 1:
            return [f"the events of version {before['v']} are not together"]
    return []


def number_of(item: Item) -> int:
    return int(item["sk"].partition("#")[2], 16)
