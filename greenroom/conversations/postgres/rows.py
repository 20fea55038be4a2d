"""Turns rows of PostgreSQL into threads, messages, inbox rows and events."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.conversations.model import (
    MESSAGE_EVENTS,
    AttachmentRef,
    BookingRef,
    Cursor,
    Event,
    EventType,
    InboxRow,
    LastMessage,
    Media,
    Message,
    Participant,
    ReadMark,
    Receipt,
    Thread,
)
from greenroom.conversations.previews import as_last_message
from greenroom.kernel.kept import reads_kept

# Stands in the place of a message id in the last `thread.changed` of somebody who left. The event
# keeps it when they return: a client that was away meanwhile must drop what it had of the thread.
LEFT = ""

# The feed's type of a receipt of delivery; a receipt of reading is a plain `receipt`.
DELIVERED = "receipt.delivered"

_ParticipantRow = tuple[str, str, str | None, str, str, int, str, int | None, str, int | None]
_attachment_refs = msgspec.json.Decoder(tuple[tuple[str, Media], ...])
_bookings = msgspec.json.Decoder(tuple[BookingRef, ...])
_participants = msgspec.json.Decoder(list[_ParticipantRow])


def head_of(row: Record) -> Cursor:
    """Where a viewer's feed stands."""
    return Cursor(row["epoch"], row["last_n"])


@reads_kept
def message_from(
    row: Record, prefix: str = "", file_stamps: Sequence[str] | None = None
) -> Message:
    return Message(
        id=row[prefix + "message_id"],
        thread_id=row[prefix + "thread_id"],
        seq=row[prefix + "seq"],
        author_id=row[prefix + "sender_user"],
        kind=row[prefix + "kind"],
        body=row[prefix + "body_text"],
        body_html=row[prefix + "body_html"],
        system=_object(row[prefix + "system"]),
        reply_to=row[prefix + "reply_to"],
        client_id=row[prefix + "client_id"],
        created_at_ms=row[prefix + "created_at"],
        edited_at_ms=row[prefix + "edited_at"],
        deleted_at_ms=row[prefix + "deleted_at"],
        card=_object(row[prefix + "card_payload"]),
        job_id=row[prefix + "job_id"],
        attachments=attachments_from(row[prefix + "attachments"], file_stamps),
    )


@reads_kept
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
        file_messages=row["file_messages"],
    )


def _last_message(row: Record) -> LastMessage | None:
    """Of a card, lists show the type only, so the statement reads no more of it."""
    if row["l_message_id"] is None:
        return None
    return replace(as_last_message(message_from(row, "l_")), card_type=row["l_card_type"])


@reads_kept
def thread_from(row: Record, *, with_inbox: bool = True) -> Thread:
    inbox = inbox_from(row) if with_inbox else None
    # The mark that others see stands still while there is a block. Viewers see their own mark as it
    # is, or it would tell them of the block.
    own = {row["i_user_id"]: inbox.last_read} if inbox is not None else {}
    # A mark must not name a message that was written before the viewer joined.
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
                # Of the viewer's own deliveries there are no events, so none are shown.
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
        bookings=_bookings.decode(row["earlier_bookings"]),
        open_cards=row["open_cards"],
        external_key=None if with_inbox else row["external_key"],
    )


@reads_kept
def event_from(row: Record, epoch: str, threads: dict[str, Thread]) -> Event | None:
    """The event as the viewer may see it now; None if they see no more of it. `threads` has the
    threads that they still see."""
    is_delivery = row["type"] == DELIVERED
    kind = EventType.RECEIPT if is_delivery else EventType(row["type"])
    event = Event(kind, Cursor(epoch, row["n"]), row["at"], row["f_thread_id"])
    if kind == EventType.THREAD_CHANGED:
        if row["f_message_id"] == LEFT:
            return event
        return replace(event, thread=threads.get(row["f_thread_id"]))
    if kind == EventType.FILE_CHANGED:
        return _file_event(event, row)
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


def _file_event(event: Event, row: Record) -> Event | None:
    """A file that no message shows is its owner's alone: the feed has the event for nobody else."""
    is_gone = row["message_id"] is None or row["deleted_at"] is not None
    if event.thread_id is not None and row["i_thread_id"] is None:
        return None
    if row["f_message_id"] is not None and is_gone:
        return None
    return replace(event, message_id=row["f_message_id"], file_id=row["file_id"])


def _mark(message_id: str, at_ms: int | None) -> ReadMark | None:
    return ReadMark(message_id, at_ms) if message_id and at_ms is not None else None


def attachments_json(attachments: Sequence[AttachmentRef]) -> str | None:
    """As `append_messages` stores them; `attachments_from` reads it."""
    if not attachments:
        return None
    return msgspec.json.encode([(each.file_id, each.media) for each in attachments]).decode()


def attachments_from(
    text: str | None, stamps: Sequence[str] | None = None
) -> tuple[AttachmentRef, ...]:
    if text is None:
        return ()
    by_id = {stamp.partition(":")[0]: stamp for stamp in stamps or ()}
    refs = _attachment_refs.decode(text)
    return tuple(AttachmentRef(file_id, media, by_id.get(file_id)) for file_id, media in refs)


def _object(text: str | None) -> dict[str, Any] | None:
    return None if text is None else msgspec.json.decode(text, type=dict[str, Any])


def _json(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
