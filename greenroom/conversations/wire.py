"""The JSON of threads, messages, inbox rows and events, as each viewer may see them.

These structs are the schemas of the OpenAPI document. `Views` makes them from the model.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, convert
from msgspec.structs import replace

from greenroom.conversations.attachments import AttachmentView, FileView, attachment_view
from greenroom.conversations.markdown import render_plain
from greenroom.conversations.model import (
    Event,
    EventType,
    FileSummary,
    InboxRow,
    LastMessage,
    Media,
    Message,
    Participant,
    ReadMark,
    Receipt,
    Thread,
    ThreadKind,
    derive_state,
)
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.kept import reads_kept
from greenroom.kernel.limits import Limits

Placement = Literal["inbox", "requests", "archived", "spam"]
Kind = Literal["inquiry", "invite", "project", "dispute", "support", "system"]
State = Literal[
    "open", "awaiting_reply", "pending_decision", "confirmed", "completed", "disputed", "archived"
]
Badge = Literal["action", "booking", "muted"]
RoleName = Literal["buyer", "seller", "host", "support", "admin"]


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
    """A system message: a code that clients turn into text, and its parameters."""

    code: str
    params: dict[str, Any]


class CardActionView(Struct, frozen=True):
    """An action that the viewer can take on a card now. `input` is the JSON Schema of its input."""

    action: str
    label: str
    style: Literal["primary", "secondary", "danger"]
    input: dict[str, Any] | None


class CardLabels(Struct, frozen=True):
    title: str
    state: str


class CardView(Struct, frozen=True, omit_defaults=True):
    """A card as it is now. `message_id` is null until its message is in the thread. `files` has
    the files that it shows, as the viewer may see them."""

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
    files: list[FileView] | None = None


ShowCard = Callable[[dict[str, Any], str | None], CardView | dict[str, Any]]
"""Turns a stored card, with its `message_id` added, into the card for one viewer, with the actions
that they may take."""


def show_shadow(shadow: dict[str, Any], _viewer: str | None) -> CardView:
    """The card without actions, which the cards package would add."""
    empty: dict[str, Any] = {"totals": {}, "waits_for": [], "available_actions": []}
    shown = {name: value for name, value in shadow.items() if name != "files"}
    return convert({**dict.fromkeys(_NULLABLE), **empty, **shown}, CardView)


_NULLABLE = ["message_id", "buyer", "seller", "group_id", "leg_id", "answers_card", "expires_at"]


class MessageView(Struct, frozen=True):
    """A message. Only its author sees `client_id`. A deleted message keeps its place, with an empty
    body and without its files.

    A card can be accepted before its message is in the thread: until then `id` and `seq` are null.
    """

    id: str | None
    thread_id: str
    seq: int | None
    author_id: str | None
    kind: Literal["text", "asset", "card", "system"]
    body: str
    body_html: str
    attachments: list[AttachmentView]
    system: SystemNotice | None
    reply_to: str | None
    created_at: str
    edited_at: str | None
    deleted_at: str | None
    card: CardView | None = None
    client_id: str | UnsetType = UNSET


class FileSummaryView(Struct, frozen=True):
    """The files of a message: how many, and of which kind; `other` if of several kinds."""

    media: Media
    count: int


class LastMessageView(Struct, frozen=True):
    """`preview` is empty for files without a caption: clients say what `files` has."""

    id: str
    author_id: str | None
    kind: Literal["text", "asset", "card", "system"]
    preview: str
    system: SystemNotice | None
    created_at: str
    deleted_at: str | None
    card_type: str | None = None
    files: FileSummaryView | None = None


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
    has_files: bool
    muted_until: str | None
    last_read: ReadMarkView | None
    last_message: LastMessageView | None
    last_message_at: str | None
    last_sender_id: str | None


class BookingRefView(Struct, frozen=True):
    """A booking of the thread: its group, or one of its legs."""

    group_id: str | None
    leg_id: str | None


class ThreadView(Struct, frozen=True):
    """`group_id` or `leg_id` is the current booking. `bookings` are the earlier ones, all of whose
    legs are completed or cancelled, oldest first. `external_key` is your backend's own key of the
    thread; only your backend sees it."""

    id: str
    kind: Kind
    state: State
    locked: bool
    subject: str | None
    role_context: str | None
    job_id: str | None
    group_id: str | None
    leg_id: str | None
    bookings: list[BookingRefView]
    city: str | None
    safe_mode_required: bool
    request_state: Literal["none", "pending", "accepted", "declined"]
    opened_by: str
    participants: list[ParticipantView]
    last_message_at: str | None
    last_sender_id: str | None
    created_at: str
    updated_at: str
    external_key: str | UnsetType | None = UNSET


class ReceiptView(Struct, frozen=True):
    user_id: str
    kind: Literal["delivered", "read"]
    message_id: str
    seq: int
    at: str


class EventView(Struct, frozen=True, omit_defaults=True):
    """One change. The field named after what changed has its complete current value, as the viewer
    may see it. For `card.changed` that is `card`, whose `message_id` is the message that shows it.
    For `file.changed` it is `file`, and `message_id` is the message that shows it; without one, the
    file is the viewer's own and not sent yet.

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
    message_id: str | None = None
    file: FileView | None = None


