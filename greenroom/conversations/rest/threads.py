"""Endpoints of threads and messages. Each calls one action and turns its result into JSON."""

import re

from greenroom.conversations.actions import Conversations
from greenroom.conversations.backend_actions import BackendConversations
from greenroom.conversations.model import Role, Thread, ThreadKind
from greenroom.conversations.rest.base import RestBase, person_of
from greenroom.conversations.rest.bodies import (
    InboxOnly,
    MessageEdit,
    MessageOnly,
    MessagesAnswer,
    MessagesQuery,
    NewMessage,
    NewParticipant,
    NewThread,
    Promotion,
    ReadUpTo,
    ThreadOnly,
    ThreadPage,
    ThreadStarted,
)
from greenroom.conversations.store import Started
from greenroom.conversations.wire import (
    MessageView,
)
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    ActionInvalidState,
    EditWindowClosed,
    Forbidden,
    IdempotencyMismatch,
    InvalidRequest,
    MsgBlockedByUser,
    MsgEmpty,
    MsgTooLong,
    NotFound,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    ThreadReadOnly,
    UploadQuarantined,
    UserNotFound,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who

_MESSAGE_ID = re.compile(r"msg_[0-9a-f]{12}[0-9a-z]{14}")
_WRITING = (ThreadNotFound, ThreadLocked, ThreadReadOnly, MsgTooLong, MsgEmpty)


