"""The simple polling API at `/messages`: another face of the same threads.

Each call parses, calls the room's verbs, and shapes the answer in the words of its seed.
"""

from greenroom.conversations.pairs import PairConversations
from greenroom.conversations.simple_wire import (
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
    SimpleViews,
    conversation_id,
    id_after,
    message_view,
    others_named,
)
from greenroom.conversations.store import Conversation, Sent
from greenroom.kernel.errors import (
    Forbidden,
    IdempotencyMismatch,
    InvalidRequest,
    MsgBlockedByUser,
    MsgEmpty,
    MsgTooLong,
    NotFound,
    NotImplementedYet,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import Kept, Once, answer_once

TAG = "Simple polling"
NO_FILES = "Files come with a later version; type takes text until then."


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
                    "starts an inquiry, which jobId then labels. At most 10 a minute in one "
                    "thread. A repeat of the same Idempotency-Key: 200 with the message as it is "
                    "now. image and file are answered with 501 for now."
                ),
                body=SimpleSend,
                errors=(
                    UserNotFound,
                    NotFound,
                    ThreadNotFound,
                    ThreadLocked,
                    MsgTooLong,
                    MsgEmpty,
                    MsgBlockedByUser,
                    RateLimited,
                    IdempotencyMismatch,
                    NotImplementedYet,
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
                    "ever missed. Without: the newest; hasMore says that there are older ones."
                ),
                query=SimpleListQuery,
                errors=(ThreadNotFound,),
            ),
            Endpoint(
                "POST",
                "/messages/uploadFile",
                self.simple_upload_file,
                "Ask where to upload a file (not built yet)",
                Who.PERSON,
                {},
                TAG,
                description="Always 501 in this version.",
                body=SimpleUpload,
                errors=(NotImplementedYet,),
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
        author, new = _person(call), call.body
        if new.type != "text":
            raise NotImplementedYet(NO_FILES)
        if new.file_url is not None:
            raise InvalidRequest("fileUrl belongs to type image or file")
        sent = await self._pairs.send_to(
            author,
            new.receiver_id,
            body=new.content,
            job_id=None if new.job_id is None else str(new.job_id),
            key=call.idempotency_key,
            fingerprint=call.fingerprint,
        )
        message = await self._sent_view(author, new.receiver_id, sent)
        body = SimpleSent(message, message.conversation_id)
        return Answer(200 if sent.is_repeat else 201, body)

    async def _sent_view(self, author: str, receiver: str, sent: Sent) -> SimpleMessage:
        message = sent.message
        if not sent.is_repeat:
            name = conversation_id(author, receiver, message.thread_id)
            return message_view(message, name, receiver, "sent")
        conversation = await self._pairs.access_conversation(author, thread_id=message.thread_id)
        return SimpleViews(author, conversation).message(message)

    async def simple_list(self, call: Call) -> Answer:
        viewer, query = _person(call), call.query
        after = None if query.since is None else id_after(query.since)
        conversation = await self._access(viewer, query.conversation_id)
        page, has_more = await self._pairs.access_spoken(
            viewer, conversation.thread.id, after=after, limit=query.limit
        )
        views = SimpleViews(viewer, conversation)
        return Answer(200, SimpleMessages([views.message(each) for each in page], has_more))

    async def simple_conversations(self, call: Call) -> Answer:
        viewer = _person(call)
        found = await self._pairs.conversations(viewer)
        shaped = [SimpleViews(viewer, each).conversation() for each in found]
        return Answer(200, SimpleConversations(shaped))

    async def simple_mark_as_read(self, call: Call) -> Answer:
        reader = _person(call)

        async def mark(once: Once | None) -> Conversation | Kept:
            conversation = await self._access(reader, call.body.conversation_id)
            return await self._pairs.mark_all_read(reader, conversation, once)

        def answer(conversation: Conversation) -> Answer:
            views = SimpleViews(reader, conversation)
            return Answer(200, SimpleReadAnswer(views.id, views.unread_count()))

        return await answer_once(call, self._pairs.keeper, answer, mark)

    async def simple_upload_file(self, call: Call) -> Answer:
        _person(call)
        raise NotImplementedYet(NO_FILES)

    async def _access(self, viewer: str, name: str) -> Conversation:
        if name.startswith(PAIR_PREFIX):
            return await self._pairs.access_conversation(viewer, others=others_named(viewer, name))
        return await self._pairs.access_conversation(viewer, thread_id=name)


def _person(call: Call) -> str:
    if call.caller.user_id is None:
        raise Forbidden
    return call.caller.user_id
