"""Messages and inbox rows as items, and how each kind of change alters a row. Pure.

An inbox row is one person's copy of what the inbox shows of a thread. Changes are applied to it one
by one. Its content is packed, so that a page of the inbox is one query of small items.
"""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from greenroom.conversations.dynamodb.items.keys import (
    UnreadKey,
    inbox_partition,
    inbox_sort,
    row_key,
    thread_partition,
    unread_partition,
)
from greenroom.conversations.dynamodb.items.threads import PublicThread, StoredStanding
from greenroom.conversations.inbox import Placement
from greenroom.conversations.model import AttachmentRef, InboxRow, LastMessage, Message, ReadMark
from greenroom.kernel.ids import id_time_ms
from greenroom.kernel.kept import reads_kept
from greenroom.platform.dynamodb.values import Item

_MESSAGE = {
    "authorUserId": "author_id",
    "html": "body_html",
    "system": "system",
    "replyTo": "reply_to",
    "clientId": "client_id",
    "editedAt": "edited_at_ms",
    "deletedAt": "deleted_at_ms",
    "jobId": "job_id",
}


def message_item(
    message: Message,
    sort: str,
    *,
    visible_to: list[str] | None,
    send_hash: bytes | None,
    card_id: str | None = None,
) -> Item:
    item: Item = {
        "pk": thread_partition(message.thread_id),
        "sk": sort,
        "seq": message.seq,
        "type": message.kind,
        "body": message.body,
    }
    for name, attribute in _MESSAGE.items():
        value = getattr(message, attribute)
        if value is not None:
            item[name] = value
    if visible_to is not None:
        item["visibleTo"] = visible_to
    if message.attachments:
        item["files"] = files_item(message.attachments)
    if send_hash is not None:
        item["sendHash"] = send_hash
    if message.card is not None:
        item |= {"cardId": card_id, "cardType": message.card["type"]}
    return item


def files_item(attachments: Sequence[AttachmentRef]) -> list[str]:
    """`{media}#{file id}` of each."""
    return [f"{each.media}#{each.file_id}" for each in attachments]


def files_from(item: Item) -> tuple[AttachmentRef, ...]:
    """The files of a message item, or of an earlier version of one."""
    pairs = (each.partition("#") for each in item.get("files", ()))
    return tuple(AttachmentRef(file_id, media) for media, _, file_id in pairs)


@reads_kept
def message_from(item: Item) -> Message:
    """Of a card it has only the type; `with_cards` adds the content."""
    message_id: str = item["sk"].rpartition("#")[2]
    return Message(
        id=message_id,
        thread_id=item["pk"].partition("#")[2],
        seq=item["seq"],
        kind=item["type"],
        body=item["body"],
        created_at_ms=id_time_ms(message_id),
        card={"type": item["cardType"]} if "cardType" in item else None,
        attachments=files_from(item),
        **{attribute: item.get(name) for name, attribute in _MESSAGE.items()},
    )


@reads_kept
def is_visible(item: Item, viewer: str, floor: str) -> bool:
    audience = item.get("visibleTo")
    message_id: str = item["sk"].rpartition("#")[2]
    return message_id > floor and (audience is None or viewer in audience)


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """The content of a row, as a page of the inbox needs it. Stored by position: add new fields at
    the end."""

    kind: str
    placement: str
    activity_ms: int
    unread: int = 0
    pinned: bool = False
    starred: bool = False
    awaits_reply: bool = False
    last: LastMessage | None = None
    read_id: str = ""
    read_ms: int | None = None
    muted_until_ms: int | None = None
    floor: str = ""
    thread: PublicThread | None = None
    stage: str | None = None
    open_cards: int = 0
    needs_action: bool = False
    file_messages: int = 0


class Row(msgspec.Struct, frozen=True):
    thread_id: str
    user_id: str
    ver: int
    """The version of the thread that this row reflects."""
    n: int
    """The feed number of the last event that changed it."""
    packed: Packed | None
    """None: the user does not see the thread (any more)."""


