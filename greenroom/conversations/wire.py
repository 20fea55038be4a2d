"""What clients see of a conversation, as JSON: api.md's names, each viewer's own view."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, convert

from greenroom.conversations.markdown import render_plain
from greenroom.conversations.model import (
    Event,
    EventType,
    InboxRow,
    LastMessage,
    Message,
    Participant,
    ReadMark,
    Receipt,
    Thread,
    ThreadKind,
    derive_state,
)
from greenroom.conversations.store import InboxKey
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.limits import Limits

Placement = Literal["inbox", "requests", "archived", "spam"]
Kind = Literal["inquiry", "invite", "project", "dispute", "support", "system"]
State = Literal[
    "open", "awaiting_reply", "pending_decision", "confirmed", "completed", "disputed", "archived"
]
Badge = Literal["action", "booking", "muted"]
RoleName = Literal["buyer", "seller", "host", "support", "admin"]

_PAGE_KEY = re.compile(r"([01])\.([0-9a-f]{1,11})\.([ -~]{1,64})")


class ReadMarkView(Struct, frozen=True):
    message_id: str
    at: str


class ParticipantView(Struct, frozen=True):
    user_id: str
    display_name: str
    avatar_url: str | None
    role: RoleName
    status: Literal["active", "left", "blocked"]
    joined_at: str
    last_read: ReadMarkView | None
    last_delivered: ReadMarkView | None


class SystemNotice(Struct, frozen=True):
    """What the server says in a thread: a code that clients put into words, and its parts."""

    code: str
    params: dict[str, Any]


class CardActionView(Struct, frozen=True):
    """Something that the viewer can do with a card now; `input` says what it takes besides."""

    action: str
    label: str
    style: Literal["primary", "secondary", "danger"]
    input: dict[str, Any] | None


class CardLabels(Struct, frozen=True):
    title: str
    state: str


class CardView(Struct, frozen=True, omit_defaults=True):
    """A card as it is now. `message_id` is null while its message is on its way to the thread."""

    id: str
    thread_id: str
    message_id: str | None
    type: str
    state: str
    version: int
    payload: dict[str, Any]
    totals: dict[str, Any]
    created_by: str
    buyer: str | None
    seller: str | None
    group_id: str | None
    leg_id: str | None
    answers_card: str | None
    waits_for: list[str]
    expires_at: str | None
    created_at: str
    updated_at: str
    available_actions: list[CardActionView]
    labels: CardLabels | None = None
    signers: list[dict[str, Any]] | None = None


ShowCard = Callable[[dict[str, Any], str | None], CardView | dict[str, Any]]
"""A card's shadow, with the `message_id` that it has, as one viewer may see it and act on it."""


def show_shadow(shadow: dict[str, Any], _viewer: str | None) -> CardView:
    """The card by itself: what can be done with it is another room's to say."""
    empty: dict[str, Any] = {"totals": {}, "waits_for": [], "available_actions": []}
    return convert({**dict.fromkeys(_NULLABLE), **empty, **shadow}, CardView)


_NULLABLE = ["message_id", "buyer", "seller", "group_id", "leg_id", "answers_card", "expires_at"]


class MessageView(Struct, frozen=True):
    """A message. `client_id` is there for its author only. A deleted one keeps its place, empty.

    A card is decided before its message is in the thread: until then `id` and `seq` are null.
    """

    id: str | None
    thread_id: str
    seq: int | None
    author_id: str | None
    kind: Literal["text", "asset", "card", "system"]
    body: str
    body_html: str
    system: SystemNotice | None
    reply_to: str | None
    created_at: str
    edited_at: str | None
    deleted_at: str | None
    card: CardView | None = None
    client_id: str | UnsetType = UNSET


class LastMessageView(Struct, frozen=True):
    id: str
    author_id: str | None
    kind: Literal["text", "asset", "card", "system"]
    preview: str
    system: SystemNotice | None
    created_at: str
    deleted_at: str | None
    card_type: str | None = None


