"""Writes generated threads into DynamoDB, as the items that the store itself would have written.

Feed numbers depend on all messages, so these are generated twice: once to count, once to write. The
memory needed grows with the threads and the last week's events, not with the messages.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from greenroom.conversations.dynamodb.items.keys import (
    client_id_key,
    entry_key,
    head_key,
    message_sort,
    pair_key,
    pair_lock_key,
    pointer_key,
)
from greenroom.conversations.dynamodb.items.rows import Packed, Row, message_item, row_item
from greenroom.conversations.dynamodb.items.threads import (
    Member,
    StoredThread,
    row_copy,
    state_item,
)
from greenroom.conversations.inbox import Placement
from greenroom.conversations.model import Message
from greenroom.conversations.previews import as_last_message
from greenroom.demo.crowd import DAY_MS, Body, Crowd, FeedEntry, Talk, client_id, promotion
from greenroom.demo.progress import Progress
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.table import (
    ITEMS_PER_WRITE,
    OPERATIONS_PER_TRANSACTION,
    Key,
    Put,
    Table,
)
from greenroom.platform.dynamodb.values import Item

REQUESTS_AT_ONCE = 8
NOTED_THREADS = 200
"""How many threads are written between two notes of the progress."""

PATIENCE_S = 2

Note = Callable[[int], Awaitable[None]]
MakeCrowd = Callable[[], Crowd]


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known only after all messages have been generated once."""

    crowd: Crowd
    """The crowd, with its feed filled."""
    started: dict[str, int]
    """By thread: its number among the threads of the same two people."""
    pairs: dict[tuple[str, ...], int]
    """How many threads each pair of people has."""
    numbers: dict[tuple[str, str], int]
    """By person and thread: the thread's last feed number that is still kept."""
    forgotten: dict[str, int]
    """By person: the last feed number that was pruned."""

    def number(self, user_id: str, thread_id: str) -> int:
        """The thread's last feed number. If its entries were pruned, any pruned number will do."""
        return self.numbers.get((user_id, thread_id)) or self.forgotten[user_id]


async def write_crowd(
    writing: "Writing", make_crowd: MakeCrowd, *, done: int, note: Note, progress: Progress
) -> None:
    """Write everything after the first `done` threads. `note` gets the number of threads that are
    certainly written.

    Writing an item again changes nothing as long as nobody has used its thread since. Feeds are
    written last, so until then nobody sees the threads."""
    survey = survey_of(make_crowd())
    crowd = _after_people(make_crowd())
    for number, talk in enumerate(crowd.talks(), start=1):
        if number <= done:
            progress.skip(len(talk.times))
            continue
        for item in thread_items(talk, crowd.bodies, survey):
            await writing.add(item)
        if number % NOTED_THREADS == 0:
            await writing.flush()
            await note(number)
        progress.advance(len(talk.times))
    about_people = sum(1 for _ in people_items(survey))
    progress = Progress(about_people, "items of their feeds", quiet_s=PATIENCE_S)
    for item in people_items(survey):
        await writing.add(item)
        progress.advance(1)
    await writing.flush()


def survey_of(crowd: Crowd) -> Survey:
    begun: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for talk in _after_people(crowd).talks():
        pair = tuple(sorted(talk.people))
        begun.setdefault(pair, []).append((talk.times[0], talk.thread_id))
    return Survey(
        crowd,
        started={
            thread_id: number
            for threads in begun.values()
            for number, (_, thread_id) in enumerate(sorted(threads), start=1)
        },
        pairs={pair: len(threads) for pair, threads in begun.items()},
        numbers={(entry.user_id, entry.thread_id): n for n, entry in crowd.feed()},
        forgotten={user_id: pruned for user_id, _, pruned in crowd.heads()},
    )


def _after_people(crowd: Crowd) -> Crowd:
    """Generate the people first, so that the random numbers are used in the same order."""
    deque(crowd.people(), maxlen=0)
    return crowd


class Writing:
    """Writes items with a bounded number of requests at a time.

    On AWS it uses BatchWriteItem. The embedded engine waits for the disk after every item of a
    batch, so there it uses transactions of a hundred items, which take a quarter of the time. (AWS
    charges double for transactions.)
    """

    def __init__(self, table: Table, *, is_aws: bool) -> None:
        self._table = table
        self._is_aws = is_aws
        self._puts: list[Put] = []
        self._most = REQUESTS_AT_ONCE * ITEMS_PER_WRITE if is_aws else OPERATIONS_PER_TRANSACTION

    async def add(self, item: Item) -> None:
        self._puts.append(Put(item))
        if len(self._puts) == self._most:
            await self.flush()

    async def flush(self) -> None:
        puts, self._puts = self._puts, []
        if not self._is_aws:
            if puts:
                await self._table.transact(puts)
            return
        await asyncio.gather(
            *(
                self._table.write_many(puts[at : at + ITEMS_PER_WRITE])
                for at in range(0, len(puts), ITEMS_PER_WRITE)
            )
        )