class ConversationsRest(RestBase):
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
        return [*self._message_endpoints(), *self._thread_endpoints()]

    def _message_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/messages",
                self.send_message,
                "Send a message",
                Who.PERSON,
                {201: MessageView, 200: MessageView},
                "Messages",
                description=(
                    "201 with the message, which is on disk. A repeat of the same client_id or "
                    "Idempotency-Key: 200 with the message as it is now. With `attachments`, whose "
                    "files may still be processed, `body` is a caption and may be empty."
                ),
                body=NewMessage,
                errors=(
                    *_WRITING,
                    NotFound,
                    UploadQuarantined,
                    MsgBlockedByUser,
                    RateLimited,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}/messages",
                self.list_messages,
                "A page of messages, in seq order",
                Who.PERSON_OR_BACKEND,
                {200: MessagesAnswer},
                "Messages",
                description=(
                    "Your backend gets the messages that every participant may see, of any thread."
                ),
                query=MessagesQuery,
                errors=(ThreadNotFound,),
                scope="read",
            ),
            Endpoint(
                "PATCH",
                "/v1/threads/{thread_id}/messages/{message_id}",
                self.edit_message,
                "Edit a message of yours within the edit window",
                Who.PERSON,
                {200: MessageOnly},
                "Messages",
                description=(
                    "The edit window is `edit_window_s` of `GET /v1/limits`. Of a message with "
                    "files this is the caption, which may be empty; the files stay."
                ),
                body=MessageEdit,
                errors=(*_WRITING, NotFound, Forbidden, EditWindowClosed),
            ),
            Endpoint(
                "DELETE",
                "/v1/threads/{thread_id}/messages/{message_id}",
                self.delete_message,
                "Delete a message of yours; its place stays, empty",
                Who.PERSON,
                {200: MessageOnly},
                "Messages",
                errors=(ThreadNotFound, NotFound, Forbidden, ThreadLocked),
            ),
        ]

    def _thread_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/threads",
                self.start_thread,
                "Start a thread with its first message",
                Who.PERSON,
                {201: ThreadStarted, 200: ThreadStarted},
                "Threads",
                description=(
                    "A repeat of the same client_id: 200 with the thread it started. With a "
                    "`listing_key` under which you have a thread with this person: 200 with that "
                    "thread, which gets the message as by a send. Once one of you has left it, the "
                    "next start under the key begins another. A `job_id` that your backend has "
                    "registered admits that job's people and is 404 for others; any other is a "
                    "label that the thread keeps, so an answer tells whether a job is registered. "
                    "With `GREENROOM_REQUIRE_JOB=1` an unknown job is 404 as well."
                ),
                body=NewThread,
                errors=(
                    UserNotFound,
                    NotFound,
                    ThreadLocked,
                    MsgTooLong,
                    MsgEmpty,
                    MsgBlockedByUser,
                    RateLimited,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}",
                self.get_thread,
                "A thread with your inbox row",
                Who.PERSON_OR_BACKEND,
                {200: ThreadPage},
                "Threads",
                description="Your backend gets any thread, without an inbox row.",
                errors=(ThreadNotFound,),
                scope="read",
            ),
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/participants",
                self.add_participant,
                "Bring someone in",
                Who.PERSON_OR_BACKEND,
                {200: ThreadOnly},
                "Threads",
                description=(
                    "For the buyer, the seller and your backend. Whoever joins sees what is "
                    "written from then on."
                ),
                body=NewParticipant,
                errors=(
                    ThreadNotFound,
                    UserNotFound,
                    Forbidden,
                    MsgBlockedByUser,
                    ActionInvalidState,
                    IdempotencyMismatch,
                ),
                once=True,
                scope="write",
            ),
            Endpoint(
                "DELETE",
                "/v1/threads/{thread_id}/participants/{user_id}",
                self.remove_participant,
                "Leave, or remove someone",
                Who.PERSON_OR_BACKEND,
                {204: None},
                "Threads",
                description="`me` as the user id leaves the thread.",
                errors=(ThreadNotFound, UserNotFound, Forbidden),
                scope="write",
            ),
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/promote",
                self.promote_thread,
                "Turn an inquiry or invite into a project",
                Who.BACKEND,
                {200: ThreadOnly},
                "Threads",
                body=Promotion,
                errors=(ThreadNotFound, ActionInvalidState, IdempotencyMismatch),
                once=True,
                scope="write",
            ),
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/read",
                self.mark_read,
                "Mark as read up to a message",
                Who.PERSON,
                {200: InboxOnly},
                "Threads",
                description="Only moves forward.",
                body=ReadUpTo,
                errors=(ThreadNotFound, NotFound, IdempotencyMismatch),
                once=True,
            ),
        ]

    async def send_message(self, call: Call) -> Answer:
        author, new = person_of(call), call.body
        sent = await self._conversations.send(
            author,
            call.params["thread_id"],
            client_id=new.client_id,
            body=new.body,
            attachments=[each.file_id for each in new.attachments],
            reply_to=new.reply_to,
            key=call.idempotency_key,
            fingerprint=call.fingerprint,
        )
        [shown] = await self._message_views(author, [sent.message])
        return Answer(200 if sent.is_repeat else 201, shown)

    async def list_messages(self, call: Call) -> Answer:
        viewer, thread_id, query = call.caller.user_id, call.params["thread_id"], call.query
        before = _checked_bound("before", query.before)
        after = _checked_bound("after", query.after)
        if viewer is None:
            messages, has_more = await self._backend.access_messages(
                thread_id, before=before, after=after, limit=query.limit
            )
            return Answer(200, MessagesAnswer(await self._message_views(None, messages), has_more))
        page = await self._conversations.access_messages(
            viewer, thread_id, before=before, after=after, limit=query.limit
        )
        items = await self._message_views(viewer, page.items)
        return Answer(200, MessagesAnswer(items, page.has_more, str(page.sync_cursor)))

    async def edit_message(self, call: Call) -> Answer:
        author = person_of(call)
        message = await self._conversations.edit_message(
            author, call.params["thread_id"], call.params["message_id"], call.body.body
        )
        [shown] = await self._message_views(author, [message])
        return Answer(200, MessageOnly(shown))

    async def delete_message(self, call: Call) -> Answer:
        author = person_of(call)
        message = await self._conversations.delete_message(
            author, call.params["thread_id"], call.params["message_id"]
        )
        return Answer(200, MessageOnly(self._views(author).message(message)))

    async def start_thread(self, call: Call) -> Answer:
        opener, new = person_of(call), call.body
        views = self._views(opener)

        def answer(started: Started) -> Answer:
            body = ThreadStarted(views.thread(started.thread), views.message(started.message))
            return Answer(201 if started.is_new else 200, body)

        return await self._once(
            call,
            answer,
            lambda once: self._conversations.start_thread(
                opener,
                kind=ThreadKind(new.kind),
                to=[new.to] if isinstance(new.to, str) else new.to,
                client_id=new.first_message.client_id,
                body=new.first_message.body,
                subject=new.subject,
                role_context=new.role_context,
                job_id=new.job_id,
                listing_key=new.listing_key,
                once=once,
            ),
        )

    async def get_thread(self, call: Call) -> Answer:
        viewer, thread_id = call.caller.user_id, call.params["thread_id"]
        if viewer is None:
            found = await self._backend.access_thread(thread_id)
            return Answer(200, ThreadPage(self._views(None).thread(found)))
        thread, cursor = await self._conversations.access_thread(viewer, thread_id)
        item = self._item(viewer, thread)
        return Answer(200, ThreadPage(item.thread, item.inbox, str(cursor)))

    async def add_participant(self, call: Call) -> Answer:
        views = self._views(call.caller.user_id)

        def answer(thread: Thread) -> Answer:
            return Answer(200, ThreadOnly(views.thread(thread)))

        return await self._once(
            call,
            answer,
            lambda once: self._conversations.add_participant(
                call.caller.user_id,
                call.params["thread_id"],
                call.body.user_id,
                Role(call.body.role),
                once=once,
            ),
        )

    async def remove_participant(self, call: Call) -> Answer:
        by, user_id = call.caller.user_id, call.params["user_id"]
        if user_id == "me" and by is not None:
            user_id = by
        await self._conversations.remove_participant(by, call.params["thread_id"], user_id)
        return Answer(204)

    async def promote_thread(self, call: Call) -> Answer:
        views = self._views(None)

        def answer(thread: Thread) -> Answer:
            return Answer(200, ThreadOnly(views.thread(thread)))

        return await self._once(
            call,
            answer,
            lambda once: self._conversations.promote(
                call.params["thread_id"],
                group_id=call.body.group_id,
                leg_id=call.body.leg_id,
                once=once,
            ),
        )

    async def mark_read(self, call: Call) -> Answer:
        reader = person_of(call)

        def answer(thread: Thread) -> Answer:
            return Answer(200, InboxOnly(self._item(reader, thread).inbox))

        return await self._once(
            call,
            answer,
            lambda once: self._conversations.mark_read(
                reader, call.params["thread_id"], call.body.up_to, once=once
            ),
        )


def _checked_bound(name: str, message_id: str | None) -> str | None:
    """Any message id will do, of this thread or not: only its place in the order counts."""
    if message_id is not None and _MESSAGE_ID.fullmatch(message_id) is None:
        raise InvalidRequest(
            f"{name} takes the id of a message",
            hint=f"Leave {name} out for the newest page, or use the id of a message you have. "
            "`msg_` with 26 zeros stands before all messages.",
        )
    return message_id
