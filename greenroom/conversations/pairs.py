"""The verbs of the simple polling API, where people write to a person and not into a thread."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from greenroom.conversations.actions import MINUTE_MS, Conversations
from greenroom.conversations.model import Message, Role, ThreadDraft, ThreadKind
from greenroom.conversations.store import Conversation, Send, Sent
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.kernel.ids import make_id
from greenroom.platform.idempotency import Kept, Once

# A look finds the pair's thread or finds none; what it found can change before it is acted on, but
# hardly this often.
LOOKS = 5

# Keys of sends share one space in the store, and here is another route: a line break is in no key.
KEY_PREFIX = "/messages/send\n"


class PairConversations(Conversations):
    """Everything underneath is the same: gates, blocks, jobs and limits apply as everywhere."""

    async def send_to(
        self,
        author: str,
        receiver: str,
        *,
        body: str,
        job_id: str | None = None,
        key: str | None = None,
        fingerprint: bytes = b"",
    ) -> Sent:
        """Into the oldest thread of the two, or a new one. `job_id` labels a new one."""
        draft = self._draft(f"simple-{self._randomness()}", body)
        self._check_recipients(author, [receiver])
        if key is not None:
            key = KEY_PREFIX + key
            before = await self._store.sent_under(author, key, fingerprint)
            if before is not None:
                return Sent(before, is_repeat=True)
        await self._people.require_users([receiver])
        job_id = self._label("job_id", job_id)
        if job_id is not None:
            await self._check_job(job_id, (author, receiver))
        send = Send(
            "",
            author,
            draft,
            cost_ms=max(1, MINUTE_MS // self._limits.simple_sends_per_minute),
            key=key,
            fingerprint=fingerprint if key is not None else None,
            # Nobody who joins in this moment reads what was meant for one person.
            visible_to=frozenset({author, receiver}),
        )
        return await self._find_or_start(send, receiver, job_id)

    async def _find_or_start(self, send: Send, receiver: str, job_id: str | None) -> Sent:
        for _ in range(LOOKS):
            thread_id = await self._store.pair_thread(send.author_id, receiver)
            if thread_id is None:
                message = await self._start_pair(send, receiver, job_id)
                if message is not None:
                    return Sent(message, is_repeat=False)
                continue
            try:
                sent = await self._store.append(replace(send, thread_id=thread_id))
                self._listener.message_sent(send.author_id, thread_id)
                return sent
            except ThreadNotFound:
                continue
        raise Unavailable("The two are coming and going just now.")

    async def _start_pair(self, send: Send, receiver: str, job_id: str | None) -> Message | None:
        author = send.author_id
        members = {author: Role.BUYER, receiver: Role.SELLER}
        if job_id is None:
            # Only a new thread may have to name a job; one that is named has been checked.
            await self._check_job(None, members)
        draft = ThreadDraft(
            id=make_id("thr", self._clock(), self._randomness()),
            kind=ThreadKind.INQUIRY,
            opened_by=author,
            members=members,
            job_id=job_id,
        )
        limits = self._start_limits(is_verified=await self._people.is_verified(author))
        return await self._store.start_pair(draft, replace(send, thread_id=draft.id), limits)

    async def access_conversation(
        self, viewer: str, *, thread_id: str | None = None, others: Sequence[str] = ()
    ) -> Conversation:
        """By the thread, or by the other person: the first of `others` with whom there is one."""
        if thread_id is not None:
            found = await self._store.conversation(viewer, thread_id)
        elif others:
            found = await self._store.pair_conversation(viewer, others)
        else:
            found = None
        if found is None:
            raise ThreadNotFound
        return found

    async def access_spoken(
        self, viewer: str, thread_id: str, *, after: str | None, limit: int
    ) -> tuple[tuple[Message, ...], bool]:
        """A page of what people said, and whether there is more: after the page where it was asked
        for what comes after an id, else before it."""
        limit = self._checked_limit(limit, self._limits.messages_page)
        found = await self._store.spoken(viewer, thread_id, after=after, limit=limit + 1)
        page = found[:limit] if after is not None else found[-limit:]
        return page, len(found) > limit

    async def conversations(self, viewer: str) -> tuple[Conversation, ...]:
        return await self._store.conversations(viewer, self._limits.page)

    async def mark_all_read(
        self, reader: str, conversation: Conversation, once: Once | None = None
    ) -> Conversation | Kept:
        """Up to the newest message that the reader sees."""
        thread_id = conversation.thread.id
        newest = await self.access_messages(reader, thread_id, limit=1)
        if not newest.items:
            return conversation

        def with_thread(thread: Any) -> Conversation:
            return replace(conversation, thread=thread)

        kept = once and replace(once, answer=lambda thread: once.answer(with_thread(thread)))
        marked = await self.mark_read(reader, thread_id, newest.items[-1].id, kept)
        return marked if isinstance(marked, Kept) else with_thread(marked)