def thread_items(talk: Talk, bodies: Sequence[Body], survey: Survey) -> Iterator[Item]:
    """All items of a thread; the item of the thread itself comes last."""
    message = None
    for message, send_hash in _messages(talk, bodies):
        sort = message_sort(message.id) or ""
        yield message_item(message, sort, visible_to=None, send_hash=send_hash)
        if message.author_id is not None and message.client_id is not None:
            yield {
                **_item(client_id_key(message.author_id, message.client_id)),
                "th": talk.thread_id,
                "m": message.id,
                "h": send_hash,
            }
    if message is None:
        return
    state = _state(talk, survey.started[talk.thread_id])
    yield from _rows(talk, state, message, survey)
    for user_id in talk.people:
        yield _item(pointer_key(user_id, talk.thread_id))
    yield {**_item(pair_key(*talk.people, state.started_n)), "th": talk.thread_id}
    yield state_item(state)


def _messages(talk: Talk, bodies: Sequence[Body]) -> Iterator[tuple[Message, bytes | None]]:
    sent = talk.sent_before
    lines = zip(talk.times, talk.ids, talk.senders, talk.bodies, strict=True)
    for seq, (at_ms, message_id, sender, body) in enumerate(lines, start=1):
        said = Body("", None, b"")
        if sender is not None:
            sent += 1
            said = bodies[body]
        message = Message(
            id=message_id,
            thread_id=talk.thread_id,
            seq=seq,
            author_id=sender,
            kind="system" if sender is None else "text",
            body=said.text,
            body_html=said.html,
            system=promotion(talk.leg_id) if sender is None else None,
            reply_to=None,
            client_id=None if sender is None else client_id(sent),
            created_at_ms=at_ms,
        )
        yield message, said.hash or None


def _state(talk: Talk, started_n: int) -> StoredThread:
    def member(role: str, read_at: int, read_ms: int | None) -> Member:
        read_id = talk.ids[read_at] if read_at >= 0 else ""
        return Member(
            *(role, "active", True, talk.times[0]),
            read_id=read_id,
            read_ms=read_ms,
            shown_id=read_id,
            shown_ms=read_ms,
            ver=talk.changes,
        )

    return StoredThread(
        id=talk.thread_id,
        ver=talk.changes,
        kind=talk.kind.value,
        opened_by=talk.buyer,
        created_at_ms=talk.times[0],
        updated_at_ms=talk.changed_ms,
        subject=talk.subject,
        role_context=talk.trade,
        leg_id=talk.leg_id,
        city=talk.city or None,
        last_seq=len(talk.times),
        last_message_ms=talk.times[-1],
        last_message_id=talk.ids[-1],
        started_n=started_n,
        members={
            each.user_id: member(each.role.value, each.read_at, each.read_ms)
            for each in talk.readings
        },
    )


def _rows(talk: Talk, state: StoredThread, last: Message, survey: Survey) -> Iterator[Item]:
    for reading in talk.readings:
        member = state.members[reading.user_id]
        packed = Packed(
            kind=state.kind,
            placement=Placement.INBOX,
            activity_ms=last.created_at_ms,
            unread=reading.unread,
            awaits_reply=last.author_id not in (reading.user_id, None),
            last=as_last_message(last),
            read_id=member.read_id,
            read_ms=member.read_ms,
            thread=row_copy(state),
        )
        n = survey.number(reading.user_id, talk.thread_id)
        yield row_item(Row(talk.thread_id, reading.user_id, state.ver, n, packed))


def people_items(survey: Survey) -> Iterator[Item]:
    """Items of people: how many threads each pair has, feed entries, and feed heads."""
    for (one, other), count in survey.pairs.items():
        yield {**_item(pair_lock_key(one, other)), "v": count}
    kept_s = (Limits().feed_kept_days + 1) * DAY_MS // 1000
    for n, entry in survey.crowd.feed():
        yield _entry_item(n, entry, kept_s)
    for user_id, last, _ in survey.crowd.heads():
        if last:
            yield {**_item(head_key(user_id)), "last": last}


def _entry_item(n: int, entry: FeedEntry, kept_s: int) -> Item:
    item: Item = {
        **_item(entry_key(entry.user_id, n)),
        "t": entry.type,
        "th": entry.thread_id,
        "v": entry.change,
        "at": entry.at_ms,
        "ttl": entry.at_ms // 1000 + kept_s,
    }
    if entry.message_id is not None:
        item["m"] = entry.message_id
    if entry.actor is not None:
        item["a"] = entry.actor
    return item


def _item(key: Key) -> Item:
    return {"pk": key[0], "sk": key[1]}
