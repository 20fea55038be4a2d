"""The conversation store on DynamoDB. Its guarantees are those of `ConversationStore`.

A change writes the thread's main item and an outbox record of whom it concerns in one transaction.
It is then projected to inbox rows and feeds; after a crash, by the next reader or the sweeper.
docs/dynamodb.md lists the items and the cost of each operation. This file only connects the parts.
"""

from collections.abc import Sequence

from greenroom.conversations.backend_store import KeyedThread, MarketplaceNotice, ThreadFields
from greenroom.conversations.decisions import DecisionLog
from greenroom.conversations.dynamodb.changes.backend import BackendChanges
from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.decisions import Decisions
from greenroom.conversations.dynamodb.changes.membership import Membership
from greenroom.conversations.dynamodb.changes.message_lookup import MessageLookup
from greenroom.conversations.dynamodb.changes.messages import MessageChanges
from greenroom.conversations.dynamodb.changes.projection import Projector, Wake
from greenroom.conversations.dynamodb.changes.sends import Sends
from greenroom.conversations.dynamodb.changes.starts import Starts
from greenroom.conversations.dynamodb.changes.sweeper import Sweeper
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.cards import with_cards
from greenroom.conversations.dynamodb.items.keys import job_key, message_key, thread_key
from greenroom.conversations.dynamodb.items.rows import message_from
from greenroom.conversations.dynamodb.items.threads import state_from
from greenroom.conversations.dynamodb.reads.backend import BackendReads
from greenroom.conversations.dynamodb.reads.feeds import FeedReads
from greenroom.conversations.dynamodb.reads.inbox import InboxReads
from greenroom.conversations.dynamodb.reads.messages import MessageReads
from greenroom.conversations.dynamodb.reads.pairs import PairReads
from greenroom.conversations.inbox import InboxChanges, InboxFilter, InboxKey, InboxPage
from greenroom.conversations.model import (
    Cursor,
    Draft,
    EventType,
    Message,
    Role,
    Thread,
    ThreadDraft,
)
from greenroom.conversations.people import Profiles
from greenroom.conversations.store import (
    Block,
    BlockKey,
    Changes,
    Conversation,
    Deliver,
    FeedPosition,
    FoundMessage,
    HandedOver,
    MessagePage,
    Send,
    Sent,
    Started,
    StartLimit,
)
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
        keeps_records: bool = True,
    ) -> None:
        """`keeps_records`: records of changes stay until `hand_over` has delivered their events.
        Otherwise nobody gets the events."""
        projector = Projector(
            table, clock=clock, limits=limits, wake=wake, keeps_records=keeps_records
        )
        self._table = table
        self._clock = clock
        self._threads = Threads(
            table, projector, profiles, clock=clock, randomness=randomness, limits=limits
        )
        self._blocks = Blocks(self._threads)
        self._lookup = MessageLookup(table)
        self._message_reads = MessageReads(self._threads, self._lookup)
        self._message_changes = MessageChanges(self._threads, self._lookup)
        self._membership = Membership(self._threads, self._blocks)
        self.decisions = Decisions(self._threads, self._membership, ledger)
        self._starts = Starts(self._threads, self._blocks)
        self._backend_changes = BackendChanges(self._threads, self._starts)
        self._backend_reads = BackendReads(self._threads)
        self._sends = Sends(self._threads)
        self._feeds = FeedReads(self._threads, self._lookup)
        self._inbox = InboxReads(self._threads, self._feeds)
        self._pairs = PairReads(self._threads, self._lookup, self._message_reads, self._inbox)
        self._sweeper = Sweeper(self._threads, self._blocks)

    @property
    def parts(self) -> tuple[Threads, Blocks]:
        """For upkeep in the same process, which must use the same locks."""
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
    async def sent_before(self, author: str, thread_id: str, draft: Draft) -> Message | None:
        message_id = await self._sends.find_before(author, thread_id, draft)
        return None if message_id is None else await self.message(author, thread_id, message_id)

    @metered
    async def start_thread(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: tuple[StartLimit, ...],
        once: Once | None = None,
        *,
        cost_ms: int = 0,
    ) -> Started | Kept:
        return await self._starts.start(draft, first, limits, once, cost_ms)

    # Reads.

    @metered
    async def thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor] | None:
        cursor = await self._feeds.head(viewer)
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        return await self._threads.view(viewer, state), cursor

    @metered
    async def messages(
        self, viewer: str, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> MessagePage | None:
        cursor = await self._feeds.head(viewer)
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        page, has_more = await self._message_reads.page(
            viewer, state, before=before, after=after, limit=limit
        )
        return MessagePage(tuple(page), has_more, cursor)

    @metered
    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None:
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        item = await self._lookup.access(viewer, state, message_id)
        if item is None:
            return None
        [message] = await with_cards(self._table, [message_from(item)])
        return message

    @metered
    async def find_threads(self, thread_ids: Sequence[str]) -> dict[str, Thread]:
        items = await self._table.get_many([thread_key(each) for each in thread_ids])
        states = map(state_from, items.values())
        return {state.id: self._threads.for_server(state) for state in states}

    @metered
    async def find_messages(self, places: Sequence[tuple[str, str]]) -> dict[str, FoundMessage]:
        keys = [key for place in places if (key := message_key(*place)) is not None]
        found = {}
        for item in (await self._table.get_many(keys)).values():
            message = message_from(item)
            found[message.id] = FoundMessage(message, item.get("cardId"), "visibleTo" in item)
        return found

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
        return await self._membership.set_row(viewer, thread_id, changes)

    @metered
    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        return await self._message_changes.edit(author, thread_id, message_id, body, body_html)

    @metered
    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        return await self._message_changes.delete(author, thread_id, message_id)

    @metered
    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        return await self._message_changes.mark_read(reader, thread_id, up_to, once)

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

    @metered
    async def blocks(
        self, blocker: str, *, after: BlockKey | None, limit: int
    ) -> tuple[Block, ...]:
        return await self._blocks.page(blocker, after=after, limit=limit)

    # The marketplace's backend.

    @metered
    async def open_by_key(
        self, key: str, draft: ThreadDraft, notice: MarketplaceNotice | None
    ) -> KeyedThread:
        return await self._backend_changes.open_by_key(key, draft, notice)

    @metered
    async def add_notice(
        self, thread_id: str, notice: MarketplaceNotice, once: Once | None = None
    ) -> Message | Kept:
        return await self._backend_changes.add_notice(thread_id, notice, once)

    @metered
    async def change_thread(self, thread_id: str, fields: ThreadFields) -> Thread:
        return await self._backend_changes.change_thread(thread_id, fields)

    @metered
    async def thread_by_key(self, key: str) -> Thread | None:
        return await self._backend_reads.thread_by_key(key)

    @metered
    async def any_thread(self, thread_id: str) -> Thread | None:
        return await self._backend_reads.thread(thread_id)

    @metered
    async def any_messages(
        self, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> tuple[tuple[Message, ...], bool] | None:
        return await self._backend_reads.messages(
            thread_id, before=before, after=after, limit=limit
        )

    @metered
    async def threads_of_user(
        self, user_id: str, *, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        return await self._backend_reads.of_user(user_id, before=before, limit=limit)

    @metered
    async def threads_of_job(
        self, job_id: str, *, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        return await self._backend_reads.of_job(job_id, before=before, limit=limit)

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

    # Pair conversations, for the polling API.

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
        return await self._message_reads.spoken(viewer, state, after=after, limit=limit)

    @metered
    async def changed(
        self, viewer: str, thread_id: str, *, after_ms: int, limit: int
    ) -> tuple[Message, ...]:
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return ()
        return await self._message_reads.changed(viewer, state, after_ms=after_ms, limit=limit)

    @metered
    async def deliver(self, viewer: str, thread_id: str, up_to: str) -> None:
        await self._feeds.deliver(viewer, thread_id, up_to)

    # Files.

    @metered
    async def tell_file_changed(
        self, thread_id: str | None, file_id: str, owner: str, message_id: str | None
    ) -> None:
        if thread_id is None or message_id is None:
            event = EventType.FILE_CHANGED
            await self._threads.projector.append_alone(owner, event, file_id, thread_id)
        else:
            await self._message_changes.tell_file_changed(thread_id, file_id, owner, message_id)

    @metered
    async def safe_mode_required(self, thread_ids: Sequence[str]) -> frozenset[str]:
        found = await self._table.get_many([thread_key(each) for each in set(thread_ids)])
        states = map(state_from, found.values())
        return frozenset(state.id for state in states if state.safe_mode_required)

    # Answers that are kept by Idempotency-Key.

    @metered
    async def recall(self, once: Once) -> Kept | None:
        return await self._threads.recall(once)

    @metered
    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        return await self._threads.keep_refusal(once, refusal)

    # Upkeep.

    @metered
    async def settle(self) -> int:
        return await self._sweeper.settle() + await self.decisions.settle()

    @metered
    async def hand_over(self, deliver: Deliver) -> HandedOver:
        """Pass domain events to `deliver`, a bounded number, in order per thread, and delete them
        when it has returned: each is delivered at least once."""
        return await self._sweeper.hand_over(deliver)

    async def prune(self) -> dict[str, int]:
        """DynamoDB expires its own items; this deletes done decisions in the ledger."""
        return {"decision": await self.decisions.prune()}

    async def ping(self) -> None:
        await self._table.ping()

    async def drain(self) -> None:
        """Wait until all accepted sends and the background clean-up are done."""
        await self._sends.drain()
        await self._threads.projector.drain()

    async def close(self) -> None:
        await self.drain()
        await self._table.close()
