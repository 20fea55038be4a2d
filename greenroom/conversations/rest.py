"""Calls about threads and messages. Each parses, calls one action, and shapes the answer."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import UNSET

from greenroom.conversations.actions import Conversations
from greenroom.conversations.calls import (
    InboxAnswer,
    InboxCounts,
    InboxEdit,
    InboxOnly,
    InboxQuery,
    JobParticipants,
    JobView,
    MessageEdit,
    MessagesAnswer,
    MessagesQuery,
    NewBlock,
    NewMessage,
    NewParticipant,
    NewThread,
    Promotion,
    ReadUpTo,
    SyncAnswer,
    SyncQuery,
    ThreadItem,
    ThreadOnly,
    ThreadPage,
    ThreadStarted,
)
from greenroom.conversations.model import Cursor, Role, Thread, ThreadKind
from greenroom.conversations.store import Folder, InboxChanges, InboxFilter, Started
from greenroom.conversations.wire import (
    MessageView,
    Views,
    decode_page_key,
    encode_page_key,
)
from greenroom.kernel.clock import Clock, parse_rfc3339
from greenroom.kernel.errors import (
    ActionInvalidState,
    EditWindowClosed,
    Forbidden,
    IdempotencyMismatch,
    MsgBlockedByUser,
    MsgEmpty,
    MsgTooLong,
    NotFound,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import Kept, Once, answer_once

T = TypeVar("T")

_WRITING = (ThreadNotFound, ThreadLocked, MsgTooLong, MsgEmpty)


class ConversationsRest:
    def __init__(self, conversations: Conversations, *, clock: Clock, limits: Limits) -> None:
        self._conversations = conversations
        self._clock = clock
        self._limits = limits

    def endpoints(self) -> list[Endpoint]:
        return [*self._message_endpoints(), *self._thread_endpoints(), *self._other_endpoints()]

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
                    "Idempotency-Key: 200 with the message as it is now."
                ),
                body=NewMessage,
                errors=(*_WRITING, NotFound, MsgBlockedByUser, RateLimited, IdempotencyMismatch),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}/messages",
                self.list_messages,
                "A page of messages, in seq order",
                Who.PERSON,
                {200: MessagesAnswer},
                "Messages",
                query=MessagesQuery,
                errors=(ThreadNotFound,),
            ),
            Endpoint(
                "PATCH",
                "/v1/threads/{thread_id}/messages/{message_id}",
                self.edit_message,
                "Edit a message of yours within 15 minutes",
                Who.PERSON,
                {200: MessageView},
                "Messages",
                body=MessageEdit,
                errors=(*_WRITING, NotFound, Forbidden, EditWindowClosed),
            ),
            Endpoint(
                "DELETE",
                "/v1/threads/{thread_id}/messages/{message_id}",
                self.delete_message,
                "Delete a message of yours, leaving an empty place",
                Who.PERSON,
                {200: MessageView},
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
                description="A repeat of the same client_id: 200 with the thread it started.",
                body=NewThread,
                errors=(
                    UserNotFound,
                    NotFound,
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
                Who.PERSON,
                {200: ThreadPage},
                "Threads",
                errors=(ThreadNotFound,),
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

    def _other_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/inbox",
                self.get_inbox,
                "Your threads, last activity first",
                Who.PERSON,
                {200: InboxAnswer},
                "Inbox",
                description=(
                    "Pinned threads come first. `counts` are threads with something unread."
                ),
                query=InboxQuery,
            ),
            Endpoint(
                "PATCH",
                "/v1/threads/{thread_id}/me",
                self.edit_inbox_row,
                "Archive, pin, star or mute a thread for yourself",
                Who.PERSON,
                {200: InboxOnly},
                "Inbox",
                description="An archived thread comes back when somebody else writes in it.",
                body=InboxEdit,
                errors=(ThreadNotFound,),
            ),
            Endpoint(
                "PUT",
                "/v1/jobs/{job_id}",
                self.put_job,
                "Say who may talk in a job",
                Who.BACKEND,
                {200: JobView, 201: JobView},
                "Jobs",
                description="Threads with this job_id then admit these people only.",
                body=JobParticipants,
                errors=(UserNotFound,),
            ),
            Endpoint(
                "GET",
                "/v1/sync",
                self.sync,
                "What changed since a cursor",
                Who.PERSON,
                {200: SyncAnswer},
                "Sync",
                description=(
                    "Every change that you may see, exactly once, in order. A `reset` event means: "
                    "load the inbox again and go on from its cursor."
                ),
                query=SyncQuery,
            ),
            Endpoint(
                "POST",
                "/v1/blocks",
                self.block_user,
                "Block someone",
                Who.PERSON,
                {204: None},
                "Blocks",
                description="They cannot tell it from silence.",
                body=NewBlock,
                errors=(UserNotFound, IdempotencyMismatch),
                once=True,
            ),
            Endpoint(
                "DELETE",
                "/v1/blocks/{user_id}",
                self.unblock_user,
                "Unblock someone",
                Who.PERSON,
                {204: None},
                "Blocks",
            ),
        ]

    async def send_message(self, call: Call) -> Answer:
        author, new = _person(call), call.body
        sent = await self._conversations.send(
            author,
            call.params["thread_id"],
            client_id=new.client_id,
            body=new.body,
            reply_to=new.reply_to,
            key=call.idempotency_key,
            fingerprint=call.fingerprint,
        )
        return Answer(200 if sent.is_repeat else 201, self._views(author).message(sent.message))

    async def list_messages(self, call: Call) -> Answer:
        viewer, query = _person(call), call.query
        page = await self._conversations.access_messages(
            viewer,
            call.params["thread_id"],
            before=query.before,
            after=query.after,
            limit=query.limit,
        )
        views = self._views(viewer)
        items = [views.message(message) for message in page.items]
        return Answer(200, MessagesAnswer(items, page.has_more, str(page.sync_cursor)))

    async def edit_message(self, call: Call) -> Answer:
        author = _person(call)
        message = await self._conversations.edit_message(
            author, call.params["thread_id"], call.params["message_id"], call.body.body
        )
        return Answer(200, self._views(author).message(message))

    async def delete_message(self, call: Call) -> Answer:
        author = _person(call)
        message = await self._conversations.delete_message(
            author, call.params["thread_id"], call.params["message_id"]
        )
        return Answer(200, self._views(author).message(message))

    async def start_thread(self, call: Call) -> Answer:
        opener, new = _person(call), call.body
        views = self._views(opener)

        def answer(started: Started) -> Answer:
            body = ThreadStarted(views.thread(started.thread), views.message(started.message))
            return Answer(200 if started.is_repeat else 201, body)

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
                once=once,
            ),
        )

    async def get_thread(self, call: Call) -> Answer:
        viewer = _person(call)
        thread, cursor = await self._conversations.access_thread(viewer, call.params["thread_id"])
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
        reader = _person(call)

        def answer(thread: Thread) -> Answer:
            return Answer(200, InboxOnly(self._item(reader, thread).inbox))

        return await self._once(
            call,
            answer,
            lambda once: self._conversations.mark_read(
                reader, call.params["thread_id"], call.body.up_to, once=once
            ),
        )

    async def get_inbox(self, call: Call) -> Answer:
        viewer, query = _person(call), call.query
        asked = InboxFilter(
            folder=Folder(query.folder),
            unread=query.unread,
            starred=query.starred,
            kind=query.kind,
            state=query.state,
            role_context=query.role_context,
            city=query.city,
            q=query.q,
        )
        page = await self._conversations.inbox(
            viewer, asked, after=decode_page_key(query.cursor), limit=query.limit
        )
        return Answer(
            200,
            InboxAnswer(
                items=[self._item(viewer, thread) for thread in page.items],
                next_cursor=encode_page_key(page.next_key),
                counts=InboxCounts(**page.unread_threads),
                sync_cursor=str(page.sync_cursor),
            ),
        )

    async def edit_inbox_row(self, call: Call) -> Answer:
        viewer, edit = _person(call), call.body
        changes = InboxChanges(
            archived=edit.archived if edit.archived is not UNSET else None,
            pinned=edit.pinned if edit.pinned is not UNSET else None,
            starred=edit.starred if edit.starred is not UNSET else None,
            sets_muted=edit.muted_until is not UNSET,
            muted_until_ms=parse_rfc3339(edit.muted_until)
            if isinstance(edit.muted_until, str)
            else None,
        )
        thread = await self._conversations.set_inbox_row(viewer, call.params["thread_id"], changes)
        return Answer(200, InboxOnly(self._item(viewer, thread).inbox))

    async def put_job(self, call: Call) -> Answer:
        job_id, participants = call.params["job_id"], call.body.participants
        created = await self._conversations.put_job(job_id, participants)
        return Answer(201 if created else 200, JobView(job_id, sorted(set(participants))))

    async def sync(self, call: Call) -> Answer:
        viewer, query = _person(call), call.query
        since = None if query.since is None else Cursor.parse(query.since)
        changes = await self._conversations.changes(viewer, since, query.limit)
        views = self._views(viewer)
        events = [views.event(event) for event in changes.events]
        return Answer(200, SyncAnswer(events, str(changes.cursor), changes.has_more))

    async def block_user(self, call: Call) -> Answer:
        blocker = _person(call)
        return await self._once(
            call,
            lambda _: Answer(204),
            lambda once: self._conversations.block(blocker, call.body.user_id, once=once),
        )

    async def unblock_user(self, call: Call) -> Answer:
        await self._conversations.unblock(_person(call), call.params["user_id"])
        return Answer(204)

    async def _once(
        self,
        call: Call,
        answer: Callable[[T], Answer],
        work: Callable[[Once | None], Awaitable[T | Kept]],
    ) -> Answer:
        return await answer_once(call, self._conversations.keeper, answer, work)

    def _views(self, viewer: str | None) -> Views:
        return Views(viewer, self._clock(), self._limits)

    def _item(self, viewer: str, thread: Thread) -> ThreadItem:
        if thread.inbox is None:
            raise ThreadNotFound
        views = self._views(viewer)
        return ThreadItem(views.thread(thread), views.inbox(thread.inbox))


def _person(call: Call) -> str:
    if call.caller.user_id is None:
        raise Forbidden
    return call.caller.user_id
