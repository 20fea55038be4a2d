"""What the marketplace's backend does with threads, by its API key: one method per use case."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from greenroom.conversations import markdown
from greenroom.conversations.backend_store import KeyedThread, MarketplaceNotice, ThreadFields
from greenroom.conversations.model import (
    Message,
    Role,
    Thread,
    ThreadDraft,
    ThreadKind,
    normalise_body,
    normalise_label,
)
from greenroom.conversations.store import ConversationStore
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import InvalidRequest, ThreadNotFound, UserNotFound
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept, Once

USUAL_PAGE = 50
OPENABLE = frozenset({ThreadKind.INQUIRY, ThreadKind.INVITE, ThreadKind.SUPPORT, ThreadKind.SYSTEM})
FIRST_ID = "msg_" + 26 * "0"
"""Before all messages."""


class People(Protocol):
    async def require_users(self, user_ids: list[str]) -> None:
        """Raises UserNotFound unless all of them exist."""
        ...


class BackendConversations:
    def __init__(
        self,
        store: ConversationStore,
        people: People,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
    ) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._randomness = randomness
        self._limits = limits

    async def open_by_key(
        self,
        key: str,
        *,
        kind: ThreadKind,
        members: Mapping[str, Role],
        fields: ThreadFields,
        job_id: str | None = None,
        first_notice: tuple[str, str] | None = None,
    ) -> KeyedThread:
        """`members` are in the order of the call; the first one counts as the opener.
        `first_notice` is a code and a text."""
        key = self._key(key)
        self._check_members(kind, members)
        labels = self._labels(fields)
        notice = None if first_notice is None else self._notice(*first_notice)
        job_id = normalise_label("job_id", job_id, self._limits.label_characters)
        await self._people.require_users(list(members))
        await self._check_job(job_id, members)
        draft = ThreadDraft(
            id=make_id("thr", self._clock(), self._randomness()),
            kind=kind,
            opened_by=next(iter(members)),
            members=dict(members),
            job_id=job_id,
            subject=_text(labels, "subject"),
            role_context=_text(labels, "role_context"),
            city=_text(labels, "city"),
            safe_mode_required=bool(labels.get("safe_mode_required", False)),
        )
        return await self._store.open_by_key(key, draft, notice)

    def _key(self, text: str) -> str:
        most = self._limits.external_key_characters
        key = normalise_label("key", text, most)
        if key is None or key != text:
            raise InvalidRequest(
                f"key takes 1–{most} characters, without line breaks and spaces at its ends"
            )
        return key

    def _check_members(self, kind: ThreadKind, members: Mapping[str, Role]) -> None:
        if kind not in OPENABLE:
            raise InvalidRequest(f"kind must be one of {', '.join(sorted(OPENABLE))}")
        if kind == ThreadKind.SYSTEM and len(members) != 1:
            raise InvalidRequest("a thread of kind system has exactly one participant")
        if kind != ThreadKind.SYSTEM and len(members) < 2:
            raise InvalidRequest("a thread has at least two participants, each named once")
        if len(members) > self._limits.participants:
            raise InvalidRequest(f"a thread has at most {self._limits.participants} participants")

    async def _check_job(self, job_id: str | None, members: Mapping[str, Role]) -> None:
        admitted = None if job_id is None else await self._store.job(job_id)
        if admitted is not None and not members.keys() <= set(admitted):
            raise UserNotFound("One of these people is not in the job.")

    def _labels(self, fields: ThreadFields) -> ThreadFields:
        most = {"subject": self._limits.subject_characters}
        return {
            name: normalise_label(name, value, most.get(name, self._limits.label_characters))
            if isinstance(value, str)
            else value
            for name, value in fields.items()
        }

    def _notice(self, code: str, text: str) -> MarketplaceNotice:
        label = normalise_label("code", code, self._limits.label_characters)
        if label is None:
            raise InvalidRequest("code is empty; it tells programs what the notice is about")
        body = normalise_body(text, self._limits)
        return MarketplaceNotice(label, body, markdown.render(body))

    async def access_by_key(self, key: str) -> Thread:
        thread = await self._store.thread_by_key(self._key(key))
        if thread is None:
            raise ThreadNotFound
        return thread

    async def add_notice(
        self, thread_id: str, code: str, text: str, once: Once | None = None
    ) -> Message | Kept:
        return await self._store.add_notice(thread_id, self._notice(code, text), once)

    async def change_thread(self, thread_id: str, fields: ThreadFields) -> Thread:
        return await self._store.change_thread(thread_id, self._labels(fields))

    async def access_thread(self, thread_id: str) -> Thread:
        thread = await self._store.any_thread(thread_id)
        if thread is None:
            raise ThreadNotFound
        return thread

    async def access_messages(
        self, thread_id: str, *, before: str | None, after: str | None, limit: int | None
    ) -> tuple[tuple[Message, ...], bool]:
        """A page of what every participant may see, and whether there is more."""
        if before is not None and after is not None:
            raise InvalidRequest("before and after exclude each other")
        limit = _checked_limit(limit, self._limits.messages_page)
        page = await self._store.any_messages(thread_id, before=before, after=after, limit=limit)
        if page is None:
            raise ThreadNotFound
        return page

    async def threads_of_user(
        self, user_id: str, *, before: str | None, limit: int | None
    ) -> tuple[tuple[Thread, ...], str | None]:
        """A page of a person's threads, and the id that the next page begins before."""
        await self._people.require_users([user_id])
        limit = _checked_limit(limit, self._limits.page)
        found = await self._store.threads_of_user(user_id, before=before, limit=limit + 1)
        return _page(found, limit)

    async def threads_of_job(
        self, job_id: str, *, before: str | None, limit: int | None
    ) -> tuple[tuple[Thread, ...], str | None]:
        """As of a person. A job without threads, registered or not, has an empty page."""
        limit = _checked_limit(limit, self._limits.page)
        found = await self._store.threads_of_job(job_id, before=before, limit=limit + 1)
        return _page(found, limit)

    async def export_messages(self, thread_id: str) -> AsyncIterator[tuple[Message, ...]]:
        """All messages that every participant may see, page by page, the oldest first."""
        after, has_more = FIRST_ID, True
        while has_more:
            page = await self._store.any_messages(
                thread_id, before=None, after=after, limit=self._limits.messages_page
            )
            messages, has_more = page or ((), False)
            if messages:
                yield messages
                after = messages[-1].id


def _text(fields: ThreadFields, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _checked_limit(limit: int | None, most: int) -> int:
    if limit is None:
        return min(USUAL_PAGE, most)
    if not 1 <= limit <= most:
        raise InvalidRequest(f"limit takes 1–{most}")
    return limit


def _page(found: tuple[Thread, ...], limit: int) -> tuple[tuple[Thread, ...], str | None]:
    page = found[:limit]
    return page, page[-1].id if len(found) > limit else None
