"""Generates people, threads and messages for measurements.

It knows no store: `bulk_postgres.py` and `bulk_dynamodb.py` turn a `Talk` into the rows or items
that the product would have written. Feeds cover seven days, as if older entries had been pruned.
"""

import random
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from greenroom.conversations import markdown
from greenroom.conversations.model import Draft, EventType, Role, ThreadKind
from greenroom.demo import bulk_texts as texts
from greenroom.demo.people import avatar_path
from greenroom.kernel.ids import make_id
from greenroom.kernel.limits import Limits

MESSAGES_PER_THREAD = 40
THREADS_PER_PERSON = 5
BUYERS_PER_SELLER = 3
SPAN_DAYS = 400
BODIES = 2048

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_56_BITS = (1 << 56) - 1


@dataclass(frozen=True, slots=True)
class Bulk:
    seed: int
    messages: int
    threads: int


class Body(NamedTuple):
    """A text that many messages share, with its HTML and hash."""

    text: str
    html: str | None
    hash: bytes


class Plan(NamedTuple):
    """A planned thread: its length and the time of its last message."""

    end_ms: int
    messages: int


class Reading(NamedTuple):
    """How far one of the two people has read."""

    user_id: str
    role: Role
    read_at: int
    """The position of a message; -1: nothing."""
    read_ms: int | None
    unread: int


class FeedEntry(NamedTuple):
    """Sorts in the order of a feed: by person, time, and order within the same moment."""

    user_id: str
    at_ms: int
    place: int
    type: str
    thread_id: str
    message_id: str | None
    actor: str | None
    change: int
    """The number of the thread's change that it announces; the first is 1."""


@dataclass(slots=True)
class Talk:
    """One generated thread. Positions of messages count from 0."""

    thread_id: str
    buyer: str
    seller: str
    kind: ThreadKind
    trade: str
    leg_id: str | None
    promoted_at: int
    """The position of the notice that the thread became a project; -1: none."""
    times: list[int]
    sent_before: int
    """How many client ids the threads before this one have used."""
    ids: list[str] = field(default_factory=list)
    senders: list[str | None] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    """The index of each message's text in the crowd's bodies; 0 for the notice."""
    subject: str = ""
    city: str = ""
    readings: list[Reading] = field(default_factory=list)

    @property
    def people(self) -> tuple[str, str]:
        return self.buyer, self.seller

    @property
    def changed_ms(self) -> int:
        """When the thread itself was last changed."""
        return self.times[max(self.promoted_at, 0)]

    @property
    def changes(self) -> int:
        """The number of changes: one per message and one per reading."""
        return len(self.times) + sum(reading.read_at >= 0 for reading in self.readings)

    def change_of(self, at: int) -> int:
        """The number of the change that added a message."""
        return at + 1 + sum(0 <= reading.read_at < at for reading in self.readings)

    def change_of_reading(self, place: int) -> int:
        """The number of a reading's change. Of two readings of the same message the earlier comes
        first; at the same time, the buyer's."""
        reading = self.readings[place]
        moment = reading.read_ms or 0, place
        earlier = sum(
            other.read_at == reading.read_at and (other.read_ms or 0, at) < moment
            for at, other in enumerate(self.readings)
        )
        return self.change_of(reading.read_at) + earlier + 1

    def last_of(self, user_id: str) -> int:
        """The position of their last message; -1 if they wrote none."""
        senders = self.senders
        return next((at for at in reversed(range(len(senders))) if senders[at] == user_id), -1)

    def last_of_others(self, user_id: str) -> int:
        senders = self.senders
        return next((at for at in reversed(range(len(senders))) if senders[at] != user_id), -1)