class InboxView(Struct, frozen=True):
    """The viewer's own row for a thread; `state` is the thread's state for them."""

    thread_id: str
    placement: Placement
    state: State
    unread_count: int
    needs_action: bool
    badges: list[Badge]
    pinned: bool
    starred: bool
    muted_until: str | None
    last_read: ReadMarkView | None
    last_message: LastMessageView | None
    last_message_at: str | None
    last_sender_id: str | None


class ThreadView(Struct, frozen=True):
    id: str
    kind: Kind
    state: State
    locked: bool
    subject: str | None
    role_context: str | None
    job_id: str | None
    group_id: str | None
    leg_id: str | None
    city: str | None
    safe_mode_required: bool
    request_state: Literal["none", "pending", "accepted", "declined"]
    opened_by: str
    participants: list[ParticipantView]
    last_message_at: str | None
    last_sender_id: str | None
    created_at: str
    updated_at: str


class ReceiptView(Struct, frozen=True):
    user_id: str
    kind: Literal["delivered", "read"]
    message_id: str
    seq: int
    at: str


class EventView(Struct, frozen=True, omit_defaults=True):
    """One change. What changed stands under its own noun, whole, as the viewer may see it now: of
    `card.changed` the card, whose `message_id` names the message that shows it.

    `thread.changed` without a `thread` means that the viewer is no longer in it.
    """

    type: EventType
    cursor: str
    at: str
    thread_id: str | None = None
    message: MessageView | None = None
    card: CardView | None = None
    inbox: InboxView | None = None
    thread: ThreadView | None = None
    receipt: ReceiptView | None = None


class Views:
    """Shapes nouns for a viewer at a moment; `viewer` is None for the marketplace's backend."""

    def __init__(
        self,
        viewer: str | None,
        now_ms: int,
        limits: Limits,
        show_card: ShowCard = show_shadow,
    ) -> None:
        self._viewer = viewer
        self._now_ms = now_ms
        self._limits = limits
        self._show_card = show_card

    def message(self, message: Message) -> MessageView:
        html = ""
        if message.body:
            html = message.body_html or render_plain(message.body)
        is_own = message.author_id == self._viewer and message.client_id is not None
        return MessageView(
            id=message.id,
            thread_id=message.thread_id,
            seq=message.seq,
            author_id=message.author_id,
            kind=message.kind,  # type: ignore[arg-type]
            body=message.body,
            body_html=html,
            system=_notice(message),
            reply_to=message.reply_to,
            created_at=rfc3339(message.created_at_ms),
            edited_at=_time(message.edited_at_ms),
            deleted_at=_time(message.deleted_at_ms),
            card=self._card(message),
            client_id=message.client_id or UNSET if is_own else UNSET,
        )

    def _card(self, message: Message | None) -> CardView | None:
        if message is None or message.card is None:
            return None
        shown = self._show_card({**message.card, "message_id": message.id}, self._viewer)
        return shown if isinstance(shown, CardView) else convert(shown, CardView)

    def inbox(self, inbox: InboxRow) -> InboxView:
        last = inbox.last_message
        return InboxView(
            thread_id=inbox.thread_id,
            placement=inbox.placement,  # type: ignore[arg-type]
            state=derive_state(inbox.thread_kind, inbox, self._now_ms, self._limits).value,
            unread_count=inbox.unread_count,
            needs_action=inbox.needs_action,
            badges=self._badges(inbox),
            pinned=inbox.pinned,
            starred=inbox.starred,
            muted_until=_time(inbox.muted_until_ms),
            last_read=_mark(inbox.last_read),
            last_message=_last_message(last),
            last_message_at=_time(last.created_at_ms if last else None),
            last_sender_id=last.author_id if last else None,
        )

    def thread(self, thread: Thread) -> ThreadView:
        last = thread.inbox.last_message if thread.inbox else None
        return ThreadView(
            id=thread.id,
            kind=thread.kind,  # type: ignore[arg-type]
            state=derive_state(
                thread.kind,
                thread.inbox,
                self._now_ms,
                self._limits,
                stage=thread.stage,
                open_cards=thread.open_cards,
            ).value,
            locked=thread.locked,
            subject=thread.subject,
            role_context=thread.role_context,
            job_id=thread.job_id,
            group_id=thread.group_id,
            leg_id=thread.leg_id,
            city=thread.city,
            safe_mode_required=thread.safe_mode_required,
            request_state=thread.request_state,  # type: ignore[arg-type]
            opened_by=thread.opened_by,
            participants=[_participant(each) for each in thread.participants],
            last_message_at=_time(last.created_at_ms if last else None),
            last_sender_id=last.author_id if last else None,
            created_at=rfc3339(thread.created_at_ms),
            updated_at=rfc3339(thread.updated_at_ms),
        )

    def event(self, event: Event) -> EventView:
        message, is_card = event.message, event.type == EventType.CARD_CHANGED
        return EventView(
            type=event.type,
            cursor=str(event.cursor),
            at=rfc3339(event.at_ms),
            thread_id=event.thread_id,
            message=self.message(message) if message and not is_card else None,
            card=self._card(message) if is_card else None,
            inbox=self.inbox(event.inbox) if event.inbox else None,
            thread=self.thread(event.thread) if event.thread else None,
            receipt=_receipt(event.receipt),
        )

    def _badges(self, inbox: InboxRow) -> list[Badge]:
        """What a list shows beside a thread, most pressing first."""
        badges: list[Badge] = []
        if inbox.needs_action:
            badges.append("action")
        if inbox.thread_kind == ThreadKind.PROJECT:
            badges.append("booking")
        if inbox.muted_until_ms is not None and inbox.muted_until_ms > self._now_ms:
            badges.append("muted")
        return badges


