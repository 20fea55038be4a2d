"""The conversation store on DynamoDB. Its promises are those of `ConversationStore`.

A change is committed with the thread's one item and a record of whom it concerns; what these people
see of it follows at once, or, after a crash, as soon as somebody looks. docs/dynamodb.md has the
items, and what each operation costs.
"""

from collections.abc import Sequence

from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.card_items_dynamodb import with_cards
from greenroom.conversations.decisions import DecisionLog
from greenroom.conversations.decisions_dynamodb import Decisions
from greenroom.conversations.feeds_dynamodb import Feeds
from greenroom.conversations.inbox_dynamodb import Inbox
from greenroom.conversations.keys_dynamodb import job_key, thread_key
from greenroom.conversations.membership_dynamodb import Membership
from greenroom.conversations.messages_dynamodb import Messages
from greenroom.conversations.model import (
    Cursor,
    Draft,
    Message,
    Role,
    Thread,
    ThreadDraft,
)
from greenroom.conversations.pairs_dynamodb import Pairs
from greenroom.conversations.people import Profiles
from greenroom.conversations.projection_dynamodb import Projector, Wake
from greenroom.conversations.rows_dynamodb import message_from
from greenroom.conversations.sends_dynamodb import Sends
from greenroom.conversations.starts_dynamodb import Starts
from greenroom.conversations.store import (
    Changes,
    Conversation,
    Deliver,
    FeedPosition,
    InboxChanges,
    InboxFilter,
    InboxKey,
    InboxPage,
    MessagePage,
    Send,
    Sent,
    Started,
    StartLimit,
)
from greenroom.conversations.sweeping_dynamodb import Sweeping
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.metering import metered
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put, Table
from greenroom.platform.idempotency import Kept, Once