_LAST = Packed.__struct_fields__.index("last")
_RARE = slice(Packed.__struct_fields__.index("stage"), None)
_packer = msgspec.msgpack.Encoder()
_unpacker = msgspec.msgpack.Decoder(Packed)


def row_item(row: Row) -> Item:
    pk, sk = row_key(row.thread_id, row.user_id)
    item: Item = {"pk": pk, "sk": sk, "ver": row.ver, "n": row.n}
    packed = row.packed
    if packed is None:
        return item
    item["row"] = _pack(packed)
    item["gsi1pk"] = inbox_partition(row.user_id, packed.placement)
    item["gsi1sk"] = inbox_sort(
        pinned=packed.pinned, at_ms=packed.activity_ms, thread_id=row.thread_id
    )
    if is_counted(packed):
        item["gsi2pk"] = unread_partition(row.user_id)
        item["gsi2sk"] = str(unread_key_of(packed, row.thread_id))
    if packed.read_id:
        item["lastReadMsgId"] = packed.read_id
    if packed.read_ms is not None:
        item["lastReadAt"] = packed.read_ms
    if packed.muted_until_ms is not None:
        item["mutedUntil"] = packed.muted_until_ms
    return item


def _pack(packed: Packed) -> bytes:
    """Without the fields that most rows do not need, because every byte is read with every page of
    the inbox: most threads have no booking and no files, and most last messages are plain texts."""
    values = msgspec.to_builtins(packed)
    if not any(values[_RARE]):
        del values[_RARE]
    for name in ("card_type", "files"):
        if packed.last is not None and getattr(packed.last, name) is None:
            del values[_LAST][name]
    # Several ids inside are equal or start alike, so compression halves the size.
    return zlib.compress(_packer.encode(values), 6, -15)


def is_counted(packed: Packed) -> bool:
    """Whether a count of the inbox includes it."""
    return packed.unread > 0 or packed.needs_action


def unread_key_of(packed: Packed, thread_id: str) -> UnreadKey:
    return UnreadKey(
        packed.placement,
        packed.kind,
        thread_id,
        needs_action=packed.needs_action,
        is_unread=packed.unread > 0,
    )


@reads_kept
def row_from(item: Item) -> Row:
    packed = item.get("row")
    return Row(
        thread_id=item["pk"].partition("#")[2],
        user_id=item["sk"].partition("#")[2],
        ver=item.get("ver", 0),
        n=item["n"],
        packed=None if packed is None else _unpacker.decode(zlib.decompress(packed, -15)),
    )


@reads_kept
def inbox_row(thread_id: str, packed: Packed) -> InboxRow:
    is_marked = packed.read_id and packed.read_ms is not None
    return InboxRow(
        thread_id=thread_id,
        thread_kind=packed.kind,
        placement=packed.placement,
        unread_count=packed.unread,
        pinned=packed.pinned,
        starred=packed.starred,
        awaits_reply=packed.awaits_reply,
        needs_action=packed.needs_action,
        muted_until_ms=packed.muted_until_ms,
        last_read=ReadMark(packed.read_id, packed.read_ms or 0) if is_marked else None,
        last_message=packed.last,
        last_activity_ms=packed.activity_ms,
        stage=packed.stage,
        open_cards=packed.open_cards,
        file_messages=packed.file_messages,
    )


# Changes of rows. The tags are stored in outbox records.


class MessageAdded(msgspec.Struct, frozen=True, omit_defaults=True, tag="said"):
    """A message was appended. `floor` is for a row that begins with it: the last message before the
    person joined."""

    message: LastMessage
    floor: str = ""


class MessageEdited(msgspec.Struct, frozen=True, tag="edited"):
    message_id: str
    preview: str


class MessageDeleted(msgspec.Struct, frozen=True, omit_defaults=True, tag="deleted"):
    message_id: str
    author_id: str | None
    at_ms: int
    had_files: bool = False


