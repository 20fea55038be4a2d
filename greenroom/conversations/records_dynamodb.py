"""What a change leaves behind for others to know of it, and the change while it is being made.

A change is committed with a record: which people it concerns, what happens to their inbox rows,
which events their feeds get, and the domain events that it tells of. The record is enough to finish
the change, for whoever finds it, should the one who made it be gone.
"""

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from greenroom.conversations.keys_dynamodb import message_sort
from greenroom.conversations.model import EventType, LastMessage, Message, as_last_message
from greenroom.conversations.rows_dynamodb import Happening, Said, Shown, message_item
from greenroom.conversations.states_dynamodb import (
    NO_CONTRACT,
    PublicThread,
    Stands,
    ThreadState,
    row_copy,
)
from greenroom.kernel.ids import Randomness, make_id
from greenroom.platform.dynamodb.table import UNLESS_THERE, Check, Delete, Put, Update

Write = Put | Update | Delete | Check


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An event as a feed keeps it."""

    type: str
    message_id: str | None
    actor: str | None
    at_ms: int


class Step(msgspec.Struct, frozen=True):
    what: Happening
    entry: Entry


class Part(msgspec.Struct, frozen=True):
    """What happens to some people, in this order. With each comes the version that concerned them
    last: their rows take one change after the other."""

    users: dict[str, int]
    steps: tuple[Step, ...]


class DomainEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    event: str
    at_ms: int
    actor: str | None = None
    message_id: str | None = None
    data: dict[str, Any] | None = None


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    thread_id: str
    ver: int
    kind: str
    at_ms: int
    parts: tuple[Part, ...] = ()
    events: tuple[DomainEvent, ...] = ()
    shows_thread: bool = False
    """Whether rows must take over `thread`; None then means that they keep no copy."""
    thread: PublicThread | None = None
    stands: Stands | None = None

    def part_of(self, user: str) -> Part | None:
        return next((part for part in self.parts if user in part.users), None)

    def users(self) -> list[str]:
        return [user for part in self.parts for user in part.users]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)


def encode_record(record: Record) -> bytes:
    """Small: its size is paid for three times over."""
    return zlib.compress(_encoder.encode(record), 6, -15)


def decode_record(packed: bytes) -> Record:
    return _decoder.decode(zlib.decompress(packed, -15))


class Change:
    """A change to one thread while it is being decided: what the thread is after it, what else is
    written with it, and who is told. Nothing has happened before it is committed."""

    def __init__(self, before: ThreadState, *, now_ms: int, randomness: Randomness) -> None:
        self.before = before
        self.state = before
        self.now_ms = now_ms
        self.writes: list[Write] = []
        self.shows_thread = False
        self._randomness = randomness
        self._steps: dict[str, list[Step]] = {}
        self._events: list[DomainEvent] = []

    @property
    def is_empty(self) -> bool:
        return self.state is self.before and not self.writes and not self._steps

    def tell(
        self,
        users: Iterable[str],
        event: str,
        what: Happening | None = None,
        *,
        message_id: str | None = None,
        actor: str | None = None,
        at_ms: int | None = None,
    ) -> None:
        """Each event in its own words: one step, shared by all who are told."""
        at_ms = self.now_ms if at_ms is None else at_ms
        step = Step(what or Shown(), Entry(event, message_id, actor, at_ms))
        for user in users:
            self._steps.setdefault(user, []).append(step)

    def tell_all(self, actor: str | None) -> None:
        """The thread has changed: everybody who sees it hears of it."""
        self.shows_thread = True
        self.tell(self.state.viewers(), EventType.THREAD_CHANGED, actor=actor)

    def steps_of(self, user: str) -> list[Step]:
        return self._steps.get(user, [])

    def publish(
        self,
        event: str,
        actor: str | None,
        *,
        message_id: str | None = None,
        data: dict[str, Any] | None = None,
        at_ms: int | None = None,
    ) -> None:
        at_ms = self.now_ms if at_ms is None else at_ms
        self._events.append(DomainEvent(event, at_ms, actor, message_id, data))

    def append(
        self,
        author: str | None,
        *,
        kind: str = "text",
        body: str = "",
        body_html: str | None = None,
        system: dict[str, Any] | None = None,
        reply_to: str | None = None,
        client_id: str | None = None,
        send_hash: bytes | None = None,
        audience: frozenset[str] | None = None,
        card: dict[str, Any] | None = None,
        card_id: str | None = None,
    ) -> Message:
        """The thread's next message: its number, its time, and who may see it. What the thread
        shows of a card is for the caller to write."""
        state = self.state
        at_ms = max(self.now_ms, state.last_message_ms + 1)
        message = Message(
            id=make_id("msg", at_ms, self._randomness()),
            thread_id=state.id,
            seq=state.last_seq + 1,
            author_id=author,
            kind=kind,
            body=body,
            body_html=body_html,
            system=system,
            reply_to=reply_to,
            client_id=client_id,
            created_at_ms=at_ms,
            card=card,
        )
        viewers = [user for user in state.active() if self._may_see(user, author, audience)]
        is_partial = len(viewers) < len(state.active())
        self._put_message(message, viewers if is_partial else None, send_hash, card_id)
        members = dict(state.members)
        for user in viewers:
            if not members[user].knows:
                members[user] = replace(members[user], knows=True)
                # A row that begins with this message holds the thread as well.
                self.shows_thread = True
        self.state = replace(
            state,
            members=members,
            last_seq=message.seq,
            last_message_ms=at_ms,
            last_message_id=message.id,
        )
        self._tell_of(message, viewers)
        self.publish("message.send", author, message_id=message.id, at_ms=at_ms)
        return message

    def _may_see(self, user: str, author: str | None, audience: frozenset[str] | None) -> bool:
        if audience is not None and user not in audience:
            return False
        return author is None or not self.state.is_between(user, author)

    def _put_message(
        self,
        message: Message,
        visible_to: list[str] | None,
        send_hash: bytes | None,
        card_id: str | None,
    ) -> None:
        sort = message_sort(message.id)
        assert sort is not None  # noqa: S101 (its id has just been made)
        item = message_item(
            message, sort, visible_to=visible_to, send_hash=send_hash, card_id=card_id
        )
        self.writes.append(Put(item, UNLESS_THERE))

    def _tell_of(self, message: Message, viewers: list[str]) -> None:
        last: LastMessage = as_last_message(message)
        self.tell(
            viewers,
            EventType.MESSAGE_NEW,
            Said(last),
            message_id=message.id,
            actor=message.author_id,
            at_ms=message.created_at_ms,
        )

    def say(self, actor: str | None, code: str, **params: Any) -> None:
        """Something in the server's own voice."""
        self.append(actor, kind="system", system={"code": code, "params": params})

    def seal(self) -> tuple[ThreadState, Record | None]:
        """The thread as it is to be written, and the record that goes with it, if there is
        anything to tell."""
        ver = self.before.ver + 1
        state, parts = self.state, self._parts()
        members = dict(state.members)
        for user in self._steps:
            members[user] = replace(members[user], ver=ver)
        sealed = replace(state, ver=ver, members=members)
        if not parts and not self._events:
            return sealed, None
        record = Record(
            thread_id=state.id,
            ver=ver,
            kind=state.kind,
            at_ms=self.now_ms,
            parts=parts,
            events=tuple(self._events),
            shows_thread=self.shows_thread,
            thread=row_copy(sealed) if self.shows_thread else None,
            stands=None if state.stands == NO_CONTRACT else state.stands,
        )
        return sealed, record

    def _parts(self) -> tuple[Part, ...]:
        alike: dict[tuple[int, ...], tuple[dict[str, int], list[Step]]] = {}
        for user, steps in self._steps.items():
            users, _ = alike.setdefault(tuple(map(id, steps)), ({}, steps))
            users[user] = self.before.members[user].ver if user in self.before.members else 0
        return tuple(Part(users, tuple(steps)) for users, steps in alike.values())
