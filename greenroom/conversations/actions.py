"""What people and the marketplace's backend can do with threads: one method per use case.

Each checks its input and calls the store; rest/ and realtime/ call nothing else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from greenroom.conversations import markdown
from greenroom.conversations.attachments import (
    Attachments,
    FileView,
    NoAttachments,
    look_for,
    uses_in_events,
    uses_in_messages,
)
from greenroom.conversations.inbox import InboxChanges, InboxFilter, InboxKey, InboxPage
from greenroom.conversations.model import (
    AttachmentRef,
    Cursor,
    Draft,
    Message,
    Role,
    Thread,
    ThreadDraft,
    ThreadKind,
    normalise_body,
    normalise_label,
)
from greenroom.conversations.store import (
    Block,
    BlockKey,
    Changes,
    ConversationStore,
    MessagePage,
    Send,
    Sent,
    Started,
    StartLimit,
)
from greenroom.conversations.wire import ShowCard, show_shadow
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    Forbidden,
    InvalidRequest,
    NotFound,
    ThreadNotFound,
    Unreadable,
    UploadQuarantined,
    UserNotFound,
)
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import KeepsAnswers, Kept, Once

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
USUAL_PAGE = 50
"""Items of a page whose size the caller has not chosen."""

STARTABLE = frozenset({ThreadKind.INQUIRY, ThreadKind.INVITE})
OPERATOR_ROLES = frozenset({Role.SUPPORT, Role.ADMIN})
_CLIENT_ID = re.compile(r"[\x21-\x7e]+")


class People(Protocol):
    """What this package needs to know about accounts."""

    async def require_users(self, user_ids: Sequence[str]) -> None:
        """Raises UserNotFound unless all of them exist."""
        ...

    async def is_verified(self, user_id: str) -> bool: ...


class Listener(Protocol):
    """Is called after a change, to update typing and presence at once. Implementations return
    quickly and never raise; a call that is lost does no harm."""

    def message_sent(self, user: str, thread_id: str) -> None: ...

    def look_again_at(self, users: Iterable[str]) -> None:
        """What others may see of these people's presence has changed."""
        ...


