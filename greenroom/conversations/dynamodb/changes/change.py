"""A change to one thread: first while it is being built, then as the outbox record it commits.

The outbox record lists the people whom the change concerns, what it does to their inbox rows, which
events their feeds get, and its domain events. If the process that committed it crashes, any other
process can finish the change from the record alone. Field names are stored, so they stay.
"""

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from greenroom.conversations.dynamodb.items.keys import message_sort
from greenroom.conversations.dynamodb.items.rows import (
    MessageAdded,
    RowChange,
    Unchanged,
    message_item,
)
from greenroom.conversations.dynamodb.items.threads import (
    NO_STANDING,
    PublicThread,
    StoredStanding,
    StoredThread,
    row_copy,
)
from greenroom.conversations.model import AttachmentRef, EventType, LastMessage, Message
from greenroom.conversations.previews import as_last_message
from greenroom.kernel.ids import Randomness, make_id
from greenroom.platform.dynamodb.table import UNLESS_THERE, Check, Delete, Put, Update

Write = Put | Update | Delete | Check


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An event as it is stored in a feed."""

    type: str
    message_id: str | None
    actor: str | None
    at_ms: int


class ProjectionStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one event does for one person: a change of their inbox row and a feed entry."""

    row_change: RowChange = msgspec.field(name="what")
    entry: Entry
    file_id: str | None = msgspec.field(default=None, name="file")
    """The file that the event is about."""


class RecipientGroup(msgspec.Struct, frozen=True):
    """People for whom a change does the same, and the steps in order."""

    users: dict[str, int]
    """By user, the version of the thread that concerned them before: a row takes the change only
    after that one."""
    steps: tuple[ProjectionStep, ...]


class CommittedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    event: str
    at_ms: int
    actor: str | None = None
    message_id: str | None = None
    data: dict[str, Any] | None = None


class OutboxRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A committed change that has yet to be projected to inbox rows and feeds."""

    thread_id: str
    ver: int
    kind: str
    at_ms: int
    groups: tuple[RecipientGroup, ...] = msgspec.field(default=(), name="parts")
    events: tuple[CommittedEvent, ...] = ()
    shows_thread: bool = False
    """Whether rows must copy `thread`; `thread` is None if it is too large to be copied."""
    thread: PublicThread | None = None
    standing: StoredStanding | None = msgspec.field(default=None, name="stands")

    def group_of(self, user: str) -> RecipientGroup | None:
        return next((group for group in self.groups if user in group.users), None)

    def users(self) -> list[str]:
        return [user for group in self.groups for user in group.users]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(OutboxRecord)


def encode_record(record: OutboxRecord) -> bytes:
    """Compressed, because the size of a record is paid for three times: the transaction's write,
    which costs double, and the delete."""
    return zlib.compress(_encoder.encode(record), 6, -15)


def decode_record(packed: bytes) -> OutboxRecord:
    return _decoder.decode(zlib.decompress(packed, -15))


class Change:
    """Collects a change to one thread: the new state, further writes of the same transaction, and
    who is notified. Nothing is written before `Threads.commit`."""

    def __init__(self, before: StoredThread, *, now_ms: int, randomness: Randomness) -> None:
        self.before = before
        self.state = before
        self.now_ms = now_ms
        self.writes: list[Write] = []
        self.shows_thread = False
        self._randomness = randomness
        self._steps: dict[str, list[ProjectionStep]] = {}
        self._events: list[CommittedEvent] = []

    @property
    def is_empty(self) -> bool:
        return self.state is self.before and not self.writes and not self._steps

    def notify(
        self,
        users: Iterable[str],
        event: str,
        row_change: RowChange | None = None,
        *,
        message_id: str | None = None,
        actor: str | None = None,
        at_ms: int | None = None,
        file_id: str | None = None,
    ) -> None:
        """Add an event to the feeds of these users, and a change to their inbox rows."""
        at_ms = self.now_ms if at_ms is None else at_ms
        entry = Entry(event, message_id, actor, at_ms)
        step = ProjectionStep(row_change or Unchanged(), entry, file_id)
        for user in users:
            self._steps.setdefault(user, []).append(step)

    def notify_all(self, actor: str | None) -> None:
        """Send `thread.changed` to everybody who sees the thread."""
        self.shows_thread = True
        self.notify(self.state.viewers(), EventType.THREAD_CHANGED, actor=actor)

    def steps_for(self, user: str) -> list[ProjectionStep]:
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
        self._events.append(CommittedEvent(event, at_ms, actor, message_id, data))

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
        job_id: str | None = None,
        attachments: tuple[AttachmentRef, ...] = (),
    ) -> Message:
        """Append the thread's next message, visible to everybody whom no block and no `audience`
        excludes. For a card, the caller writes the item with the card's content."""
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
            job_id=job_id,
            attachments=attachments,
        )
        viewers = [user for user in state.active() if self._may_see(user, author, audience)]
        is_partial = len(viewers) < len(state.active())
        self.put_message(message, viewers if is_partial else None, send_hash, card_id)
        members = dict(state.members)
        newcomers = {user: members[user].floor for user in viewers if not members[user].knows}
        for user in newcomers:
            members[user] = replace(members[user], knows=True)
            # A new row needs a copy of the thread.
            self.shows_thread = True
        self.state = replace(
            state,
            members=members,
            last_seq=message.seq,
            last_message_ms=at_ms,
            last_message_id=message.id,
        )
        self._notify_of(message, [user for user in viewers if user not in newcomers])
        for user, floor in newcomers.items():
            self._notify_of(message, [user], floor)
        self.publish("message.send", author, message_id=message.id, at_ms=at_ms)
        return message

    def _may_see(self, user: str, author: str | None, audience: frozenset[str] | None) -> bool:
        if audience is not None and user not in audience:
            return False
        return author is None or not self.state.is_between(user, author)

    def put_message(
        self,
        message: Message,
        visible_to: list[str] | None = None,
        send_hash: bytes | None = None,
        card_id: str | None = None,
    ) -> None:
        """Add the item of a message to the writes."""
        sort = message_sort(message.id)
        assert sort is not None  # noqa: S101 (its id has just been made)
        item = message_item(
            message, sort, visible_to=visible_to, send_hash=send_hash, card_id=card_id
        )
        self.writes.append(Put(item, UNLESS_THERE))

    def _notify_of(self, message: Message, viewers: list[str], floor: str = "") -> None:
        last: LastMessage = as_last_message(message)
        self.notify(
            viewers,
            EventType.MESSAGE_NEW,
            MessageAdded(last, floor),
            message_id=message.id,
            actor=message.author_id,
            at_ms=message.created_at_ms,
        )

    def append_notice(self, actor: str | None, code: str, **params: Any) -> None:
        """Append a system message."""
        self.append(actor, kind="system", system={"code": code, "params": params})

    def finalize(self) -> tuple[StoredThread, OutboxRecord | None]:
        """The new state of the thread, and the outbox record; None if the change has no events."""
        ver = self.before.ver + 1
        state, groups = self.state, self._groups()
        members = dict(state.members)
        for user in self._steps:
            members[user] = replace(members[user], ver=ver)
        final = replace(state, ver=ver, members=members)
        if not groups and not self._events:
            return final, None
        record = OutboxRecord(
            thread_id=state.id,
            ver=ver,
            kind=state.kind,
            at_ms=self.now_ms,
            groups=groups,
            events=tuple(self._events),
            shows_thread=self.shows_thread,
            thread=row_copy(final) if self.shows_thread else None,
            standing=None if state.standing == NO_STANDING else state.standing,
        )
        return final, record

    def _groups(self) -> tuple[RecipientGroup, ...]:
        alike: dict[tuple[int, ...], tuple[dict[str, int], list[ProjectionStep]]] = {}
        for user, steps in self._steps.items():
            users, _ = alike.setdefault(tuple(map(id, steps)), ({}, steps))
            users[user] = self.before.members[user].ver if user in self.before.members else 0
        return tuple(RecipientGroup(users, tuple(steps)) for users, steps in alike.values())
