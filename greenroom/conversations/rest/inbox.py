"""Endpoints of the inbox, of blocks, and of the backend's jobs. Each calls one action."""

from msgspec import UNSET

from greenroom.conversations.inbox import Folder, InboxChanges, InboxFilter
from greenroom.conversations.page_keys import (
    decode_block_key,
    decode_page_key,
    encode_block_key,
    encode_page_key,
)
from greenroom.conversations.rest.base import RestBase, person_of
from greenroom.conversations.rest.bodies import (
    BlocksAnswer,
    BlocksQuery,
    BlockView,
    InboxAnswer,
    InboxCounts,
    InboxEdit,
    InboxOnly,
    InboxQuery,
    JobOnly,
    JobParticipants,
    JobView,
    NewBlock,
)
from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who


class InboxRest(RestBase):
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
                    "Pinned threads come first. `counts` are threads with something unread; "
                    "`counts.action` those where something waits for you, read or not."
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
                {200: JobOnly, 201: JobOnly},
                "Jobs",
                description=(
                    "Threads with this job_id then admit these people only; to others the job does "
                    "not exist. Ids that can be guessed tell others which jobs are registered, "
                    "unless `GREENROOM_REQUIRE_JOB=1` makes unknown jobs 404 too."
                ),
                body=JobParticipants,
                errors=(UserNotFound,),
                scope="write",
            ),
            Endpoint(
                "POST",
                "/v1/blocks",
                self.block_user,
                "Block someone",
                Who.PERSON,
                {204: None},
                "Blocks",
                description=(
                    "The blocked person is not told and cannot find out. An unknown user id is "
                    "404; whether an id exists is no secret, see `GET /v1/users/{user_id}`."
                ),
                body=NewBlock,
                errors=(UserNotFound, IdempotencyMismatch),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/me/blocks",
                self.list_blocks,
                "Users whom you have blocked, newest first",
                Who.PERSON,
                {200: BlocksAnswer},
                "Blocks",
                query=BlocksQuery,
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
            has_files=query.has_files,
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
                counts=InboxCounts(**page.counts),
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
            muted_until_ms=parse_rfc3339(edit.muted_until, "muted_until")
            if isinstance(edit.muted_until, str)
            else None,
        )
        thread = await self._conversations.set_inbox_row(viewer, call.params["thread_id"], changes)
        return Answer(200, InboxOnly(self._item(viewer, thread).inbox))

    async def put_job(self, call: Call) -> Answer:
        job_id, participants = call.params["job_id"], call.body.participants
        created = await self._conversations.put_job(job_id, participants)
        job = JobView(job_id, sorted(set(participants)))
        return Answer(201 if created else 200, JobOnly(job))

    async def block_user(self, call: Call) -> Answer:
        blocker = person_of(call)
        return await self._once(
            call,
            lambda _: Answer(204),
            lambda once: self._conversations.block(blocker, call.body.user_id, once=once),
        )

    async def list_blocks(self, call: Call) -> Answer:
        page, next_key = await self._conversations.blocks(
            person_of(call), after=decode_block_key(call.query.cursor), limit=call.query.limit
        )
        items = [
            BlockView(each.user_id, each.display_name, each.avatar_url, rfc3339(each.created_at_ms))
            for each in page
        ]
        return Answer(200, BlocksAnswer(items, encode_block_key(next_key)))

    async def unblock_user(self, call: Call) -> Answer:
        await self._conversations.unblock(person_of(call), call.params["user_id"])
        return Answer(204)
