"""Erasing what one person wrote, in steps that can be repeated.

Each step is a transaction of its own. The messages of a thread are erased page by page; with the
last page the person leaves the thread. What belongs to no thread comes last, so that a run that was
killed finds everything again.
"""

from collections.abc import AsyncGenerator

from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.postgres.upkeep.recount import mend_rows
from greenroom.conversations.upkeep import Erased, HeldError
from greenroom.platform.postgres.pool import unavailable_on_failure

MESSAGES_AT_ONCE = 500
ROWS_AT_ONCE = 5000

HELD_THREAD = """
select t.thread_id, t.legal_hold_reason from thread_participant p
join thread t on t.thread_id = p.thread_id
where p.user_id = $1 and t.legal_hold_at is not null order by t.thread_id limit 1
"""
HOLD_OF = """
select legal_hold_reason from thread where thread_id = $1 and legal_hold_at is not null
"""
NEXT_THREAD = """
select thread_id from thread_participant where user_id = $1 and thread_id > $2
order by thread_id limit 1
"""

# A page of somebody's own messages. Notices contain ids only, and stay. A card belongs to the
# contract, to which both sides have a right, and stays too.
OWN_MESSAGES = """
select message_id, deleted_at is null as is_live from message
where thread_id = $1 and sender_user = $2 and kind not in ('system', 'card')
    and message_id > $3
order by message_id limit $4
"""
# The hash is erased too: it would tell whether a guess at the text is right.
ERASE_MESSAGES = """
update message set body_text = '', body_html = null, client_id = null, send_hash = null,
    attachments = null,
    deleted_at = coalesce(deleted_at, $3)
where thread_id = $1 and message_id = any ($2::text[])
    and (body_text <> '' or body_html is not null or client_id is not null
        or send_hash is not null or attachments is not null or deleted_at is null)
"""
# That there was an edit or a deletion stays on record; the text is erased.
ERASE_ORIGINALS = """
update message_audit set body_text = '', attachments = null
where thread_id = $1 and message_id = any ($2::text[])
    and (body_text <> '' or attachments is not null)
"""
# One event per message and viewer, in the messages' order.
TELL_ERASED = """
with told as materialized (
    select p.user_id, m.message_id,
        row_number() over (partition by p.user_id order by m.message_id) as place
    from message m
    join thread_participant p on p.thread_id = m.thread_id and p.status = 'active'
        and m.message_id > p.visible_after_id and p.user_id <> $3
    join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
    where m.thread_id = $1 and m.message_id = any ($2::text[])
        and (m.visible_to is null or p.user_id = any (m.visible_to))
),
moved as (
    update feed_head h set last_n = h.last_n + c.events
    from (select user_id, count(*) as events from told group by user_id) c
    where h.user_id = c.user_id
    returning h.user_id, h.last_n - c.events as before
)
insert into feed (user_id, n, type, thread_id, message_id, actor, at)
select t.user_id, v.before + t.place, 'message.deleted', $1, t.message_id, $3, $4
from told t join moved v on v.user_id = t.user_id
returning user_id
"""
PUBLISH_ERASED = """
insert into outbox (event, occurred_at, actor, thread_id, message_id)
select 'message.delete', $4, $3, $1, id from unnest($2::text[]) as id order by id
"""
# Both return a row if they changed something. The subject is the opener's own text.
LEAVE = """
update thread_participant set status = 'left', muted_until = null
where thread_id = $1 and user_id = $2 and status <> 'left' returning 1
"""
CLEAR_SUBJECT = """
update thread set subject = null
where thread_id = $1 and opened_by_user = $2 and subject is not null returning 1
"""

# What belongs to the person and to no thread.
ERASE_BLOCKS = "delete from user_block where blocker_user = $1"
ERASE_LISTINGS = "delete from listing_thread where opener_user = $1"
ERASE_STRAY_ROWS = "delete from inbox_index where user_id = $1"
ERASE_ANSWERS = """
delete from idempotency_key where (caller, route, key) in (
    select caller, route, key from idempotency_key where caller = 'person:' || $1 limit $2)
"""
ERASE_FEED = """
with old as (select n from feed where user_id = $1 order by n limit $2),
gone as (delete from feed where user_id = $1 and n <= (select max(n) from old))
update feed_head set pruned_n = greatest(pruned_n, (select max(n) from old))
where user_id = $1 and exists (select 1 from old)
returning 1
"""


