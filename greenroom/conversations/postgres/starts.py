"""Beginning a thread: the thread, its people and its first message, all or nothing."""

from datetime import timedelta

from greenroom.conversations.model import Draft, EventType, ThreadDraft
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.store import Send, Started, StartLimit
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    ThreadNotFound,
    Unavailable,
)
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.rate_buckets import take_from

# The thread that the opener has with the recipient under a key, if both are still in it.
LISTED = """
select l.thread_id from listing_thread l
join inbox_index i on i.user_id = l.opener_user and i.thread_id = l.thread_id
join thread_participant p on p.thread_id = l.thread_id and p.user_id = l.recipient_user
where l.opener_user = $1 and l.recipient_user = $2 and l.listing_key = $3 and p.status = 'active'
"""
LIST_THREAD = """
insert into listing_thread (opener_user, recipient_user, listing_key, thread_id)
values ($1, $2, $3, $4)
on conflict (opener_user, recipient_user, listing_key) do update set thread_id = excluded.thread_id
"""

ADD_THREAD = """
insert into thread (thread_id, kind, subject, role_context, job_id, opened_by_user,
                    last_msg_ts, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, '-infinity', $7, $7)
"""
ADD_PARTICIPANTS = """
insert into thread_participant (thread_id, user_id, role, status, joined_at)
select $1, m.user_id, m.role, 'active', $4
from unnest($2::text[], $3::text[]) as m (user_id, role)
"""

# What a look found can change before it is locked, but not this often in a row.
LOOKS = 5


class _ListingMoved(Exception):  # noqa: N818 (an answer that the caller expects)
    """The key stands for another thread than a moment ago: look again."""


class Starts:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def start_thread(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: tuple[StartLimit, ...],
        once: Once | None = None,
        *,
        cost_ms: int = 0,
    ) -> Started | Kept:
        async def work(change: Change) -> Started:
            listed = await _listed(change, draft)
            if listed is not None:
                send = Send(listed, draft.opened_by, first, cost_ms)
                return await _write_into(change, draft, send)
            return await _begin(change, draft, first, limits)

        for _ in range(LOOKS):
            try:
                return await self._transactions.run_once(work, once)
            except _ListingMoved:
                continue
        raise Unavailable("Others begin and leave this thread just now.", retry_after_s=1)


async def _listed(change: Change, draft: ThreadDraft) -> str | None:
    """The thread of the draft's listing, if it has one."""
    if draft.listing_key is None:
        return None
    [recipient] = draft.recipients
    thread_id: str | None = await change.conn.fetchval(
        LISTED, draft.opened_by, recipient, draft.listing_key
    )
    return thread_id


async def _write_into(change: Change, draft: ThreadDraft, send: Send) -> Started:
    """Send into the listing's thread. Who is in it is checked again under its lock."""
    opener, thread_id = draft.opened_by, send.thread_id
    try:
        await change.lock(thread_id, by=opener)
    except ThreadNotFound:
        raise _ListingMoved from None
    if await _listed(change, draft) != thread_id:
        raise _ListingMoved
    repeat = await _find_start(change, opener, send.draft, listed=thread_id)
    if repeat is not None:
        return repeat
    message = await change.append(send)
    return Started(await change.load(opener, thread_id), message, is_new=False)


async def _begin(
    change: Change, draft: ThreadDraft, first: Draft, limits: tuple[StartLimit, ...]
) -> Started:
    opener, people = draft.opened_by, list(draft.members)
    await change.add_heads(people)
    await change.lock_heads(people)
    repeat = await _find_start(change, opener, first)
    if repeat is not None:
        return repeat
    # Threads are locked before heads, so a thread that has come meanwhile is for the next look.
    if await _listed(change, draft) is not None:
        raise _ListingMoved
    await take_starts(change, opener, limits)
    started = await create_thread(change, draft, Send(draft.id, opener, first, cost_ms=0))
    if draft.listing_key is not None:
        [recipient] = draft.recipients
        await change.conn.execute(LIST_THREAD, opener, recipient, draft.listing_key, draft.id)
    return started


async def _find_start(
    change: Change, opener: str, first: Draft, listed: str | None = None
) -> Started | None:
    """What this client_id led to before: the first message of a thread, or one in the listing's
    thread."""
    row = await change.conn.fetchrow(sql.REPEAT_OF, opener, first.client_id)
    if row is None:
        return None
    if row["send_hash"] != first.hash():
        raise IdempotencyMismatch("This client_id was used for another message.")
    found = await change.find_message(opener, row["thread_id"], row["message_id"])
    if found is None or (found.seq != 1 and row["thread_id"] != listed):
        raise IdempotencyMismatch("This client_id was used in another thread.")
    thread = await change.load(opener, row["thread_id"])
    return Started(thread, found, is_new=False)


async def take_starts(change: Change, opener: str, limits: tuple[StartLimit, ...]) -> None:
    """Count a new thread against the opener's limits. Raises RateLimited."""
    for limit in limits:
        minutes = limit.window_ms // 60_000
        await take_from(
            change.conn,
            f"start:{limit.window_ms}:{opener}",
            change.clock(),
            count=limit.count,
            window=timedelta(milliseconds=limit.window_ms),
            detail=f"At most {limit.count} new conversations in {minutes} min.",
        )


async def create_thread(change: Change, draft: ThreadDraft, first: Send) -> Started:
    """Write the thread, its people and its first message. The heads of its people are locked."""
    conn, opener, others, now_ms = change.conn, draft.opened_by, draft.recipients, change.clock()
    refused = {row["blocked_user"] for row in await conn.fetch(sql.HAS_BLOCKED, opener, others)}
    if refused.issuperset(others):
        raise MsgBlockedByUser
    hidden = {row["user_id"] for row in await conn.fetch(sql.BLOCKED_EITHER_WAY, opener, others)}
    await conn.execute(
        ADD_THREAD, draft.id, draft.kind, draft.subject, draft.role_context, draft.job_id, opener,
        now_ms,
    )  # fmt: skip
    roles = [str(role) for role in draft.members.values()]
    await conn.execute(ADD_PARTICIPANTS, draft.id, list(draft.members), roles, now_ms)
    await conn.execute(sql.ADD_INBOX_ROW, opener, draft.id, now_ms)
    viewers = [user for user in draft.members if user not in hidden]
    await change.tell(viewers, EventType.THREAD_CHANGED, draft.id, actor=opener)
    await change.publish("thread.create", opener, draft.id, {"kind": draft.kind})
    message = await change.append(first)
    return Started(await change.load(opener, draft.id), message, is_new=True)