class Crowd:
    """All generated data. The same random seed, sizes and time give the same data."""

    def __init__(self, bulk: Bulk, now_ms: int) -> None:
        self._bulk = bulk
        self._dice = random.Random(f"bulk/{bulk.seed}")  # noqa: S311 (a sample, not a secret)
        self._now_ms = now_ms - now_ms % HOUR_MS
        self._feed_from_ms = self._now_ms - Limits().feed_kept_days * DAY_MS
        count = max(2, bulk.threads // THREADS_PER_PERSON)
        self._sellers = max(1, count // (1 + BUYERS_PER_SELLER))
        self._users = [user_id(bulk.seed, number) for number in range(count)]
        self._trades = [self._dice.choice(texts.TRADES) for _ in range(self._sellers)]
        self._pruned = dict.fromkeys(self._users, 0)
        self._last: dict[str, int] = {}
        self._feed: list[FeedEntry] = []
        self._sent = 0
        self.bodies = [_body(texts.write(self._dice)) for _ in range(BODIES)]

    def people(self) -> Iterator[tuple[Any, ...]]:
        """The people as account rows. Sellers come first; lower numbers get more threads."""
        dice = self._dice
        for number, user in enumerate(self._users):
            role = self._trades[number] if number < self._sellers else "buyer"
            _, timezone = dice.choice(texts.PLACES)
            joined_ms = self._now_ms - (2 * SPAN_DAYS + dice.randrange(SPAN_DAYS)) * DAY_MS
            yield (
                user, texts.name(dice), avatar_path(user), [role], timezone,
                dice.random() < 0.8, joined_ms, joined_ms,
            )  # fmt: skip

    def talks(self) -> Iterator[Talk]:
        """Every thread, by the time of its last message. Call it once, after `people`."""
        for plan in self._plans():
            talk = self._begin(plan)
            self._speak(talk)
            self._close(talk)
            self._feed_messages(talk)
            self._feed_readings(talk)
            yield talk

    def _plans(self) -> list[Plan]:
        """Many short threads and a few long ones, more of them recent. Sorted by their last
        message, so that rows are written nearly in the order of their keys."""
        dice, bulk = self._dice, self._bulk
        weights = [dice.lognormvariate(0, 1.2) for _ in range(bulk.threads)]
        share = (bulk.messages - bulk.threads) / sum(weights)
        lengths = [1 + int(weight * share) for weight in weights]
        for number in range(bulk.messages - sum(lengths)):
            lengths[number % bulk.threads] += 1
        span_ms = SPAN_DAYS * DAY_MS
        ends = sorted(self._now_ms - int(span_ms * dice.random() ** 2) for _ in lengths)
        return [Plan(*each) for each in zip(ends, lengths, strict=True)]

    def _begin(self, plan: Plan) -> Talk:
        seller, buyer = self._pair()
        times = self._times(plan)
        kind = self._dice.choices(_KINDS, (55, 10, 35))[0]
        thread_id = make_id("thr", times[0], f"{self._dice.getrandbits(56):014x}")
        is_project = kind == ThreadKind.PROJECT
        return Talk(
            thread_id,
            buyer,
            self._users[seller],
            kind,
            self._trades[seller],
            f"leg_{thread_id[4:]}" if is_project else None,
            plan.messages // 2 if is_project and plan.messages > 2 else -1,
            times,
            self._sent,
        )

    def _pair(self) -> tuple[int, str]:
        dice = self._dice
        seller = int(self._sellers * dice.random() ** 2)
        return seller, self._users[dice.randrange(self._sellers, len(self._users))]

    def _times(self, plan: Plan) -> list[int]:
        """Answers come after minutes or hours, in very long threads sooner."""
        throw = self._dice.random
        longest_ms = min(6 * HOUR_MS, SPAN_DAYS * DAY_MS // plan.messages)
        gaps = [1 + int(longest_ms * throw() ** 3) for _ in range(plan.messages - 1)]
        at_ms = plan.end_ms - sum(gaps)
        times = [at_ms]
        for gap in gaps:
            at_ms += gap
            times.append(at_ms)
        return times

    def _speak(self, talk: Talk) -> None:
        """The hot loop: one random number per message."""
        throw, promoted_at = self._dice.getrandbits, talk.promoted_at
        ids, senders, bodies = talk.ids, talk.senders, talk.bodies
        sender, other = talk.buyer, talk.seller
        for at, at_ms in enumerate(talk.times):
            bits = throw(72)
            ids.append(f"msg_{at_ms:012x}{bits & _56_BITS:014x}")
            if at == promoted_at:
                senders.append(None)
                bodies.append(0)
                continue
            if at and bits >> 56 & 7 < 5:
                sender, other = other, sender
            senders.append(sender)
            bodies.append(bits >> 59 & BODIES - 1)
        self._sent += len(ids) - (promoted_at >= 0)

    def _close(self, talk: Talk) -> None:
        talk.city, _ = self._dice.choice(texts.PLACES)
        talk.subject = f"{self._dice.choice(texts.JOBS)} in {talk.city}"
        for user, role in ((talk.buyer, Role.BUYER), (talk.seller, Role.SELLER)):
            read_at, unread = self._reading(talk, user)
            read_ms = self._read_time(talk, read_at) if read_at >= 0 else None
            talk.readings.append(Reading(user, role, read_at, read_ms, unread))

    def _reading(self, talk: Talk, user: str) -> tuple[int, int]:
        """The position up to which a person has read (-1: nothing), and the number of unread
        messages.

        People have read everything before their own last message. One in five has read nothing
        since.
        """
        if talk.senders[-1] == user:
            return talk.last_of_others(user), 0
        if self._dice.random() < 0.8:
            return len(talk.ids) - 1, 0
        own = talk.last_of(user)
        return max(own - 1, -1), len(talk.ids) - 1 - own

    def _read_time(self, talk: Talk, read_at: int) -> int:
        """A time after the message and before the next one."""
        soon_ms = talk.times[read_at] + self._dice.randrange(5 * MINUTE_MS)
        latest_ms = self._now_ms if read_at + 1 == len(talk.times) else talk.times[read_at + 1] - 1
        return min(soon_ms, latest_ms)

    def _feed_messages(self, talk: Talk) -> None:
        recent = bisect_left(talk.times, self._feed_from_ms)
        for user in talk.people:
            self._pruned[user] += recent
        for at in (0, talk.promoted_at) if talk.promoted_at > 0 else (0,):
            actor = talk.buyer if at == 0 else None
            self._tell(
                talk, talk.times[at], 0, EventType.THREAD_CHANGED, None, actor, talk.change_of(at)
            )
        for at in range(recent, len(talk.times)):
            self._tell(
                talk, talk.times[at], 1, EventType.MESSAGE_NEW, talk.ids[at], talk.senders[at],
                talk.change_of(at),
            )  # fmt: skip

    def _tell(
        self,
        talk: Talk,
        at_ms: int,
        place: int,
        event: EventType,
        message_id: str | None,
        actor: str | None,
        change: int,
    ) -> None:
        for user in talk.people:
            self._add_to_feed(
                FeedEntry(
                    user, at_ms, place, event.value, talk.thread_id, message_id, actor, change
                )
            )

    def _feed_readings(self, talk: Talk) -> None:
        for place, reading in enumerate(talk.readings):
            if reading.read_ms is None:
                continue
            for user in talk.people:
                is_own = user == reading.user_id
                event = EventType.INBOX_CHANGED if is_own else EventType.RECEIPT
                message_id = None if is_own else talk.ids[reading.read_at]
                self._add_to_feed(
                    FeedEntry(
                        user, reading.read_ms, 2, event.value, talk.thread_id, message_id,
                        reading.user_id, talk.change_of_reading(place),
                    )
                )  # fmt: skip

    def _add_to_feed(self, entry: FeedEntry) -> None:
        if entry.at_ms < self._feed_from_ms:
            self._pruned[entry.user_id] += 1
        else:
            self._feed.append(entry)

    def feed(self) -> Iterator[tuple[int, FeedEntry]]:
        """The kept entries of each feed, numbered after the pruned ones. Call it after `talks`."""
        self._feed.sort(key=lambda entry: entry[:3])
        self._last = dict(self._pruned)
        for entry in self._feed:
            self._last[entry.user_id] += 1
            yield self._last[entry.user_id], entry

    def heads(self) -> Iterator[tuple[str, int, int]]:
        """Each person, the last number of their feed, and the last pruned number."""
        for user in self._users:
            yield user, self._last[user], self._pruned[user]


_KINDS = (ThreadKind.INQUIRY, ThreadKind.INVITE, ThreadKind.PROJECT)


def user_id(seed: int, number: int) -> str:
    return f"g{seed}-{number:08d}"


def client_id(number: int) -> str:
    return f"g{number:010x}"


def _body(text: str) -> Body:
    html = markdown.render(text)
    return Body(text, html, Draft("", text, html).hash())


def promotion(leg_id: str | None) -> dict[str, Any]:
    """The notice that a thread has become a project."""
    return {"code": "thread.promoted", "params": {"group_id": None, "leg_id": leg_id}}
