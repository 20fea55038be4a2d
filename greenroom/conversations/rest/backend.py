"""Endpoints for the marketplace's backend: threads by its own keys, notices, lists, export."""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from greenroom.conversations.actions import Conversations
from greenroom.conversations.backend_actions import BackendConversations
from greenroom.conversations.model import Message, Role, Thread, ThreadKind
from greenroom.conversations.rest.base import RestBase
from greenroom.conversations.rest.bodies import MessageOnly, NewParticipant, PageSize, ThreadOnly
from greenroom.conversations.wire import ThreadView
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    ActionConflict,
    IdempotencyMismatch,
    InvalidRequest,
    MsgEmpty,
    MsgTooLong,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Stream, StreamWriter, Who

_THREAD_ID = re.compile(r"thr_[0-9a-f]{12}[0-9a-z]{14}")
NDJSON = "text/x-ndjson"
"""A type under `text/`, because generators of clients know no other type of lines of JSON."""


class NewNotice(Struct, frozen=True, forbid_unknown_fields=True):
    """`code` is for programs, `text` for people: a subset of Markdown, at most `body_characters`
    of `GET /v1/limits`."""

    code: str
    text: str


class ThreadByKey(Struct, frozen=True, forbid_unknown_fields=True):
    """`opened_by` of the thread is the first of `participants`. A thread of kind `system` has one
    participant, who reads it and cannot write."""

    kind: Literal["inquiry", "invite", "support", "system"]
    participants: list[NewParticipant]
    subject: str | None = None
    role_context: str | None = None
    job_id: str | None = None
    city: str | None = None
    safe_mode_required: bool = False
    first_notice: NewNotice | None = None