class Conversations:
    def __init__(
        self,
        store: ConversationStore,
        people: People,
        listener: Listener,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        require_job: bool = False,
        show_card: ShowCard = show_shadow,
        attachments: Attachments | None = None,
    ) -> None:
        self._attachments: Attachments = attachments or NoAttachments()
        self.show_card = show_card
        self._require_job = require_job
        self._store = store
        self._people = people
        self._listener = listener
        self._clock = clock
        self._randomness = randomness
        self._limits = limits

    @property
    def keeper(self) -> KeepsAnswers:
        """Stores answers by Idempotency-Key."""
        return self._store

    async def start_thread(
        self,
        opener: str,
        *,
        kind: ThreadKind,
        to: Sequence[str],
        client_id: str,
        body: str,
        subject: str | None = None,
        role_context: str | None = None,
        job_id: str | None = None,
        listing_key: str | None = None,
        once: Once | None = None,
    ) -> Started | Kept:
        """The opener becomes the buyer, the recipients become sellers. If the opener already has a
        thread with the recipient under this `listing_key`, the message is appended there."""
        if kind not in STARTABLE:
            raise InvalidRequest(f"kind must be one of {', '.join(sorted(STARTABLE))}")
        self._check_recipients(opener, to)
        await self._people.require_users(to)
        draft = ThreadDraft(
            id=make_id("thr", self._clock(), self._randomness()),
            kind=kind,
            opened_by=opener,
            members={opener: Role.BUYER, **dict.fromkeys(to, Role.SELLER)},
            subject=normalise_label("subject", subject, self._limits.subject_characters),
            role_context=self._label("role_context", role_context),
            job_id=self._label("job_id", job_id),
            listing_key=self._listing_key(listing_key, to),
        )
        await self._check_job(draft.job_id, draft.members)
        limits = self._start_limits(is_verified=await self._people.is_verified(opener))
        first = self._draft(client_id, body)
        started = await self._store.start_thread(
            draft, first, limits, once, cost_ms=self._send_cost_ms
        )
        if isinstance(started, Started):
            self._listener.message_sent(opener, started.thread.id)
        return started

    def _listing_key(self, text: str | None, to: Sequence[str]) -> str | None:
        if text is None:
            return None
        most = self._limits.listing_key_characters
        key = normalise_label("listing_key", text, most)
        if key is None:
            raise InvalidRequest(f"listing_key takes 1–{most} characters, or is left out")
        if len(to) != 1:
            raise InvalidRequest("listing_key is allowed with exactly one recipient")
        return key

    def _check_recipients(self, opener: str, to: Sequence[str]) -> None:
        if not to or len(set(to)) != len(to):
            raise InvalidRequest("to must name at least one recipient, each once")
        if opener in to:
            raise InvalidRequest("to names yourself; write to someone else")
        if len(to) + 1 > self._limits.participants:
            raise InvalidRequest(f"a thread has at most {self._limits.participants} participants")

    def _start_limits(self, *, is_verified: bool) -> tuple[StartLimit, ...]:
        limits = self._limits
        if is_verified:
            per_hour, per_day = limits.verified_starts_per_hour, limits.verified_starts_per_day
        else:
            per_hour, per_day = limits.starts_per_hour, limits.starts_per_day
        return StartLimit(per_hour, HOUR_MS), StartLimit(per_day, DAY_MS)

    async def send(
        self,
        author: str,
        thread_id: str,
        *,
        client_id: str,
        body: str = "",
        attachments: Sequence[str] = (),
        reply_to: str | None = None,
        key: str | None = None,
        fingerprint: bytes | None = None,
    ) -> Sent:
        """`attachments` are ids of files that the author has uploaded for this thread. With files
        the body is a caption and may be empty."""
        draft = self._draft(client_id, body, reply_to, has_files=bool(attachments))
        if attachments:
            try:
                refs = await self._attachments.check(author, thread_id, attachments)
            except (NotFound, UploadQuarantined) as refused:
                return await self._repeat_of(author, thread_id, draft, attachments, refused)
            draft = replace(draft, attachments=refs)
        if reply_to is not None:
            await self.access_message(author, thread_id, reply_to)
        sent = await self._store.append(
            Send(thread_id, author, draft, self._send_cost_ms, key, fingerprint if key else None)
        )
        self._listener.message_sent(author, thread_id)
        return sent

    async def _repeat_of(
        self,
        author: str,
        thread_id: str,
        draft: Draft,
        file_ids: Sequence[str],
        refused: NotFound | UploadQuarantined,
    ) -> Sent:
        """A repeat gets its message, whatever has become of the files meanwhile."""
        files = tuple(AttachmentRef(each, "other") for each in file_ids)
        before = await self._store.sent_before(author, thread_id, replace(draft, attachments=files))
        if before is None:
            raise refused
        return Sent(before, is_repeat=True)

    @property
    def _send_cost_ms(self) -> int:
        """What one send adds to the author's rate limit, of 60,000 ms per minute and thread."""
        return max(1, MINUTE_MS // self._limits.sends_per_minute)

    def _draft(
        self, client_id: str, body: str, reply_to: str | None = None, *, has_files: bool = False
    ) -> Draft:
        limit = self._limits.client_id_characters
        if len(client_id) > limit or _CLIENT_ID.fullmatch(client_id) is None:
            raise InvalidRequest(f"client_id takes 1–{limit} printable ASCII characters, no spaces")
        text = normalise_body(body, self._limits, may_be_empty=has_files)
        return Draft(client_id, text, markdown.render(text), reply_to)

    def _label(self, name: str, text: str | None) -> str | None:
        return normalise_label(name, text, self._limits.label_characters)

    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str
    ) -> Message:
        # The store knows whether there are files, whose caption may be empty.
        text = normalise_body(body, self._limits, may_be_empty=True)
        return await self._store.edit_message(
            author, thread_id, message_id, text, markdown.render(text)
        )

    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        return await self._store.delete_message(author, thread_id, message_id)

    async def access_thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor]:
        found = await self._store.thread(viewer, thread_id)
        if found is None:
            raise ThreadNotFound
        return found

    async def access_messages(
        self,
        viewer: str,
        thread_id: str,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> MessagePage:
        if before is not None and after is not None:
            raise InvalidRequest("before and after exclude each other")
        limit = self._checked_limit(limit, self._limits.messages_page)
        page = await self._store.messages(
            viewer, thread_id, before=before, after=after, limit=limit
        )
        if page is None:
            raise ThreadNotFound
        return page

    async def access_message(self, viewer: str, thread_id: str, message_id: str) -> Message:
        message = await self._store.message(viewer, thread_id, message_id)
        if message is None:
            raise NotFound("There is no such message in this thread.")
        return message

    async def inbox(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int | None
    ) -> InboxPage:
        limit = self._checked_limit(limit, self._limits.page)
        q = normalise_label("q", asked.q, self._limits.search_characters)
        return await self._store.inbox(viewer, replace(asked, q=q), after=after, limit=limit)

    async def set_inbox_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        return await self._store.set_inbox_row(viewer, thread_id, changes)

    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        """Up to `limit` events; fewer if a later one cannot be read. Raises Unreadable when the
        next event itself cannot be read."""
        limit = self._checked_limit(limit, self._limits.page)
        while True:
            try:
                changes = await self._store.changes(viewer, since, limit)
                return await self.with_files(viewer, changes)
            except Unreadable:
                if limit == 1:
                    raise
                limit //= 2

    async def with_files(self, viewer: str, changes: Changes) -> Changes:
        """The events with what the viewer may see of their files."""
        files = await look_for(self._attachments, viewer, uses_in_events(changes.events))
        return replace(changes, files=files) if files else changes

    async def files_in(
        self, viewer: str | None, messages: Iterable[Message]
    ) -> Mapping[str, FileView]:
        """What the viewer may see of the files of these messages, which they may see."""
        return await look_for(self._attachments, viewer, uses_in_messages(messages))

    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        """Record that a client of the viewer has its feed up to this cursor."""
        await self._store.acknowledge(viewer, up_to)

    def _checked_limit(self, limit: int | None, most: int) -> int:
        if limit is None:
            return min(USUAL_PAGE, most)
        if not 1 <= limit <= most:
            raise InvalidRequest(f"limit takes 1–{most}")
        return limit

    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        return await self._store.mark_read(reader, thread_id, up_to, once)

    async def add_participant(
        self, by: str | None, thread_id: str, user_id: str, role: Role, once: Once | None = None
    ) -> Thread | Kept:
        """`by` is None for the backend, which alone may add operators."""
        if by is not None:
            await self.access_thread(by, thread_id)
            if role in OPERATOR_ROLES:
                raise Forbidden("Only your backend adds support or admin.")
        await self._people.require_users([user_id])
        await self._check_newcomer(thread_id, user_id)
        return await self._store.add_participant(by, thread_id, user_id, role, once)

    async def _check_newcomer(self, thread_id: str, user_id: str) -> None:
        job_id = await self._store.job_of_thread(thread_id)
        admitted = None if job_id is None else await self._store.job(job_id)
        if admitted is not None and user_id not in admitted:
            raise UserNotFound("This person is not in the thread's job.")

    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        await self._store.remove_participant(by, thread_id, user_id)
        self._listener.look_again_at([user_id])

    async def promote(
        self,
        thread_id: str,
        *,
        group_id: str | None,
        leg_id: str | None,
        once: Once | None = None,
    ) -> Thread | Kept:
        group_id, leg_id = self._label("group_id", group_id), self._label("leg_id", leg_id)
        if (group_id is None) == (leg_id is None):
            raise InvalidRequest("name either group_id or leg_id")
        return await self._store.promote(thread_id, group_id=group_id, leg_id=leg_id, once=once)

    async def put_job(self, job_id: str, participants: Sequence[str]) -> bool:
        """Set who may talk in a job. Returns whether the job is new."""
        name = self._label("job_id", job_id)
        if name is None or name != job_id:
            raise InvalidRequest("job_id has spaces or characters that cannot be stored")
        if len(set(participants)) > self._limits.job_participants:
            raise InvalidRequest(f"a job has at most {self._limits.job_participants} participants")
        await self._people.require_users(participants)
        return await self._store.put_job(job_id, sorted(set(participants)))

    async def _check_job(self, job_id: str | None, members: Iterable[str]) -> None:
        """Only the participants of a registered job may use it; for others it does not exist."""
        if job_id is None:
            if self._require_job:
                raise InvalidRequest("job_id is required here")
            return
        admitted = await self._store.job(job_id)
        if admitted is None and not self._require_job:
            return
        if admitted is None or not set(members) <= set(admitted):
            raise NotFound("There is no such job for these people.")

    async def block(self, blocker: str, blocked: str, once: Once | None = None) -> Kept | None:
        if blocker == blocked:
            raise InvalidRequest("you cannot block yourself")
        await self._people.require_users([blocked])
        kept = await self._store.block(blocker, blocked, once)
        self._listener.look_again_at([blocker, blocked])
        return kept

    async def blocks(
        self, blocker: str, *, after: BlockKey | None, limit: int | None
    ) -> tuple[tuple[Block, ...], BlockKey | None]:
        """A page of the users whom this person has blocked, and the key of the next page."""
        limit = self._checked_limit(limit, self._limits.page)
        found = await self._store.blocks(blocker, after=after, limit=limit + 1)
        page = found[:limit]
        is_last = len(found) <= limit
        return page, None if is_last else BlockKey(page[-1].created_at_ms, page[-1].user_id)

    async def unblock(self, blocker: str, blocked: str) -> None:
        await self._store.unblock(blocker, blocked)
        self._listener.look_again_at([blocker, blocked])
