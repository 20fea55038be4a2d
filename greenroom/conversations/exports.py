"""The JSON of threads, messages and earlier versions in the export of a person's data."""

from collections.abc import Sequence
from typing import Any

from greenroom.conversations.model import AttachmentRef, Message, ReadMark, Thread
from greenroom.kernel.clock import rfc3339

Json = dict[str, Any]


def own_part(
    thread_id: str, role: str, status: str, joined_at_ms: int, last_read: ReadMark | None
) -> Json:
    """A thread, limited to the person's own membership: all that is exported of a thread that they
    may no longer see."""
    return {
        "id": thread_id,
        "role": role,
        "status": status,
        "joined_at": rfc3339(joined_at_ms),
        "last_read": _mark(last_read),
    }


def seen_part(thread: Thread) -> Json:
    """The fields that are added for a thread that the person can see."""
    inbox = thread.inbox
    return {
        "kind": thread.kind,
        "subject": thread.subject,
        "role_context": thread.role_context,
        "job_id": thread.job_id,
        "group_id": thread.group_id,
        "leg_id": thread.leg_id,
        "bookings": [each._asdict() for each in thread.bookings],
        "city": thread.city,
        "opened_by": thread.opened_by,
        "created_at": rfc3339(thread.created_at_ms),
        "participants": [
            {
                "user_id": person.user_id,
                "display_name": person.display_name,
                "role": person.role,
                "status": person.status,
                "joined_at": rfc3339(person.joined_at_ms),
                "last_read": _mark(person.last_read),
            }
            for person in thread.participants
        ],
        "inbox": None
        if inbox is None
        else {
            "placement": inbox.placement,
            "unread_count": inbox.unread_count,
            "pinned": inbox.pinned,
            "starred": inbox.starred,
            "muted_until": _time(inbox.muted_until_ms),
        },
    }


def message_for(reader: str, message: Message) -> Json:
    """`visible_to` is left out, because it would reveal that somebody blocked the person."""
    return {
        "id": message.id,
        "thread_id": message.thread_id,
        "seq": message.seq,
        "author_id": message.author_id,
        "kind": message.kind,
        "body": message.body,
        "attachments": files_of(message.attachments),
        "system": message.system,
        "card": message.card,
        "reply_to": message.reply_to,
        "job_id": message.job_id,
        "client_id": message.client_id if message.author_id == reader else None,
        "created_at": rfc3339(message.created_at_ms),
        "edited_at": _time(message.edited_at_ms),
        "deleted_at": _time(message.deleted_at_ms),
    }


def earlier_version(
    thread_id: str,
    message_id: str,
    until_ms: int,
    act: str,
    body: str,
    attachments: Sequence[AttachmentRef] = (),
) -> Json:
    return {
        "thread_id": thread_id,
        "message_id": message_id,
        "until": rfc3339(until_ms),
        "act": act,
        "body": body,
        "attachments": files_of(attachments),
    }


def files_of(attachments: Sequence[AttachmentRef]) -> list[Json]:
    return [{"file_id": each.file_id, "media": each.media} for each in attachments]


def block_of(blocked: str, at_ms: int) -> Json:
    return {"user_id": blocked, "created_at": rfc3339(at_ms)}


def _mark(mark: ReadMark | None) -> Json | None:
    return None if mark is None else {"message_id": mark.message_id, "at": rfc3339(mark.at_ms)}


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