def _participant(participant: Participant) -> ParticipantView:
    return ParticipantView(
        user_id=participant.user_id,
        display_name=participant.display_name,
        avatar_url=participant.avatar_url,
        role=participant.role,  # type: ignore[arg-type]
        status=participant.status,  # type: ignore[arg-type]
        joined_at=rfc3339(participant.joined_at_ms),
        last_read=_mark(participant.last_read),
        last_delivered=_mark(participant.last_delivered),
    )


def _last_message(message: LastMessage | None) -> LastMessageView | None:
    if message is None:
        return None
    return LastMessageView(
        id=message.id,
        author_id=message.author_id,
        kind=message.kind,  # type: ignore[arg-type]
        preview=message.preview,
        system=_notice(message),
        created_at=rfc3339(message.created_at_ms),
        deleted_at=_time(message.deleted_at_ms),
        card_type=message.card_type,
    )


def _receipt(receipt: Receipt | None) -> ReceiptView | None:
    if receipt is None:
        return None
    return ReceiptView(
        receipt.user_id, receipt.kind, receipt.message_id, receipt.seq, rfc3339(receipt.at_ms)
    )


def _notice(message: Message | LastMessage) -> SystemNotice | None:
    return None if message.system is None else SystemNotice(**message.system)


def _mark(mark: ReadMark | None) -> ReadMarkView | None:
    return None if mark is None else ReadMarkView(mark.message_id, rfc3339(mark.at_ms))


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)


def encode_page_key(key: InboxKey | None) -> str | None:
    """Where the next inbox page starts; opaque to clients."""
    if key is None:
        return None
    text = f"{key.pinned:d}.{key.at_ms:x}.{key.thread_id}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_page_key(text: str | None) -> InboxKey | None:
    if text is None:
        return None
    try:
        padded = text + "=" * (-len(text) % 4)
        plain = base64.b64decode(padded, b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        plain = ""
    match = _PAGE_KEY.fullmatch(plain)
    if match is None:
        raise InvalidRequest("cursor is not one of ours; leave it out to start over")
    return InboxKey(match[1] == "1", int(match[2], 16), match[3])
