"""Generated people, threads and messages in bulk, for measurements: `demo --messages 1000000`.

The rows are what the product itself would have left behind, written with COPY in one transaction:
all of them or none. Feeds begin seven days back, as if older entries had been pruned, and domain
events are taken as consumed: the outbox stays empty.
"""

import random
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, NamedTuple

from greenroom.conversations import markdown
from greenroom.conversations.model import Draft, EventType
from greenroom.demo import bulk_texts as texts
from greenroom.demo.people import avatar_path
from greenroom.demo.progress import Progress
from greenroom.demo.sample import loading_alone
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.ids import make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres import Session, open_pool

MESSAGES_PER_THREAD = 40
THREADS_PER_PERSON = 5
BUYERS_PER_SELLER = 3
SPAN_DAYS = 400
BODIES = 2048
CHUNK_BYTES = 1 << 17
CHUNK_THREADS = 2000

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
YEAR_2000_MS = 946_684_800_000

TABLES = {
    "app_user": (
        "user_id", "display_name", "avatar_url", "roles", "timezone", "verified", "created_at",
        "updated_at",
    ),
    "feed_head": ("user_id", "last_n", "pruned_n"),
    "thread": (
        "thread_id", "kind", "subject", "role_context", "leg_id", "city", "opened_by_user",
        "last_seq", "last_msg_ts", "created_at", "updated_at",
    ),
    "thread_participant": (
        "thread_id", "user_id", "role", "status", "last_read_id", "last_read_ts",
        "shown_read_id", "shown_read_ts", "joined_at",
    ),
    "inbox_index": (
        "user_id", "thread_id", "kind", "last_msg_ts", "last_message_id", "unread_count",
        "awaits_reply",
    ),
    "feed": ("user_id", "n", "type", "thread_id", "message_id", "actor", "at"),
    # In the order in which a row is put together: thread and sender, text, the message itself.
    "message": (
        "thread_id", "sender_user", "kind", "body_text", "body_html", "system", "send_hash",
        "client_id", "message_id", "seq", "created_at",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bulk:
    seed: int
    messages: int
    threads: int


async def load_bulk(database_url: str, bulk: Bulk, *, clock: Clock = system_clock) -> bool:
    """Loads it all, or nothing when this seed's people are there; says which."""
    pool = await open_pool(database_url, min_size=1, max_size=1, statement_timeout_ms=0)
    try:
        async with pool.acquire() as conn, loading_alone(conn):
            crowd = Crowd(bulk, clock())
            known = "select 1 from app_user where user_id = $1"
            if await conn.fetchval(known, crowd.user_id(0)):
                return False
            async with conn.transaction():
                await _copy_all(conn, crowd, Progress(bulk.messages, "messages"))
            for table in TABLES:
                await conn.execute(f"vacuum (analyze) {table}")
            return True
    finally:
        await pool.close()


async def _copy_all(conn: Session, crowd: "Crowd", progress: Progress) -> None:
    await _copy(conn, "app_user", crowd.people())
    plans = crowd.plans()
    for first in range(0, len(plans), CHUNK_THREADS):
        chunk = Chunk()
        source = _framed(crowd.messages(plans[first : first + CHUNK_THREADS], chunk))
        await conn.copy_to_table(
            "message", source=source, columns=TABLES["message"], format="binary"
        )
        await _copy(conn, "thread", chunk.threads)
        await _copy(conn, "thread_participant", chunk.participants)
        await _copy(conn, "inbox_index", chunk.inbox)
        progress.advance(sum(plan.messages for plan in plans[first : first + CHUNK_THREADS]))
    await _copy(conn, "feed", crowd.feed())
    await _copy(conn, "feed_head", crowd.heads())


async def _copy(conn: Session, table: str, rows: Any) -> None:
    await conn.copy_records_to_table(table, records=rows, columns=TABLES[table])


async def _framed(rows: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Rows in pieces of a good size, between the header and the trailer of COPY's binary form."""
    pieces, size = [b"PGCOPY\n\xff\r\n\0" + bytes(8)], 0
    for row in rows:
        pieces.append(row)
        size += len(row)
        if size > CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    yield b"".join((*pieces, b"\xff\xff"))


class Plan(NamedTuple):
    """A thread to be: its length and when its last message was."""

    end_ms: int
    messages: int


class FeedEntry(NamedTuple):
    """Sorts as a feed is read: by person, then time, then the order of what happens at once."""

    user_id: str
    at_ms: int
    place: int
    type: str
    thread_id: str
    message_id: str | None
    actor: str | None


@dataclass(slots=True)
class Chunk:
    """The rows that a number of threads add beside their messages."""

    threads: list[tuple[Any, ...]] = field(default_factory=list)
    participants: list[tuple[Any, ...]] = field(default_factory=list)
    inbox: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(slots=True)
class Talk:
    """One generated thread while its rows are made. Positions count from 0."""

    thread_id: str
    buyer: str
    seller: str
    kind: str
    times: list[int]
    ids: list[str]
    senders: list[str | None]

    def last_of(self, user_id: str) -> int:
        """The position of their last message; -1 if they wrote none."""
        senders = self.senders
        return next((at for at in reversed(range(len(senders))) if senders[at] == user_id), -1)

    def last_of_others(self, user_id: str) -> int:
        senders = self.senders
        return next((at for at in reversed(range(len(senders))) if senders[at] != user_id), -1)


class Crowd:
    """Everything that a seed gives. The same seed, sizes and hour give the same rows."""

    def __init__(self, bulk: Bulk, now_ms: int) -> None:
        self._bulk = bulk
        self._dice = random.Random(f"bulk/{bulk.seed}")  # noqa: S311 (a sample, not a secret)
        self._now_ms = now_ms - now_ms % HOUR_MS
        self._feed_from_ms = self._now_ms - Limits().feed_kept_days * DAY_MS
        count = max(2, bulk.threads // THREADS_PER_PERSON)
        self._sellers = max(1, count // (1 + BUYERS_PER_SELLER))
        self._users = [self.user_id(number) for number in range(count)]
        self._trades = [self._dice.choice(texts.TRADES) for _ in range(self._sellers)]
        self._pruned = dict.fromkeys(self._users, 0)
        self._last: dict[str, int] = {}
        self._feed: list[FeedEntry] = []
        self._sent = 0
        self._bodies = [_body(texts.write(self._dice)) for _ in range(BODIES)]

    def user_id(self, number: int) -> str:
        return f"g{self._bulk.seed}-{number:08d}"

    def people(self) -> Iterator[tuple[Any, ...]]:
        """Sellers first: the lower the number, the more in demand."""
        dice = self._dice
        for number, user_id in enumerate(self._users):
            role = self._trades[number] if number < self._sellers else "buyer"
            _, timezone = dice.choice(texts.PLACES)
            joined_ms = self._now_ms - (2 * SPAN_DAYS + dice.randrange(SPAN_DAYS)) * DAY_MS
            yield (
                user_id, texts.name(dice), avatar_path(user_id), [role], timezone,
                dice.random() < 0.8, joined_ms, joined_ms,
            )  # fmt: skip

    def plans(self) -> list[Plan]:
        """Many short threads and a few long ones, more of them recent; in the order of their ends,
        so that rows come about as sorted as their keys."""
        dice, bulk = self._dice, self._bulk
        weights = [dice.lognormvariate(0, 1.2) for _ in range(bulk.threads)]
        share = (bulk.messages - bulk.threads) / sum(weights)
        lengths = [1 + int(weight * share) for weight in weights]
        for number in range(bulk.messages - sum(lengths)):
            lengths[number % bulk.threads] += 1
        span_ms = SPAN_DAYS * DAY_MS
        ends = sorted(self._now_ms - int(span_ms * dice.random() ** 2) for _ in lengths)
        return [Plan(*each) for each in zip(ends, lengths, strict=True)]

    def messages(self, plans: list[Plan], chunk: Chunk) -> Iterator[bytes]:
        """The rows of `message`; what else the threads leave behind goes into the chunk."""
        for plan in plans:
            seller, buyer = self._pair()
            times = self._times(plan)
            kind = self._dice.choices(("inquiry", "invite", "project"), (55, 10, 35))[0]
            random_part = f"{self._dice.getrandbits(56):014x}"
            thread_id = make_id("thr", times[0], random_part)
            talk = Talk(thread_id, buyer, self._users[seller], kind, times, [], [])
            promoted_at = plan.messages // 2 if kind == "project" and plan.messages > 2 else -1
            leg_id = f"leg_{thread_id[4:]}" if kind == "project" else None
            yield from self._rows(talk, promoted_at, leg_id)
            self._close(talk, chunk, self._trades[seller], promoted_at, leg_id)

    def _pair(self) -> tuple[int, str]:
        dice = self._dice
        seller = int(self._sellers * dice.random() ** 2)
        return seller, self._users[dice.randrange(self._sellers, len(self._users))]

    def _times(self, plan: Plan) -> list[int]:
        """Answers come after minutes or hours; a thread that is very long is a busy one."""
        throw = self._dice.random
        longest_ms = min(6 * HOUR_MS, SPAN_DAYS * DAY_MS // plan.messages)
        gaps = [1 + int(longest_ms * throw() ** 3) for _ in range(plan.messages - 1)]
        at_ms = plan.end_ms - sum(gaps)
        times = [at_ms]
        for gap in gaps:
            at_ms += gap
            times.append(at_ms)
        return times

    def _rows(self, talk: Talk, promoted_at: int, leg_id: str | None) -> Iterator[bytes]:
        """The hot loop: constant parts are encoded once per thread, sender and text."""
        throw, bodies, pack = self._dice.getrandbits, self._bodies, _TAIL.pack
        thread = _ROW + _field(talk.thread_id.encode())
        parts = {who: thread + _field(who.encode()) for who in (talk.buyer, talk.seller)}
        sender, other = talk.buyer, talk.seller
        for at, at_ms in enumerate(talk.times):
            bits = throw(72)
            message_id = f"msg_{at_ms:012x}{bits & _56_BITS:014x}"
            talk.ids.append(message_id)
            moment_us = (at_ms - YEAR_2000_MS) * 1000
            if at == promoted_at:
                talk.senders.append(None)
                tail = _SYSTEM_TAIL.pack(-1, 30, message_id.encode(), 8, at + 1, 8, moment_us)
                yield thread + _NULL + _promotion(leg_id) + tail
                continue
            if at and bits >> 56 & 7 < 5:
                sender, other = other, sender
            talk.senders.append(sender)
            self._sent += 1
            yield (
                parts[sender]
                + bodies[bits >> 59 & BODIES - 1]
                + pack(11, b"g%010x" % self._sent, 30, message_id.encode(), 8, at + 1, 8, moment_us)
            )

    def _close(
        self, talk: Talk, chunk: Chunk, trade: str, promoted_at: int, leg_id: str | None
    ) -> None:
        dice = self._dice
        started_ms, ended_ms = talk.times[0], talk.times[-1]
        changed_ms = talk.times[promoted_at] if promoted_at > 0 else started_ms
        city, _ = dice.choice(texts.PLACES)
        chunk.threads.append(
            (
                talk.thread_id, talk.kind, f"{dice.choice(texts.JOBS)} in {city}", trade, leg_id,
                city, talk.buyer, len(talk.times), ended_ms, started_ms, changed_ms,
            )
        )  # fmt: skip
        self._feed_messages(talk, promoted_at)
        for user_id, role in ((talk.buyer, "buyer"), (talk.seller, "seller")):
            read_at, unread = self._reading(talk, user_id)
            read_id = talk.ids[read_at] if read_at >= 0 else ""
            read_ms = self._read_time(talk, read_at) if read_at >= 0 else None
            chunk.participants.append(
                (
                    talk.thread_id, user_id, role, "active", read_id, read_ms, read_id, read_ms,
                    started_ms,
                )
            )  # fmt: skip
            awaits_reply = talk.senders[-1] not in (user_id, None)
            chunk.inbox.append(
                (
                    user_id, talk.thread_id, talk.kind, ended_ms, talk.ids[-1], unread,
                    awaits_reply,
                )
            )  # fmt: skip
            if read_ms is not None:
                self._feed_reading(talk, user_id, read_id, read_ms)

    def _reading(self, talk: Talk, user_id: str) -> tuple[int, int]:
        """Up to where someone has read (-1: nothing), and how much that leaves unread.

        Whoever wrote had read what came before. One in five has not come back since.
        """
        if talk.senders[-1] == user_id:
            return talk.last_of_others(user_id), 0
        if self._dice.random() < 0.8:
            return len(talk.ids) - 1, 0
        own = talk.last_of(user_id)
        return max(own - 1, -1), len(talk.ids) - 1 - own

    def _read_time(self, talk: Talk, read_at: int) -> int:
        """After the message and before the next one."""
        soon_ms = talk.times[read_at] + self._dice.randrange(5 * MINUTE_MS)
        latest_ms = self._now_ms if read_at + 1 == len(talk.times) else talk.times[read_at + 1] - 1
        return min(soon_ms, latest_ms)

    def _feed_messages(self, talk: Talk, promoted_at: int) -> None:
        recent = bisect_left(talk.times, self._feed_from_ms)
        people = (talk.buyer, talk.seller)
        for user_id in people:
            self._pruned[user_id] += recent
        changes = [(0, talk.buyer), *([(promoted_at, None)] if promoted_at > 0 else [])]
        for at, actor in changes:
            for user_id in people:
                self._add_to_feed(
                    user_id, talk.times[at], 0, EventType.THREAD_CHANGED, talk, None, actor
                )
        for at in range(recent, len(talk.times)):
            for user_id in people:
                self._add_to_feed(
                    user_id, talk.times[at], 1, EventType.MESSAGE_NEW, talk, talk.ids[at],
                    talk.senders[at],
                )  # fmt: skip

    def _feed_reading(self, talk: Talk, reader: str, read_id: str, read_ms: int) -> None:
        self._add_to_feed(reader, read_ms, 2, EventType.INBOX_CHANGED, talk, None, reader)
        other = talk.buyer if reader == talk.seller else talk.seller
        self._add_to_feed(other, read_ms, 2, EventType.RECEIPT, talk, read_id, reader)

    def _add_to_feed(
        self,
        user_id: str,
        at_ms: int,
        place: int,
        event: EventType,
        talk: Talk,
        message_id: str | None,
        actor: str | None,
    ) -> None:
        if at_ms < self._feed_from_ms:
            self._pruned[user_id] += 1
            return
        self._feed.append(
            FeedEntry(user_id, at_ms, place, event.value, talk.thread_id, message_id, actor)
        )

    def feed(self) -> Iterator[tuple[Any, ...]]:
        """What is left of each feed, numbered after what was pruned. Called once all is said."""
        self._feed.sort(key=lambda entry: entry[:3])
        self._last = dict(self._pruned)
        for user_id, at_ms, _, kind, thread_id, message_id, actor in self._feed:
            self._last[user_id] += 1
            yield user_id, self._last[user_id], kind, thread_id, message_id, actor, at_ms

    def heads(self) -> Iterator[tuple[Any, ...]]:
        for user_id in self._users:
            yield user_id, self._last[user_id], self._pruned[user_id]


_56_BITS = (1 << 56) - 1
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)
_ROW = Struct(">h").pack(len(TABLES["message"]))
# client_id, message_id, seq, created_at, each after its length.
_TAIL = Struct(">i11si30siqiq")
_SYSTEM_TAIL = Struct(">ii30siqiq")


def _field(value: bytes) -> bytes:
    return _LENGTH.pack(len(value)) + value


def _body(text: str) -> bytes:
    """kind, body_text, body_html, system, send_hash."""
    html = markdown.render(text)
    encoded_html = _NULL if html is None else _field(html.encode())
    digest = Draft("", text, html).hash()
    return _field(b"text") + _field(text.encode()) + encoded_html + _NULL + _field(digest)


def _promotion(leg_id: str | None) -> bytes:
    notice = f'{{"code":"thread.promoted","params":{{"group_id":null,"leg_id":"{leg_id}"}}}}'
    jsonb = b"\x01" + notice.encode()
    return _field(b"system") + _field(b"") + _NULL + _field(jsonb) + _NULL