class Views:
    """Makes JSON structs of model values for one viewer. `viewer` is None for the marketplace's
    backend. `files` has what the viewer may see of the files in these values, by id."""

    def __init__(
        self,
        viewer: str | None,
        now_ms: int,
        limits: Limits,
        show_card: ShowCard = show_shadow,
        files: Mapping[str, FileView] | None = None,
    ) -> None:
        self._files = files or {}
        self._viewer = viewer
        self._now_ms = now_ms
        self._limits = limits
        self._show_card = show_card

    @reads_kept
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
            attachments=self._attachments(message),
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
        card = shown if isinstance(shown, CardView) else convert(shown, CardView)
        if "files" not in message.card:
            return card
        return replace(card, files=self._files_of(message.card["files"]))

    def _attachments(self, message: Message) -> list[AttachmentView]:
        if not message.attachments:
            return []
        files = self._files_of(each.file_id for each in message.attachments)
        return [attachment_view(file) for file in files]

    def _files_of(self, file_ids: Iterable[str]) -> list[FileView]:
        return [self._files[each] for each in file_ids if each in self._files]

    @reads_kept
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
            has_files=inbox.file_messages > 0,
            muted_until=_time(inbox.muted_until_ms),
            last_read=_mark(inbox.last_read),
            last_message=_last_message(last),
            last_message_at=_time(last.created_at_ms if last else None),
            last_sender_id=last.author_id if last else None,
        )

    @reads_kept
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
            bookings=[BookingRefView(*each) for each in thread.bookings],
            city=thread.city,
            safe_mode_required=thread.safe_mode_required,
            request_state=thread.request_state,  # type: ignore[arg-type]
            opened_by=thread.opened_by,
            participants=[_participant(each) for each in thread.participants],
            last_message_at=_time(last.created_at_ms if last else None),
            last_sender_id=last.author_id if last else None,
            created_at=rfc3339(thread.created_at_ms),
            updated_at=rfc3339(thread.updated_at_ms),
            external_key=UNSET if self._viewer is not None else thread.external_key,
        )

    @reads_kept
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
            message_id=event.message_id,
            file=None if event.file_id is None else self._files.get(event.file_id),
        )

    def _badges(self, inbox: InboxRow) -> list[Badge]:
        """The badges beside a thread in the inbox, most urgent first."""
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
        files=_summary(message.files),
    )


def _summary(files: FileSummary | None) -> FileSummaryView | None:
    return None if files is None else FileSummaryView(files.media, files.count)


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
