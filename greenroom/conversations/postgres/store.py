"""The conversation store on PostgreSQL, put together from its parts."""

from asyncpg import Pool

from greenroom.conversations.postgres.backend import Backend
from greenroom.conversations.postgres.blocks import Blocks
from greenroom.conversations.postgres.edits import Edits
from greenroom.conversations.postgres.feeds import PostgresFeeds
from greenroom.conversations.postgres.files import FileChanges
from greenroom.conversations.postgres.inbox import Inbox
from greenroom.conversations.postgres.jobs import MarketplaceJobs
from greenroom.conversations.postgres.membership import Membership
from greenroom.conversations.postgres.pairs import Pairs
from greenroom.conversations.postgres.promotion import Promotion
from greenroom.conversations.postgres.reads import Reads
from greenroom.conversations.postgres.receipts import Receipts
from greenroom.conversations.postgres.sends import Sends
from greenroom.conversations.postgres.starts import Starts
from greenroom.conversations.postgres.transactions import Transactions, Wake
from greenroom.conversations.postgres.upkeep.pruning import Pruning
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits


class PostgresConversations:
    """Its promises are those of `ConversationStore`. Each of its methods is one of a part.

    Sends, reading of feeds and acknowledgements have pools of their own, so that a crowd of one
    kind does not take the connections of another.
    """

    def __init__(
        self,
        pool: Pool,
        send_pool: Pool,
        feed_pool: Pool,
        ack_pool: Pool,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        wake: Wake,
    ) -> None:
        transactions = Transactions(pool, clock=clock, randomness=randomness, wake=wake)
        self.recall = transactions.recall
        self.keep_refusal = transactions.keep_refusal

        reads = Reads(pool)
        self.thread = reads.thread
        self.messages = reads.messages
        self.message = reads.message
        self.find_threads = reads.find_threads
        self.find_messages = reads.find_messages
        self.ping = reads.ping

        sends = Sends(
            *(send_pool, reads, transactions),
            clock=clock,
            randomness=randomness,
            limits=limits,
            wake=wake,
        )
        self.append = sends.append
        self.sent_before = sends.sent_before

        starts = Starts(transactions)
        self.start_thread = starts.start_thread

        edits = Edits(transactions, limits=limits)
        self.edit_message = edits.edit_message
        self.delete_message = edits.delete_message

        receipts = Receipts(transactions, limits=limits)
        self.mark_read = receipts.mark_read
        self.deliver = receipts.deliver

        membership = Membership(transactions, limits=limits)
        self.add_participant = membership.add_participant
        self.remove_participant = membership.remove_participant

        files = FileChanges(pool, transactions)
        self.tell_file_changed = files.tell_file_changed
        self.safe_mode_required = files.safe_mode_required

        promotion = Promotion(transactions)
        self.promote = promotion.promote

        backend = Backend(pool, transactions)
        self.open_by_key = backend.open_by_key
        self.thread_by_key = backend.thread_by_key
        self.add_notice = backend.add_notice
        self.change_thread = backend.change_thread
        self.any_thread = backend.any_thread
        self.any_messages = backend.any_messages
        self.threads_of_user = backend.threads_of_user
        self.threads_of_job = backend.threads_of_job

        blocks = Blocks(pool, transactions)
        self.block = blocks.block
        self.unblock = blocks.unblock
        self.blocks = blocks.blocks

        inbox = Inbox(pool, transactions, clock=clock, limits=limits)
        self.inbox = inbox.inbox
        self.set_inbox_row = inbox.set_inbox_row

        jobs = MarketplaceJobs(pool, clock=clock)
        self.put_job = jobs.put_job
        self.job = jobs.job
        self.job_of_thread = jobs.job_of_thread

        pairs = Pairs(pool, transactions)
        self.pair_thread = pairs.pair_thread
        self.start_pair = pairs.start_pair
        self.sent_under = pairs.sent_under
        self.conversation = pairs.conversation
        self.pair_conversation = pairs.pair_conversation
        self.conversations = pairs.conversations
        self.spoken = pairs.spoken
        self.changed = pairs.changed

        feeds = PostgresFeeds(feed_pool, ack_pool, clock=clock, limits=limits, wake=wake)
        self.changes = feeds.changes
        self.changes_of_many = feeds.changes_of_many
        self.heads = feeds.heads
        self.acknowledge = feeds.acknowledge

        self.prune = Pruning(transactions, limits=limits).prune

        self._pool = pool
        self._sends = sends
        self._feeds = feeds

    async def settle(self) -> int:
        """Nothing to do: a change and its projection are one transaction here."""
        return 0

    async def close(self) -> None:
        await self._sends.close()
        await self._feeds.close()
        await self._pool.close()