class DynamoConversations:
    def __init__(
        self,
        table: Table,
        profiles: Profiles,
        ledger: DecisionLog,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        wake: Wake,
        has_listeners: bool = False,
    ) -> None:
        projector = Projector(
            table, clock=clock, limits=limits, wake=wake, keeps_records=has_listeners
        )
        self._table = table
        self._clock = clock
        self._threads = Threads(
            table, projector, profiles, clock=clock, randomness=randomness, limits=limits
        )
        self._blocks = Blocks(self._threads)
        self._messages = Messages(self._threads)
        self._membership = Membership(self._threads, self._blocks)
        self.decisions = Decisions(self._threads, self._membership, ledger)
        self._starts = Starts(self._threads, self._blocks)
        self._sends = Sends(self._threads)
        self._feeds = Feeds(self._threads, self._messages)
        self._inbox = Inbox(self._threads, self._feeds)
        self._pairs = Pairs(self._threads, self._messages, self._inbox)
        self._sweeping = Sweeping(self._threads, self._blocks)

    @property
    def parts(self) -> tuple[Threads, Blocks]:
        """What upkeep changes threads with, so that both take turns."""
        return self._threads, self._blocks

    @metered
    async def append(self, send: Send) -> Sent:
        appended = await self._sends.submit(send)
        if isinstance(appended, Message):
            return Sent(appended, is_repeat=False)
        message = await self.message(send.author_id, send.thread_id, appended.message_id)
        if message is None:
            raise ThreadNotFound
        return Sent(message, is_repeat=True)

    @metered
    async def start_thread(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: tuple[StartLimit, ...],
        once: Once | None = None,
    ) -> Started | Kept:
        return await self._starts.start(draft, first, limits, once)

    # Reads, through what the viewer may see.

    @metered
    async def thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor] | None:
        cursor = await self._feeds.head(viewer)
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        return await self._threads.shown(viewer, state), cursor

    @metered
    async def messages(
        self, viewer: str, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> MessagePage | None:
        cursor = await self._feeds.head(viewer)
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        page, has_more = await self._messages.page(
            viewer, state, before=before, after=after, limit=limit
        )
        return MessagePage(tuple(page), has_more, cursor)

    @metered
    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None:
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        item = await self._messages.access(viewer, state, message_id)
        if item is None:
            return None
        [message] = await with_cards(self._table, [message_from(item)])
        return message

    @metered
    async def inbox(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        return await self._inbox.page(viewer, asked, after=after, limit=limit)

    @metered
    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        [changes] = await self._feeds.changes([FeedPosition(viewer, since)], limit)
        return changes

    @metered
    async def changes_of_many(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        return await self._feeds.changes(positions, limit)

    @metered
    async def heads(self, viewers: Sequence[str]) -> dict[str, Cursor]:
        return await self._feeds.heads(viewers)

    # Changes.

    @metered
    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        await self._feeds.acknowledge(viewer, up_to)

    @metered
    async def set_inbox_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        return await self._membership.arrange(viewer, thread_id, changes)

    @metered
    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        return await self._messages.edit(author, thread_id, message_id, body, body_html)

    @metered
    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        return await self._messages.delete(author, thread_id, message_id)

    @metered
    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        return await self._messages.mark_read(reader, thread_id, up_to, once)

    @metered
    async def add_participant(
        self, by: str | None, thread_id: str, user_id: str, role: Role, once: Once | None = None
    ) -> Thread | Kept:
        return await self._membership.add(by, thread_id, user_id, role, once)

    @metered
    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        await self._membership.remove(by, thread_id, user_id)

    @metered
    async def promote(
        self, thread_id: str, *, group_id: str | None, leg_id: str | None, once: Once | None = None
    ) -> Thread | Kept:
        return await self.decisions.promote(thread_id, group_id, leg_id, once)

    @metered
    async def block(self, blocker: str, blocked: str, once: Once | None = None) -> Kept | None:
        return await self._blocks.block(blocker, blocked, once)

    @metered
    async def unblock(self, blocker: str, blocked: str) -> None:
        await self._blocks.unblock(blocker, blocked)

    # Jobs.

    @metered
    async def put_job(self, job_id: str, participants: list[str]) -> bool:
        pk, sk = job_key(job_id)
        item = {"pk": pk, "sk": sk, "participants": participants, "at": self._clock()}
        try:
            await self._table.write(Put(item, UNLESS_THERE))
        except ConditionFailed:
            await self._table.write(Put(item))
            return False
        return True

    @metered
    async def job(self, job_id: str) -> list[str] | None:
        item = await self._table.get(job_key(job_id))
        return None if item is None else item["participants"]

    @metered
    async def job_of_thread(self, thread_id: str) -> str | None:
        item = await self._table.get(thread_key(thread_id))
        return None if item is None else item.get("jobId")

    # Conversations named by their people.

    @metered
    async def pair_thread(self, viewer: str, other: str) -> str | None:
        return await self._pairs.thread_of(viewer, other)

    @metered
    async def start_pair(
        self, draft: ThreadDraft, first: Send, limits: tuple[StartLimit, ...]
    ) -> Message | None:
        return await self._starts.start_pair(draft, first, limits)

    @metered
    async def sent_under(self, author: str, key: str, fingerprint: bytes) -> Message | None:
        return await self._pairs.sent_under(author, key, fingerprint)

    @metered
    async def conversation(self, viewer: str, thread_id: str) -> Conversation | None:
        return await self._pairs.by_thread(viewer, thread_id)

    @metered
    async def pair_conversation(self, viewer: str, others: Sequence[str]) -> Conversation | None:
        return await self._pairs.by_people(viewer, others)

    @metered
    async def conversations(self, viewer: str, limit: int) -> tuple[Conversation, ...]:
        return await self._pairs.newest(viewer, limit)

    @metered
    async def spoken(
        self, viewer: str, thread_id: str, *, after: str | None, limit: int
    ) -> tuple[Message, ...]:
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return ()
        return await self._messages.spoken(viewer, state, after=after, limit=limit)

    # Answers under a key.

    @metered
    async def recall(self, once: Once) -> Kept | None:
        return await self._threads.recall(once)

    @metered
    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        return await self._threads.keep_refusal(once, refusal)

    # Upkeep.

    @metered
    async def settle(self) -> int:
        return await self._sweeping.settle() + await self.decisions.settle()

    @metered
    async def hand_over(self, deliver: Deliver) -> int:
        return await self._sweeping.hand_over(deliver)

    async def prune(self) -> dict[str, int]:
        """DynamoDB itself deletes what is past its time; the ledger does not."""
        return {"decision": await self.decisions.prune()}

    async def ping(self) -> None:
        await self._table.ping()

    async def drain(self) -> None:
        """Wait until everything that was taken is done, also what follows behind the answers."""
        await self._sends.drain()
        await self._threads.projector.drain()

    async def close(self) -> None:
        await self.drain()
        await self._table.close()
