"""The endpoints of the polling API at `/messages`. Each calls one action of `PairConversations`."""

from greenroom.conversations.polling_api.actions import PairConversations
from greenroom.conversations.polling_api.wire import (
    PAIR_PREFIX,
    SimpleConversations,
    SimpleListQuery,
    SimpleMessage,
    SimpleMessages,
    SimpleRead,
    SimpleReadAnswer,
    SimpleSend,
    SimpleSent,
    SimpleUpload,
    SimpleUploadAnswer,
    SimpleViews,
    conversation_id,
    id_after,
    message_view,
    moment_ms,
    others_named,
    upload_answer,
)
from greenroom.conversations.rest.base import person_of
from greenroom.conversations.store import Conversation, Sent
from greenroom.kernel.errors import (
    AttachmentTooLarge,
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
    UnsupportedType,
    UploadQuarantined,
    UserNotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import Kept, Once, answer_once

TAG = "Simple polling"


class SimpleRest:
    def __init__(self, pairs: PairConversations) -> None:
        self._pairs = pairs

    def endpoints(self) -> list[Endpoint]:
        return [*self._message_endpoints(), *self._conversation_endpoints()]

    def _message_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/messages/send",
                self.simple_send,
                "Write to someone",
                Who.PERSON,
                {201: SimpleSent, 200: SimpleSent},
                TAG,
                description=(
                    "Goes into the oldest thread of just the two of you; if there is none, it "
                    "starts an inquiry. `jobId` is kept with the message, and the conversation is "
                    "about it from then on. At most 10 a minute in one thread. A repeat of the "
                    "same Idempotency-Key: 200 with the message as it is now. `image` and `file` "
                    "take the `fileUrl` of an upload of yours, whose bytes have arrived; "
                    "`content` may be empty then."
                ),
                body=SimpleSend,
                errors=(
                    UserNotFound,
                    NotFound,
                    ThreadNotFound,
                    ThreadLocked,
                    ThreadReadOnly,
                    MsgTooLong,
                    MsgEmpty,
                    MsgBlockedByUser,
                    UploadQuarantined,
                    RateLimited,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
            Endpoint(
                "GET",
                "/messages/list",
                self.simple_list,
                "Messages of a conversation, oldest first",
                Who.PERSON,
                {200: SimpleMessages},
                TAG,
                description=(
                    "With since: those created after it, from the oldest; hasMore says that there "
                    "are newer ones. Give the createdAt of the last message you have, and none is "
                    "ever missed. Edits and deletions do not bring a message back there: ask for "
                    "them with updatedSince, which lists what was edited or deleted after it, in "
                    "the order of these changes; hasMore says that there are later ones. Give the "
                    "updatedAt of the last change you have. Without both: the newest; hasMore says "
                    "that there are older ones. What is listed has been delivered. `fileUrl` is a "
                    "fresh address for some minutes; it is left out while the file is processed, "
                    "and when you may not see it."
                ),
                query=SimpleListQuery,
                errors=(ThreadNotFound,),
            ),
            Endpoint(
                "POST",
                "/messages/uploadFile",
                self.simple_upload_file,
                "Ask where to upload a file",
                Who.PERSON,
                {201: SimpleUploadAnswer},
                TAG,
                description=(
                    "Takes fileName with fileType and fileSize, or with contentType and size. Send "
                    "the bytes to uploadUrl with this method and these headers before expiresAt, "
                    "then the message with fileUrl."
                ),
                body=SimpleUpload,
                errors=(AttachmentTooLarge, UnsupportedType, RateLimited),
            ),
        ]

    def _conversation_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/messages/conversations",
                self.simple_conversations,
                "Your conversations, last activity first",
                Who.PERSON,
                {200: SimpleConversations},
                TAG,
                description="The 100 newest of your inbox; what you archived is not among them.",
            ),
            Endpoint(
                "POST",
                "/messages/markAsRead",
                self.simple_mark_as_read,
                "Mark everything in a conversation as read",
                Who.PERSON,
                {200: SimpleReadAnswer},
                TAG,
                body=SimpleRead,
                errors=(ThreadNotFound, NotFound, IdempotencyMismatch),
                once=True,
            ),
        ]

    async def simple_send(self, call: Call) -> Answer:
        author, new = person_of(call), call.body
        sent = await self._pairs.send_to(
            author,
            new.receiver_id,
            body=new.content,
            file_id=new.file_id(),
            job_id=None if new.job_id is None else str(new.job_id),
            key=call.idempotency_key,
            fingerprint=call.fingerprint,
        )
        message = await self._sent_view(author, new.receiver_id, sent)
        body = SimpleSent(message, message.conversation_id)
        return Answer(200 if sent.is_repeat else 201, body)

    async def _sent_view(self, author: str, receiver: str, sent: Sent) -> SimpleMessage:
        message = sent.message
        files = await self._pairs.files_in(author, [message])
        if not sent.is_repeat:
            name = conversation_id(author, receiver, message.thread_id)
            return message_view(message, name, receiver, "sent", files)
        conversation = await self._pairs.access_conversation(author, thread_id=message.thread_id)
        return SimpleViews(author, conversation, files).message(message)

    async def simple_list(self, call: Call) -> Answer:
        viewer, query = person_of(call), call.query
        if query.since is not None and query.updated_since is not None:
            raise InvalidRequest("since and updatedSince exclude each other; ask twice")
        after = None if query.since is None else id_after(query.since)
        after_ms = None if query.updated_since is None else moment_ms(query.updated_since)
        conversation = await self._access(viewer, query.conversation_id)
        if after_ms is not None:
            page, has_more = await self._pairs.access_changed(
                viewer, conversation, after_ms=after_ms, limit=query.limit
            )
        else:
            page, has_more = await self._pairs.access_spoken(
                viewer, conversation, after=after, limit=query.limit
            )
        views = SimpleViews(viewer, conversation, await self._pairs.files_in(viewer, page))
        return Answer(200, SimpleMessages([views.message(each) for each in page], has_more))

    async def simple_conversations(self, call: Call) -> Answer:
        viewer = person_of(call)
        found = await self._pairs.conversations(viewer)
        shaped = [SimpleViews(viewer, each).conversation() for each in found]
        return Answer(200, SimpleConversations(shaped))

    async def simple_mark_as_read(self, call: Call) -> Answer:
        reader = person_of(call)

        async def mark(once: Once | None) -> Conversation | Kept:
            conversation = await self._access(reader, call.body.conversation_id)
            return await self._pairs.mark_all_read(reader, conversation, once)

        def answer(conversation: Conversation) -> Answer:
            views = SimpleViews(reader, conversation)
            return Answer(200, SimpleReadAnswer(views.id, views.unread_count()))

        return await answer_once(call, self._pairs.keeper, answer, mark)

    async def simple_upload_file(self, call: Call) -> Answer:
        asked = call.body
        mime, byte_count = asked.type_and_size()
        upload = await self._pairs.begin_upload(
            person_of(call), name=asked.file_name, mime=mime, byte_count=byte_count
        )
        return Answer(201, upload_answer(upload))

    async def _access(self, viewer: str, name: str) -> Conversation:
        if name.startswith(PAIR_PREFIX):
            return await self._pairs.access_conversation(viewer, others=others_named(viewer, name))
        return await self._pairs.access_conversation(viewer, thread_id=name)
