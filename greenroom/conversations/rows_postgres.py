"""Rows of the PostgreSQL conversation store as the room's nouns."""

from dataclasses import replace
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.conversations.model import (
    MESSAGE_EVENTS,
    Cursor,
    Event,
    EventType,
    InboxRow,
    LastMessage,
    Message,
    Participant,
    ReadMark,
    Receipt,
    Thread,
    as_last_message,
)
from greenroom.conversations.store import DomainEvent

# In the place of a message id: this `thread.changed` is the last of someone who left. It stays so
# when they come back, or a client that was away all the while would keep what is not theirs.
LEFT = ""

# A receipt of delivery as the feed keeps it; without the second part it is one of reading.
DELIVERED = "receipt.delivered"

_ParticipantRow = tuple[str, str, str | None, str, str, int, str, int | None, str, int | None]
_participants = msgspec.json.Decoder(list[_ParticipantRow])


def message_from(row: Record, prefix: str = "") -> Message:
    return Message(
        id=row[prefix + "message_id"],
        thread_id=row[prefix + "thread_id"],
        seq=row[prefix + "seq"],
        author_id=row[prefix + "sender_user"],
        kind=row[prefix + "kind"],
        body=row[prefix + "body_text"],
        body_html=row[prefix + "body_html"],
        system=_json(row[prefix + "system"]),
        reply_to=row[prefix + "reply_to"],
        client_id=row[prefix + "client_id"],
        created_at_ms=row[prefix + "created_at"],
        edited_at_ms=row[prefix + "edited_at"],
        deleted_at_ms=row[prefix + "deleted_at"],
        card=_json(row[prefix + "card_payload"]),
    )


def inbox_from(row: Record) -> InboxRow:
    return InboxRow(
        thread_id=row["i_thread_id"],
        thread_kind=row["thread_kind"],
        placement=row["folder"],
        unread_count=row["unread_count"],
        pinned=row["pinned"],
        starred=row["starred"],
        awaits_reply=row["awaits_reply"],
        needs_action=row["needs_action"],
        muted_until_ms=row["muted_until"],
        last_read=_mark(row["last_read_id"], row["last_read_ts"]),
        last_message=_last_message(row),
        last_activity_ms=row["last_msg_ts"],
        stage=row["thread_stage"],
        open_cards=row["thread_open_cards"],
    )


def _last_message(row: Record) -> LastMessage | None:
    """Of a card a list shows no more than its type, and no more of it is read."""
    if row["l_message_id"] is None:
        return None
    return replace(as_last_message(message_from(row, "l_")), card_type=row["l_card_type"])


def thread_from(row: Record, *, with_inbox: bool = True) -> Thread:
    inbox = inbox_from(row) if with_inbox else None
    # What others may know of one's reading can stand still; to oneself that would tell of a block.
    own = {row["i_user_id"]: inbox.last_read} if inbox is not None else {}
    # Nor does a mark name what was written before the viewer joined.
    joined_after = row["visible_after_id"] if inbox is not None else ""

    def mark(message_id: str, at_ms: int | None) -> ReadMark | None:
        return _mark(message_id, at_ms) if message_id > joined_after else None

    return Thread(
        id=row["thread_id"],
        kind=row["kind"],
        locked=row["locked"],
        subject=row["subject"],
        role_context=row["role_context"],
        job_id=row["job_id"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        city=row["city"],
        safe_mode_required=row["safe_mode_required"],
        request_state=row["request_state"],
        opened_by=row["opened_by_user"],
        created_at_ms=row["created_at"],
        updated_at_ms=row["updated_at"],
        participants=tuple(
            Participant(
                *(user_id, name, avatar, role, status, joined),
                own.get(user_id, mark(read_id, read_at)),
                # One's own clients know what they have; no event tells of it.
                None if user_id in own else mark(arrived_id, arrived_at),
            )
            for (
                user_id,
                name,
                avatar,
                role,
                status,
                joined,
                read_id,
                read_at,
                arrived_id,
                arrived_at,
            ) in _participants.decode(row["participants"])
        ),
        inbox=inbox,
        stage=row["stage"],
        open_cards=row["open_cards"],
    )


def event_from(row: Record, epoch: str, threads: dict[str, Thread]) -> Event | None:
    """None for what this viewer has lost sight of; `threads` has the ones that they still see."""
    is_delivery = row["type"] == DELIVERED
    kind = EventType.RECEIPT if is_delivery else EventType(row["type"])
    event = Event(kind, Cursor(epoch, row["n"]), row["at"], row["f_thread_id"])
    if kind == EventType.THREAD_CHANGED:
        if row["f_message_id"] == LEFT:
            return event
        return replace(event, thread=threads.get(row["f_thread_id"]))
    if row["i_thread_id"] is None:
        return None
    if kind in MESSAGE_EVENTS:
        if row["message_id"] is None:
            return None
        return replace(event, message=message_from(row), inbox=inbox_from(row))
    if kind == EventType.RECEIPT:
        if row["message_id"] is None:
            return None
        receipt = Receipt(
            row["actor"],
            "delivered" if is_delivery else "read",
            row["message_id"],
            row["seq"],
            row["at"],
        )
        return replace(event, receipt=receipt)
    return replace(event, inbox=inbox_from(row))


def domain_event_from(row: Record) -> DomainEvent:
    return DomainEvent(
        row["event"],
        row["occurred_at"],
        row["actor"],
        row["thread_id"],
        row["message_id"],
        _json(row["data"]),
    )


def _mark(message_id: str, at_ms: int | None) -> ReadMark | None:
    return ReadMark(message_id, at_ms) if message_id and at_ms is not None else None


def _json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
