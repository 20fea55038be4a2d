"""Messages and inbox rows as items, and what a change makes of a row: pure, and always the same.

A row is a copy for one person, brought up to date change by change. It holds all that a list shows,
packed, so that a page of the inbox is one query of small items.
"""

import zlib
from dataclasses import replace
from typing import Any

import msgspec

from greenroom.conversations.keys_dynamodb import (
    inbox_partition,
    inbox_sort,
    row_key,
    thread_partition,
    unread_partition,
    unread_sort,
)
from greenroom.conversations.model import InboxRow, LastMessage, Message, ReadMark
from greenroom.conversations.states_dynamodb import PublicThread, Stands
from greenroom.kernel.ids import id_time_ms
from greenroom.platform.dynamodb.values import Item

INBOX = "inbox"
ARCHIVED = "archived"

_MESSAGE = {
    "authorUserId": "author_id",
    "html": "body_html",
    "system": "system",
    "replyTo": "reply_to",
    "clientId": "client_id",
    "editedAt": "edited_at_ms",
    "deletedAt": "deleted_at_ms",
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
    if send_hash is not None:
        item["sendHash"] = send_hash
    if message.card is not None:
        item |= {"cardId": card_id, "cardType": message.card["type"]}
    return item


def message_from(item: Item) -> Message:
    """Of a card no more than its type, until what the thread shows of it is read as well."""
    message_id: str = item["sk"].rpartition("#")[2]
    return Message(
        id=message_id,
        thread_id=item["pk"].partition("#")[2],
        seq=item["seq"],
        kind=item["type"],
        body=item["body"],
        created_at_ms=id_time_ms(message_id),
        card={"type": item["cardType"]} if "cardType" in item else None,
        **{attribute: item.get(name) for name, attribute in _MESSAGE.items()},
    )


def is_visible(item: Item, viewer: str, floor: str) -> bool:
    audience = item.get("visibleTo")
    message_id: str = item["sk"].rpartition("#")[2]
    return message_id > floor and (audience is None or viewer in audience)


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """What of a row is read with lists."""

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


class Row(msgspec.Struct, frozen=True):
    thread_id: str
    user_id: str
    ver: int
    """The version of the thread up to which this row is."""
    n: int
    """The number in the user's feed of the last event that came with it."""
    packed: Packed | None
    """None: the thread does not exist for this user (any more)."""


_LAST = Packed.__struct_fields__.index("last")
_STANDING = slice(Packed.__struct_fields__.index("stage"), None)
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
    if packed.unread:
        item["gsi2pk"] = unread_partition(row.user_id)
        item["gsi2sk"] = unread_sort_of(packed, row.thread_id)
    if packed.read_id:
        item["lastReadMsgId"] = packed.read_id
    if packed.read_ms is not None:
        item["lastReadAt"] = packed.read_ms
    if packed.muted_until_ms is not None:
        item["mutedUntil"] = packed.muted_until_ms
    return item


def _pack(packed: Packed) -> bytes:
    """Most threads have no contract, most last messages are no cards, and every byte is read with
    every page of the inbox: what says so is left out."""
    values = msgspec.to_builtins(packed)
    if not any(values[_STANDING]):
        del values[_STANDING]
    if packed.last is not None and packed.last.card_type is None:
        del values[_LAST]["card_type"]
    # Several of the ids inside are the same or begin alike: compressed they take half the room.
    return zlib.compress(_packer.encode(values), 6, -15)


def unread_sort_of(packed: Packed, thread_id: str) -> str:
    return unread_sort(packed.placement, packed.kind, thread_id, needs_action=packed.needs_action)


def row_from(item: Item) -> Row:
    packed = item.get("row")
    return Row(
        thread_id=item["pk"].partition("#")[2],
        user_id=item["sk"].partition("#")[2],
        ver=item.get("ver", 0),
        n=item["n"],
        packed=None if packed is None else _unpacker.decode(zlib.decompress(packed, -15)),
    )


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
    )


# What happens to rows.


class Said(msgspec.Struct, frozen=True, tag="said"):
    """A message has come."""

    message: LastMessage


class Edited(msgspec.Struct, frozen=True, tag="edited"):
    message_id: str
    preview: str


class Deleted(msgspec.Struct, frozen=True, tag="deleted"):
    message_id: str
    author_id: str | None
    at_ms: int


class Read(msgspec.Struct, frozen=True, tag="read"):
    message_id: str
    at_ms: int
    unread: int


class Arranged(msgspec.Struct, frozen=True, tag="arranged"):
    """What a person has done with their own row, as it is from then on."""

    placement: str
    pinned: bool
    starred: bool
    muted_until_ms: int | None


class Joined(msgspec.Struct, frozen=True, tag="joined"):
    """A row of its own for someone who has come, or come back: nothing before is theirs."""

    at_ms: int
    floor: str = ""


class Left(msgspec.Struct, frozen=True, tag="left"):
    pass


class Shown(msgspec.Struct, frozen=True, tag="shown"):
    """The thread itself has changed, or somebody's mark in it."""


class Recounted(msgspec.Struct, frozen=True, tag="recounted"):
    """Counted anew from the messages."""

    unread: int
    activity_ms: int
    awaits_reply: bool
    last: LastMessage | None


Happening = Said | Edited | Deleted | Read | Arranged | Joined | Left | Shown | Recounted


def after(packed: Packed | None, what: Happening, user: str, kind: str) -> Packed | None:
    """The row after this has happened; `kind` is the thread's."""
    if isinstance(what, Left):
        return None
    if isinstance(what, Joined):
        return Packed(kind, INBOX, what.at_ms, read_id=what.floor, floor=what.floor)
    if packed is None:
        if not isinstance(what, Said):
            return None
        packed = Packed(kind, INBOX, what.message.created_at_ms)
    if isinstance(what, Said):
        return _said(packed, what.message, user)
    if isinstance(what, Edited):
        last = packed.last
        if last is not None and last.id == what.message_id:
            return _replace(packed, last=replace(last, preview=what.preview))
        return packed
    if isinstance(what, Deleted):
        return _deleted(packed, what, user)
    if isinstance(what, Read):
        return _replace(packed, read_id=what.message_id, read_ms=what.at_ms, unread=what.unread)
    if isinstance(what, Shown):
        return packed
    return _replace(packed, **msgspec.structs.asdict(what))


def beside(packed: Packed, user: str, kind: str, stands: Stands) -> Packed:
    """The row with what it says of the thread as a whole."""
    return _replace(
        packed,
        kind=kind,
        stage=stands.stage,
        open_cards=stands.open_cards,
        needs_action=user in stands.waits_for,
    )


def _said(packed: Packed, message: LastMessage, user: str) -> Packed:
    is_own = message.author_id == user
    # What someone put away comes back when somebody else writes.
    comes_back = packed.placement == ARCHIVED and not is_own
    return _replace(
        packed,
        placement=INBOX if comes_back else packed.placement,
        activity_ms=message.created_at_ms,
        unread=packed.unread + (not is_own),
        awaits_reply=not is_own and message.kind != "system",
        last=message,
    )


def _deleted(packed: Packed, gone: Deleted, user: str) -> Packed:
    """A deleted message is no longer unread for those who had not come to it."""
    is_unread = packed.read_id < gone.message_id and gone.author_id != user
    last = packed.last
    if last is not None and last.id == gone.message_id:
        last = replace(last, preview="", deleted_at_ms=gone.at_ms)
    return _replace(packed, unread=packed.unread - is_unread, last=last)


def _replace(packed: Packed, **changes: Any) -> Packed:
    return msgspec.structs.replace(packed, **changes)