class ThreadEdit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Fields that are left out stay as they are; null clears a text."""

    subject: str | UnsetType | None = UNSET
    role_context: str | UnsetType | None = UNSET
    city: str | UnsetType | None = UNSET
    safe_mode_required: bool | UnsetType = UNSET


class ThreadsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    cursor: Annotated[str | None, Meta(description="`next_cursor` of the page before.")] = None
    limit: PageSize = None


class ThreadList(Struct, frozen=True):
    items: list[ThreadView]
    next_cursor: str | None


class BackendRest(RestBase):
    def __init__(
        self,
        conversations: Conversations,
        backend: BackendConversations,
        *,
        clock: Clock,
        limits: Limits,
    ) -> None:
        super().__init__(conversations, clock=clock, limits=limits)
        self._backend = backend

    def endpoints(self) -> list[Endpoint]:
        return [*self._changing(), *self._reading()]

    def _changing(self) -> list[Endpoint]:
        return [
            Endpoint(
                "PUT",
                "/v1/threads/by/{key}",
                self.put_thread_by_key,
                "The thread under your own key; opened if there is none",
                Who.BACKEND,
                {200: ThreadOnly, 201: ThreadOnly},
                "Threads",
                description=(
                    "`key` is any text of yours, such as the id of a listing and its buyer; "
                    "percent-encode it. 201 when the call has opened the thread, 200 with the "
                    "thread as it is now after that: the other fields are then ignored, change "
                    "them with `PATCH`. Concurrent calls open one thread. If the first call named "
                    "another kind, other people or other roles: 409 `ACTION_CONFLICT`; who has "
                    "joined or left since makes no difference. `first_notice` is said once, when "
                    "the thread is opened."
                ),
                body=ThreadByKey,
                errors=(UserNotFound, ActionConflict, MsgTooLong, MsgEmpty),
                scope="write",
            ),
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/notices",
                self.add_notice,
                "Say something in the marketplace's own voice",
                Who.BACKEND,
                {201: MessageOnly},
                "Threads",
                description=(
                    "A system message without an author, for everybody in the thread: `system` is "
                    '`{"code": "marketplace", "params": {"code", "text"}}`, and `body` has the '
                    "text. It counts as unread, also where nobody can write."
                ),
                body=NewNotice,
                errors=(ThreadNotFound, MsgTooLong, MsgEmpty, IdempotencyMismatch),
                scope="write",
                once=True,
            ),
            Endpoint(
                "PATCH",
                "/v1/threads/{thread_id}",
                self.edit_thread,
                "Change what a thread says about itself",
                Who.BACKEND,
                {200: ThreadOnly},
                "Threads",
                description=(
                    "Participants get `thread.changed`. `safe_mode_required` takes effect with the "
                    "next look at any file of the thread."
                ),
                body=ThreadEdit,
                errors=(ThreadNotFound,),
                scope="write",
            ),
        ]

    def _reading(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/threads/by/{key}",
                self.get_thread_by_key,
                "The thread under your own key",
                Who.BACKEND,
                {200: ThreadOnly},
                "Threads",
                errors=(ThreadNotFound,),
                scope="read",
            ),
            Endpoint(
                "GET",
                "/v1/users/{user_id}/threads",
                self.list_user_threads,
                "The threads of a person, the newest first",
                Who.BACKEND,
                {200: ThreadList},
                "Threads",
                description="Those that they are in now.",
                query=ThreadsQuery,
                errors=(UserNotFound,),
                scope="read",
            ),
            Endpoint(
                "GET",
                "/v1/jobs/{job_id}/threads",
                self.list_job_threads,
                "The threads about a job, the newest first",
                Who.BACKEND,
                {200: ThreadList},
                "Jobs",
                description="A new thread may take a moment to be listed.",
                query=ThreadsQuery,
                scope="read",
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}/export",
                self.export_thread,
                "A thread with all its messages, as lines of JSON",
                Who.BACKEND,
                {200: str},
                "Threads",
                description=(
                    'The first line is `{"thread": {…}}`, each further one `{"message": {…}}`, '
                    "the oldest first. Messages that only some participants may see are left out. "
                    "If the connection ends early, the answer is not complete."
                ),
                errors=(ThreadNotFound,),
                scope="read",
                media=NDJSON,
                waits=True,
            ),
        ]

    async def put_thread_by_key(self, call: Call) -> Answer:
        new: ThreadByKey = call.body
        members = {each.user_id: Role(each.role) for each in new.participants}
        if len(members) != len(new.participants):
            raise InvalidRequest("participants names somebody twice")
        names = ("subject", "role_context", "city", "safe_mode_required")
        notice = new.first_notice
        opened = await self._backend.open_by_key(
            call.params["key"],
            kind=ThreadKind(new.kind),
            members=members,
            fields={name: getattr(new, name) for name in names},
            job_id=new.job_id,
            first_notice=None if notice is None else (notice.code, notice.text),
        )
        return Answer(201 if opened.is_new else 200, self._shown(opened.thread))

    async def get_thread_by_key(self, call: Call) -> Answer:
        return Answer(200, self._shown(await self._backend.access_by_key(call.params["key"])))

    async def add_notice(self, call: Call) -> Answer:
        views = self._views(None)

        def answer(message: Message) -> Answer:
            return Answer(201, MessageOnly(views.message(message)))

        return await self._once(
            call,
            answer,
            lambda once: self._backend.add_notice(
                call.params["thread_id"], call.body.code, call.body.text, once
            ),
        )

    async def edit_thread(self, call: Call) -> Answer:
        fields = msgspec.structs.asdict(call.body)
        given = {name: value for name, value in fields.items() if value is not UNSET}
        thread = await self._backend.change_thread(call.params["thread_id"], given)
        return Answer(200, self._shown(thread))

    async def list_user_threads(self, call: Call) -> Answer:
        page, next_cursor = await self._backend.threads_of_user(
            call.params["user_id"], before=_checked(call.query.cursor), limit=call.query.limit
        )
        return Answer(200, self._list(page, next_cursor))

    async def list_job_threads(self, call: Call) -> Answer:
        page, next_cursor = await self._backend.threads_of_job(
            call.params["job_id"], before=_checked(call.query.cursor), limit=call.query.limit
        )
        return Answer(200, self._list(page, next_cursor))

    async def export_thread(self, call: Call) -> Stream:
        thread_id = call.params["thread_id"]
        thread = await self._backend.access_thread(thread_id)

        async def run(writer: StreamWriter) -> None:
            await writer.write(_line(self._shown(thread)))
            async for messages in self._backend.export_messages(thread_id):
                views = await self._message_views(None, messages)
                await writer.write(b"".join(_line(MessageOnly(each)) for each in views))

        return Stream(run, content_type=NDJSON)

    def _shown(self, thread: Thread) -> ThreadOnly:
        return ThreadOnly(self._views(None).thread(thread))

    def _list(self, page: tuple[Thread, ...], next_cursor: str | None) -> ThreadList:
        views = self._views(None)
        return ThreadList([views.thread(each) for each in page], next_cursor)


def _line(value: Struct) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _checked(cursor: str | None) -> str | None:
    if cursor is not None and _THREAD_ID.fullmatch(cursor) is None:
        raise InvalidRequest("cursor is not one of ours; leave it out to start over")
    return cursor
