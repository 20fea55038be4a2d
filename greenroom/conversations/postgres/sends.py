"""Sends: those that arrive together share one round trip and one commit."""

from collections.abc import Hashable, Iterable, Sequence

from asyncpg import Pool, PostgresError

from greenroom.conversations.model import Draft, Message
from greenroom.conversations.postgres.append import Appended, Repeat, append_batch
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.jobs import set_job
from greenroom.conversations.postgres.reads import Reads
from greenroom.conversations.postgres.sql import REPEAT_OF
from greenroom.conversations.postgres.transactions import Transactions, Wake
from greenroom.conversations.store import Send, Sent
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import IdempotencyMismatch, ThreadNotFound
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.batching import Batching
from greenroom.platform.postgres.pool import PASSING_FAILURES, unavailable_on_failure


class Sends:
    """The pool is for sends alone, so that no send waits for a reader."""

    def __init__(
        self,
        pool: Pool,
        reads: Reads,
        transactions: Transactions,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        wake: Wake,
    ) -> None:
        self._pool = pool
        self._reads = reads
        self._transactions = transactions
        self._clock = clock
        self._randomness = randomness
        self._wake = wake
        self._group: Batching[Send, Message | Repeat] = Batching(
            self._write,
            _keys,
            writers=limits.send_connections,
            batch_limit=limits.send_batch,
            queue_limit=limits.send_queue,
        )

    async def append(self, send: Send) -> Sent:
        if send.job_id is None:
            appended = await self._group.submit(send)
        else:
            appended = await self._append_about_job(send)
        if isinstance(appended, Message):
            return Sent(appended, is_repeat=False)
        message = await self._reads.message(send.author_id, send.thread_id, appended.message_id)
        if message is None:
            raise ThreadNotFound
        return Sent(message, is_repeat=True)

    @unavailable_on_failure()
    async def sent_before(self, author: str, thread_id: str, draft: Draft) -> Message | None:
        row = await self._pool.fetchrow(REPEAT_OF, author, draft.client_id)
        if row is None:
            return None
        if row["thread_id"] != thread_id or row["send_hash"] != draft.hash():
            raise IdempotencyMismatch("This client_id was used for another message.")
        return await self._reads.message(author, thread_id, row["message_id"])

    @unavailable_on_failure()
    async def _write(self, sends: Sequence[Send]) -> Sequence[Message | Repeat | Exception]:
        try:
            async with self._pool.acquire() as conn:
                results = await append_batch(conn, sends, self._clock(), self._randomness)
        except (PostgresError, ValueError) as failure:
            if isinstance(failure, PASSING_FAILURES) and not isinstance(failure, ValueError):
                raise
            # One bad row must not fail the others: find it by sending each alone. A value that
            # cannot be encoded for the server is a ValueError.
            if len(sends) == 1:
                return [failure]
            return [(await self._write([send]))[0] for send in sends]
        self._wake(user for each in results if isinstance(each, Appended) for user in each.viewers)
        return [each.message if isinstance(each, Appended) else each for each in results]

    async def _append_about_job(self, send: Send) -> Message | Repeat:
        """In a transaction of its own, because it can change the thread too."""

        async def work(change: Change) -> Message | Repeat:
            await change.lock(send.thread_id, by=send.author_id)
            appended = await change.append_or_find(send)
            if isinstance(appended, Message):
                await set_job(change, send.author_id, send.thread_id, send.job_id)
            return appended

        return await self._transactions.run(work)

    async def close(self) -> None:
        await self._group.drain()
        await self._pool.close()


def _keys(send: Send) -> Iterable[Hashable]:
    """Two sends that share one of these are not written in the same batch."""
    yield send.author_id, "client_id", send.draft.client_id
    if send.key is not None:
        yield send.author_id, "key", send.key
