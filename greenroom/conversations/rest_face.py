"""What the calls of this room share: who is calling, once, and the caller's view."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from greenroom.conversations.actions import Conversations
from greenroom.conversations.calls import ThreadItem
from greenroom.conversations.model import Thread
from greenroom.conversations.wire import Views
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Forbidden, ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Answer, Call
from greenroom.platform.idempotency import Kept, Once, answer_once

T = TypeVar("T")


class RestFace:
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

    def _views(self, viewer: str | None) -> Views:
        return Views(viewer, self._clock(), self._limits, self._conversations.show_card)

    def _item(self, viewer: str, thread: Thread) -> ThreadItem:
        if thread.inbox is None:
            raise ThreadNotFound
        views = self._views(viewer)
        return ThreadItem(views.thread(thread), views.inbox(thread.inbox))


def person_of(call: Call) -> str:
    if call.caller.user_id is None:
        raise Forbidden
    return call.caller.user_id
