"""What the endpoints of this folder share: idempotency, the caller's id, JSON for the caller."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from greenroom.conversations.actions import Conversations
from greenroom.conversations.attachments import FileView
from greenroom.conversations.model import Message, Thread
from greenroom.conversations.rest.bodies import ThreadItem
from greenroom.conversations.wire import MessageView, Views
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Forbidden, ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Answer, Call
from greenroom.platform.idempotency import Kept, Once, answer_once

T = TypeVar("T")


class RestBase:
    def __init__(self, conversations: Conversations, *, clock: Clock, limits: Limits) -> None:
        self._conversations = conversations
        self._clock = clock
        self._limits = limits

    async def _once(
        self,
        call: Call,
        answer: Callable[[T], Answer],
        work: Callable[[Once | None], Awaitable[T | Kept]],
    ) -> Answer:
        return await answer_once(call, self._conversations.keeper, answer, work)

    def _views(self, viewer: str | None, files: Mapping[str, FileView] | None = None) -> Views:
        return Views(viewer, self._clock(), self._limits, self._conversations.show_card, files)

    async def _message_views(
        self, viewer: str | None, messages: Sequence[Message]
    ) -> list[MessageView]:
        """With their files, all of which are looked up at once."""
        views = self._views(viewer, await self._conversations.files_in(viewer, messages))
        return [views.message(message) for message in messages]

    def _item(self, viewer: str, thread: Thread) -> ThreadItem:
        if thread.inbox is None:
            raise ThreadNotFound
        views = self._views(viewer)
        return ThreadItem(views.thread(thread), views.inbox(thread.inbox))


def person_of(call: Call) -> str:
    """The id of the calling person. Raises Forbidden for the marketplace's backend."""
    if call.caller.user_id is None:
        raise Forbidden
    return call.caller.user_id
