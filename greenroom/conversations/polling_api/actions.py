"""What clients of the polling API can do. They write to a person instead of into a thread."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from greenroom.conversations.actions import MINUTE_MS, Conversations
from greenroom.conversations.attachments import UnboundUpload
from greenroom.conversations.model import Message, Role, ThreadDraft, ThreadKind
from greenroom.conversations.store import Conversation, Send, Sent
from greenroom.kernel.errors import AttachmentTooLarge, ThreadNotFound, Unavailable
from greenroom.kernel.ids import make_id
from greenroom.platform.idempotency import Kept, Once

# Between finding the pair's thread and writing to it, somebody can start, join or leave it. Then
# the search starts again.
ATTEMPTS = 5

# The store keeps the keys of all sends together. The prefix keeps those of this route apart; no key
# of a client contains a line break.
KEY_PREFIX = "/messages/send\n"


class PairConversations(Conversations):
    """Blocks, jobs and limits apply as in the other API: the store and its rules are the same."""

    async def send_to(
        self,
        author: str,
        receiver: str,
        *,
        body: str,
        file_id: str | None = None,
        job_id: str | None = None,
        key: str | None = None,
        fingerprint: bytes = b"",
    ) -> Sent:
        """Append to the oldest thread of the two, or start one. `job_id` is kept with the message
        and becomes the thread's job. `file_id` is an upload of `begin_upload`."""
        has_file = file_id is not None
        draft = self._draft(f"simple-{self._randomness()}", body, has_files=has_file)
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
            # Somebody who joins the thread right now must not read it.
            visible_to=frozenset({author, receiver}),
            job_id=job_id,
        )
        return await self._find_or_start(send, receiver, file_id)

    async def _find_or_start(self, send: Send, receiver: str, file_id: str | None) -> Sent:
        for _ in range(ATTEMPTS):
            thread_id = await self._store.pair_thread(send.author_id, receiver)
            if thread_id is None:
                message = await self._start_pair(send, receiver, file_id)
                if message is not None:
                    return Sent(message, is_repeat=False)
                continue
            try:
                sent = await self._store.append(await self._placed(send, thread_id, file_id))
                self._listener.message_sent(send.author_id, thread_id)
                return sent
            except ThreadNotFound:
                continue
        raise Unavailable("The participants of this thread are changing; try again.")

    async def _placed(self, send: Send, thread_id: str, file_id: str | None) -> Send:
        """The send for this thread, with its file."""
        draft = send.draft
        if file_id is not None:
            author = send.author_id
            ref = await self._attachments.complete_and_check(author, thread_id, file_id)
            draft = replace(draft, attachments=(ref,))
        return replace(send, thread_id=thread_id, draft=draft)

    async def _start_pair(self, send: Send, receiver: str, file_id: str | None) -> Message | None:
        author, job_id = send.author_id, send.job_id
        members = {author: Role.BUYER, receiver: Role.SELLER}
        if job_id is None:
            # A job that was named has been checked by now; this is whether one is required.
            await self._check_job(None, members)
        draft = ThreadDraft(
            id=make_id("thr", self._clock(), self._randomness()),
            kind=ThreadKind.INQUIRY,
            opened_by=author,
            members=members,
            job_id=job_id,
        )
        limits = self._start_limits(is_verified=await self._people.is_verified(author))
        first = await self._placed(send, draft.id, file_id)
        return await self._store.start_pair(draft, first, limits)

    async def access_conversation(
        self, viewer: str, *, thread_id: str | None = None, others: Sequence[str] = ()
    ) -> Conversation:
        """The conversation in a thread, or with the first of `others` with whom there is one."""
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
        self, viewer: str, conversation: Conversation, *, after: str | None, limit: int | None
    ) -> tuple[tuple[Message, ...], bool]:
        """A page of messages that people wrote, and whether there are more: later ones if `after`
        is given, else earlier ones. Marks the messages of others as delivered."""
        limit, thread_id = self._page_limit(limit), conversation.thread.id
        found = await self._store.spoken(viewer, thread_id, after=after, limit=limit + 1)
        page = found[:limit] if after is not None else found[-limit:]
        theirs = [each.id for each in page if each.author_id != viewer]
        if theirs and max(theirs) > conversation.delivered_id:
            await self._store.deliver(viewer, thread_id, max(theirs))
        return page, len(found) > limit

    async def access_changed(
        self, viewer: str, conversation: Conversation, *, after_ms: int, limit: int | None
    ) -> tuple[tuple[Message, ...], bool]:
        """A page of messages that were edited or deleted after `after_ms`, in the order of these
        changes, and whether there are more. Changes of the same millisecond are on one page."""
        limit, thread_id = self._page_limit(limit), conversation.thread.id
        found = await self._store.changed(viewer, thread_id, after_ms=after_ms, limit=limit + 1)
        last_ms = found[limit - 1].changed_at_ms if len(found) > limit else None
        page = tuple(each for each in found if last_ms is None or each.changed_at_ms <= last_ms)
        return page, len(found) > len(page)

    async def begin_upload(
        self, owner: str, *, name: str, mime: str, byte_count: int
    ) -> UnboundUpload:
        """Begin the upload of a file that a later send names."""
        if byte_count > self._limits.simple_file_bytes:
            raise AttachmentTooLarge(f"At most {self._limits.simple_file_bytes} bytes.")
        return await self._attachments.begin_unbound(
            owner, name=name, mime=mime, byte_count=byte_count
        )

    def _page_limit(self, limit: int | None) -> int:
        return self._checked_limit(limit, self._limits.messages_page)

    async def conversations(self, viewer: str) -> tuple[Conversation, ...]:
        return await self._store.conversations(viewer, self._limits.page)

    async def mark_all_read(
        self, reader: str, conversation: Conversation, once: Once | None = None
    ) -> Conversation | Kept:
        """Mark as read up to the newest message that the reader sees."""
        thread_id = conversation.thread.id
        newest = await self.access_messages(reader, thread_id, limit=1)
        if not newest.items:
            return conversation

        def with_thread(thread: Any) -> Conversation:
            return replace(conversation, thread=thread)

        kept = once and replace(once, answer=lambda thread: once.answer(with_thread(thread)))
        marked = await self.mark_read(reader, thread_id, newest.items[-1].id, kept)
        return marked if isinstance(marked, Kept) else with_thread(marked)