class MarkedRead(msgspec.Struct, frozen=True, tag="read"):
    message_id: str
    at_ms: int
    unread: int


class RowSettings(msgspec.Struct, frozen=True, tag="arranged"):
    """What a person can set on their own row; replaces the previous settings."""

    placement: str
    pinned: bool
    starred: bool
    muted_until_ms: int | None


class Joined(msgspec.Struct, frozen=True, tag="joined"):
    """A new row for someone who joined or joined again. They do not see messages up to `floor`."""

    at_ms: int
    floor: str = ""


class Left(msgspec.Struct, frozen=True, tag="left"):
    pass


class Unchanged(msgspec.Struct, frozen=True, tag="shown"):
    """The row keeps its values; the thread itself or somebody's read mark has changed."""


class Recounted(msgspec.Struct, frozen=True, omit_defaults=True, tag="recounted"):
    """Values that were computed again from the messages."""

    unread: int
    activity_ms: int
    awaits_reply: bool
    last: LastMessage | None
    file_messages: int = 0


RowChange = (
    MessageAdded
    | MessageEdited
    | MessageDeleted
    | MarkedRead
    | RowSettings
    | Joined
    | Left
    | Unchanged
    | Recounted
)


def apply_row_change(
    packed: Packed | None, change: RowChange, user: str, kind: str
) -> Packed | None:
    """The row after a change; `kind` is the thread's."""
    if isinstance(change, Left):
        return None
    if isinstance(change, Joined):
        return Packed(kind, Placement.INBOX, change.at_ms, read_id=change.floor, floor=change.floor)
    if packed is None:
        if not isinstance(change, MessageAdded):
            return None
        at_ms, floor = change.message.created_at_ms, change.floor
        packed = Packed(kind, Placement.INBOX, at_ms, read_id=floor, floor=floor)
    if isinstance(change, MessageAdded):
        return _message_added(packed, change.message, user)
    if isinstance(change, MessageEdited):
        last = packed.last
        if last is not None and last.id == change.message_id:
            return _replace(packed, last=replace(last, preview=change.preview))
        return packed
    if isinstance(change, MessageDeleted):
        return _deleted(packed, change, user)
    if isinstance(change, MarkedRead):
        return _replace(
            packed, read_id=change.message_id, read_ms=change.at_ms, unread=change.unread
        )
    if isinstance(change, Unchanged):
        return packed
    return _replace(packed, **msgspec.structs.asdict(change))


def with_standing(packed: Packed, user: str, kind: str, standing: StoredStanding) -> Packed:
    """The row with the thread's kind and standing."""
    return _replace(
        packed,
        kind=kind,
        stage=standing.stage,
        open_cards=standing.open_cards,
        needs_action=user in standing.waits_for,
    )


def _message_added(packed: Packed, message: LastMessage, user: str) -> Packed:
    is_own = message.author_id == user
    # An archived thread returns to the inbox when somebody else writes.
    comes_back = packed.placement == Placement.ARCHIVED and not is_own
    return _replace(
        packed,
        placement=Placement.INBOX if comes_back else packed.placement,
        activity_ms=message.created_at_ms,
        unread=packed.unread + (not is_own),
        awaits_reply=not is_own and message.kind != "system",
        last=message,
        file_messages=packed.file_messages + (message.files is not None),
    )


def _deleted(packed: Packed, gone: MessageDeleted, user: str) -> Packed:
    """A deleted message no longer counts as unread."""
    is_unread = packed.read_id < gone.message_id and gone.author_id != user
    last = packed.last
    if last is not None and last.id == gone.message_id:
        last = replace(last, preview="", deleted_at_ms=gone.at_ms, files=None)
    return _replace(
        packed,
        unread=packed.unread - is_unread,
        last=last,
        file_messages=packed.file_messages - gone.had_files,
    )


def _replace(packed: Packed, **changes: Any) -> Packed:
    return msgspec.structs.replace(packed, **changes)