class Erasure:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._pool = transactions.pool

    @unavailable_on_failure()
    async def check_allowed(self, user_id: str) -> None:
        held = await self._pool.fetchrow(HELD_THREAD, user_id)
        if held is not None:
            raise HeldError(held["thread_id"], held["legal_hold_reason"])

    async def run(self, user_id: str) -> AsyncGenerator[Erased, None]:
        await self.check_allowed(user_id)
        thread_id = ""
        while following := await self._next_thread(user_id, thread_id):
            thread_id = following
            after: str | None = ""
            while after is not None:
                count, after = await self._erase_page(user_id, thread_id, after)
                yield Erased(messages=count, threads=0 if after else 1)
        await self._erase_person(user_id)

    @unavailable_on_failure()
    async def _next_thread(self, user_id: str, after: str) -> str | None:
        found: str | None = await self._pool.fetchval(NEXT_THREAD, user_id, after)
        return found

    async def _erase_page(self, user_id: str, thread_id: str, after: str) -> tuple[int, str | None]:
        """How many messages were erased, and after which one to go on; None: this was the end."""

        async def work(change: Change) -> tuple[int, str | None]:
            await change.add_heads([user_id])
            await change.lock(thread_id, by=None, and_head_of=user_id)
            held = await change.conn.fetchrow(HOLD_OF, thread_id)
            if held is not None:
                raise HeldError(thread_id, held["legal_hold_reason"])
            own = (thread_id, user_id, after, MESSAGES_AT_ONCE)
            page = await change.conn.fetch(OWN_MESSAGES, *own)
            live = [row["message_id"] for row in page if row["is_live"]]
            await _erase_messages(change, thread_id, [r["message_id"] for r in page])
            await _tell_erased(change, user_id, thread_id, live)
            if len(page) == MESSAGES_AT_ONCE:
                return len(live), page[-1]["message_id"]
            await _leave(change, user_id, thread_id)
            return len(live), None

        return await self._transactions.run(work)

    async def _erase_person(self, user_id: str) -> None:
        async def forget(change: Change) -> None:
            await change.lock_heads([user_id])
            await change.conn.execute(ERASE_BLOCKS, user_id)
            await change.conn.execute(ERASE_LISTINGS, user_id)
            await change.conn.execute(ERASE_STRAY_ROWS, user_id)

        async def forget_answers(change: Change) -> bool:
            return await change.conn.execute(ERASE_ANSWERS, user_id, ROWS_AT_ONCE) != "DELETE 0"

        async def forget_feed(change: Change) -> bool:
            await change.lock_heads([user_id])
            return await change.conn.fetchval(ERASE_FEED, user_id, ROWS_AT_ONCE) is not None

        await self._transactions.run(forget)
        while await self._transactions.run(forget_answers):
            pass
        while await self._transactions.run(forget_feed):
            pass


async def _erase_messages(change: Change, thread_id: str, message_ids: list[str]) -> None:
    await change.conn.execute(ERASE_MESSAGES, thread_id, message_ids, change.clock())
    await change.conn.execute(ERASE_ORIGINALS, thread_id, message_ids)


async def _tell_erased(
    change: Change, user_id: str, thread_id: str, message_ids: list[str]
) -> None:
    now_ms = change.clock()
    await mend_rows(change.conn, thread_id)
    told = await change.conn.fetch(TELL_ERASED, thread_id, message_ids, user_id, now_ms)
    change.told.update(row["user_id"] for row in told)
    await change.conn.execute(PUBLISH_ERASED, thread_id, message_ids, user_id, now_ms)


async def _leave(change: Change, user_id: str, thread_id: str) -> None:
    left = await change.conn.fetchval(LEAVE, thread_id, user_id)
    cleared = await change.conn.fetchval(CLEAR_SUBJECT, thread_id, user_id)
    await change.conn.execute(sql.REMOVE_INBOX_ROW, user_id, thread_id)
    if left or cleared:
        await change.conn.execute(sql.TOUCH_THREAD, thread_id, change.clock())
        # As the server, not as the person: their blocks hide nothing of who is in the thread.
        await change.tell_all(thread_id, None)
    if left:
        await change.publish("participant.left", user_id, thread_id, {"user_id": user_id})
