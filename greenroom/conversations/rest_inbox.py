"""Calls about one's own view: the inbox and blocks; and the backend's jobs."""

from msgspec import UNSET

from greenroom.conversations.calls import (
    InboxAnswer,
    InboxCounts,
    InboxEdit,
    InboxOnly,
    InboxQuery,
    JobParticipants,
    JobView,
    NewBlock,
)
from greenroom.conversations.rest_face import RestFace, person_of
from greenroom.conversations.store import Folder, InboxChanges, InboxFilter
from greenroom.conversations.wire import (
    decode_page_key,
    encode_page_key,
)
from greenroom.kernel.clock import parse_rfc3339
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who


class InboxRest(RestFace):
    def endpoints(self) -> list[Endpoint]:
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

    async def get_inbox(self, call: Call) -> Answer:
        viewer, query = person_of(call), call.query
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
        viewer, edit = person_of(call), call.body
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

    async def block_user(self, call: Call) -> Answer:
        blocker = person_of(call)
        return await self._once(
            call,
            lambda _: Answer(204),
            lambda once: self._conversations.block(blocker, call.body.user_id, once=once),
        )

    async def unblock_user(self, call: Call) -> Answer:
        await self._conversations.unblock(person_of(call), call.params["user_id"])
        return Answer(204)
