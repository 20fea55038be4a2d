"""The conversation store on PostgreSQL. Its promises are those of `ConversationStore`.

Every change is one transaction that locks its thread first and then the feed heads of the people
it concerns, each sorted; what it checks, it checks after the locks.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypeVar

from asyncpg import Pool

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.feeds_postgres import PostgresFeeds, Wake, head_of
from greenroom.conversations.inbox_postgres import InboxQuery
from greenroom.conversations.model import (
    PARTIES,
    Cursor,
    Draft,
    EventType,
    Message,
    Role,
    Thread,
    ThreadDraft,
)
from greenroom.conversations.pairs_postgres import PostgresPairs
from greenroom.conversations.pruning_postgres import prune
from greenroom.conversations.rows_postgres import LEFT, domain_event_from, message_from, thread_from
from greenroom.conversations.sends_postgres import SendBatches
from greenroom.conversations.store import (
    Changes,
    Deliver,
    FeedPosition,
    Folder,
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
from greenroom.kernel.clock import Clock, rfc3339
from greenroom.kernel.errors import (
    ActionInvalidState,
    EditWindowClosed,
    Forbidden,
    IdempotencyMismatch,
    MsgBlockedByUser,
    NotFound,
    ParticipantMuted,
    ThreadLocked,
    ThreadNotFound,
    UserNotFound,
)
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.buckets_postgres import take_from
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import Session, unavailable_on_failure

T = TypeVar("T")

BEFORE_ALL = ""
AFTER_ALL = "~"


class PostgresConversations(PostgresPairs):
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
        super().__init__(pool, clock=clock, randomness=randomness, wake=wake)
        self._limits = limits
        self._sends = SendBatches(
            send_pool, clock=clock, randomness=randomness, limits=limits, wake=wake
        )
        self._feeds = PostgresFeeds(feed_pool, ack_pool, clock=clock, limits=limits, wake=wake)

    async def append(self, send: Send) -> Sent:
        appended = await self._sends.submit(send)
        if isinstance(appended, Message):
            return Sent(appended, is_repeat=False)
        message = await self.message(send.author_id, send.thread_id, appended.message_id)
        if message is None:
            raise ThreadNotFound
        return Sent(message, is_repeat=True)

    # Reads: one query each, through what the viewer may see.

    @unavailable_on_failure()
    async def thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor] | None:
        row = await self._pool.fetchrow(sql.THREADS, viewer, [thread_id])
        return None if row is None else (thread_from(row), head_of(row))

    @unavailable_on_failure()
    async def messages(
        self, viewer: str, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> MessagePage | None:
        if after is not None:
            query, bound = sql.MESSAGES_AFTER, after
        else:
            query, bound = sql.MESSAGES_BEFORE, before or AFTER_ALL
        rows = await self._pool.fetch(query, viewer, thread_id, bound, limit + 1)
        if not rows:
            return None
        found = [message_from(row) for row in rows if row["message_id"] is not None]
        page = sorted(found[:limit], key=lambda message: message.seq)
        return MessagePage(tuple(page), len(found) > limit, head_of(rows[0]))

    @unavailable_on_failure()
    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None:
        row = await self._pool.fetchrow(sql.MESSAGE, viewer, thread_id, message_id)
        return None if row is None else message_from(row)

    @unavailable_on_failure()
    async def inbox(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        query = InboxQuery(viewer, asked, self._limits, self._clock())
        statement = query.page(after, limit + 1)
        async with self._pool.acquire() as conn:
            [summary] = await conn.fetch(sql.INBOX_SUMMARY, viewer)
            rows = await conn.fetch(statement, *query.args)
        items = tuple(thread_from(row) for row in rows[:limit])
        next_key = None
        if len(rows) > limit:
            last = rows[limit - 1]
            next_key = InboxKey(last["pinned"], last["last_msg_ts"], last["thread_id"])
        counts = {folder: summary[folder] for folder in Folder}
        return InboxPage(items, next_key, counts, head_of(summary))

    async def set_inbox_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        async def change(conn: Session) -> Thread:
            await self._lock(conn, thread_id, by=viewer)
            await self._member(conn, viewer, thread_id)
            before = await self._load(conn, viewer, thread_id)
            await conn.execute(
                sql.SET_INBOX_ROW,
                *(viewer, thread_id, changes.archived, changes.pinned, changes.starred),
            )
            if changes.sets_muted:
                await conn.execute(sql.SET_MUTED, viewer, thread_id, changes.muted_until_ms)
            after = await self._load(conn, viewer, thread_id)
            if after != before:
                await self._tell(conn, [viewer], EventType.INBOX_CHANGED, thread_id, actor=viewer)
            return after

        return await self._change(change)

    @unavailable_on_failure()
    async def put_job(self, job_id: str, participants: list[str]) -> bool:
        created = await self._pool.fetchval(sql.PUT_JOB, job_id, participants, self._clock())
        return bool(created)

    @unavailable_on_failure()
    async def job(self, job_id: str) -> list[str] | None:
        participants: list[str] | None = await self._pool.fetchval(sql.JOB, job_id)
        return participants

    @unavailable_on_failure()
    async def job_of_thread(self, thread_id: str) -> str | None:
        job_id: str | None = await self._pool.fetchval(sql.JOB_OF_THREAD, thread_id)
        return job_id

    async def changes(self, viewer: str, since: Cursor | None, limit: int) -> Changes:
        [changes] = await self.changes_of_many([FeedPosition(viewer, since)], limit)
        return changes

    async def changes_of_many(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        return await self._feeds.changes_of_many(positions, limit)

    async def heads(self, viewers: Sequence[str]) -> dict[str, Cursor]:
        return await self._feeds.heads(viewers)

    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        await self._feeds.acknowledge(viewer, up_to)

    # Changes.

    async def start_thread(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: tuple[StartLimit, ...],
        once: Once | None = None,
    ) -> Started | Kept:
        async def change(conn: Session) -> Started:
            await conn.execute(sql.ADD_HEADS, list(draft.members))
            await conn.execute(sql.LOCK_HEADS, list(draft.members))
            repeat = await self._find_start(conn, draft.opened_by, first)
            if repeat is not None:
                return repeat
            await self._take_starts(conn, draft.opened_by, limits)
            send = Send(draft.id, draft.opened_by, first, cost_ms=0)
            return await self._start(conn, draft, send)

        return await self._change_once(change, once)

    async def _find_start(self, conn: Session, opener: str, first: Draft) -> Started | None:
        row = await conn.fetchrow(sql.REPEAT_OF, opener, first.client_id)
        if row is None:
            return None
        if row["send_hash"] != first.hash():
            raise IdempotencyMismatch("This client_id was used for another message.")
        found = await conn.fetchrow(sql.MESSAGE, opener, row["thread_id"], row["message_id"])
        if found is None or found["seq"] != 1:
            raise IdempotencyMismatch("This client_id was used in another thread.")
        thread = await self._load(conn, opener, row["thread_id"])
        return Started(thread, message_from(found), is_repeat=True)

    async def _take_starts(
        self, conn: Session, opener: str, limits: tuple[StartLimit, ...]
    ) -> None:
        for limit in limits:
            minutes = limit.window_ms // 60_000
            await take_from(
                conn,
                f"start:{limit.window_ms}:{opener}",
                self._clock(),
                count=limit.count,
                window=timedelta(milliseconds=limit.window_ms),
                detail=f"At most {limit.count} new conversations in {minutes} min.",
            )

    async def _start(self, conn: Session, draft: ThreadDraft, first: Send) -> Started:
        opener, now = draft.opened_by, self._clock()
        others = [user for user in draft.members if user != opener]
        refused = {r["blocked_user"] for r in await conn.fetch(sql.HAS_BLOCKED, opener, others)}
        if refused.issuperset(others):
            raise MsgBlockedByUser
        hidden = {r["user_id"] for r in await conn.fetch(sql.BLOCKED_EITHER_WAY, opener, others)}
        await conn.execute(
            sql.ADD_THREAD, draft.id, draft.kind, draft.subject, draft.role_context, draft.job_id,
            opener, now,
        )  # fmt: skip
        roles = [str(role) for role in draft.members.values()]
        await conn.execute(sql.ADD_PARTICIPANTS, draft.id, list(draft.members), roles, now)
        await conn.execute(sql.ADD_INBOX_ROW, opener, draft.id, now)
        viewers = [user for user in draft.members if user not in hidden]
        await self._tell(conn, viewers, EventType.THREAD_CHANGED, draft.id, actor=opener)
        await self._publish(conn, "thread.create", opener, draft.id, {"kind": draft.kind})
        message = await self._append(conn, first)
        return Started(await self._load(conn, opener, draft.id), message, is_repeat=False)

    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        async def change(conn: Session) -> Message:
            message = await self._access_own_message(conn, author, thread_id, message_id)
            now = self._clock()
            await self._check_not_muted(conn, author, thread_id, now)
            if message.deleted_at_ms is not None:
                raise NotFound("This message has been deleted.")
            if message.body == body:
                return message
            if now - message.created_at_ms > self._limits.edit_window_s * 1000:
                raise EditWindowClosed
            await self._check_passes_no_block(conn, message, author)
            await conn.execute(sql.KEEP_ORIGINAL, thread_id, message_id, now, author, "edit")
            await conn.execute(sql.EDIT_MESSAGE, thread_id, message_id, body, body_html, now)
            await self._tell_viewers(conn, EventType.MESSAGE_EDITED, message, author)
            await self._publish(conn, "message.edit", author, thread_id, message_id=message_id)
            return await self._load_message(conn, author, thread_id, message_id)

        return await self._change(change)

    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        async def change(conn: Session) -> Message:
            message = await self._access_own_message(conn, author, thread_id, message_id)
            if message.deleted_at_ms is not None:
                return message
            now = self._clock()
            await conn.execute(sql.KEEP_ORIGINAL, thread_id, message_id, now, author, "delete")
            await conn.execute(sql.DELETE_MESSAGE, thread_id, message_id, now)
            viewers = await self._tell_viewers(conn, EventType.MESSAGE_DELETED, message, author)
            await conn.execute(sql.UNCOUNT_MESSAGE, thread_id, viewers, author, message_id)
            await self._publish(conn, "message.delete", author, thread_id, message_id=message_id)
            return await self._load_message(conn, author, thread_id, message_id)

        return await self._change(change)

    async def _access_own_message(
        self, conn: Session, author: str, thread_id: str, message_id: str
    ) -> Message:
        locked = await self._lock(conn, thread_id, by=author)
        await self._member(conn, author, thread_id)
        row = await conn.fetchrow(sql.MESSAGE, author, thread_id, message_id)
        if row is None:
            raise NotFound("There is no such message in this thread.")
        message = message_from(row)
        if message.author_id != author or message.kind not in ("text", "asset"):
            raise Forbidden("Only its author changes a message; cards and notices stay.")
        if locked.is_locked:
            raise ThreadLocked
        return message

    async def _check_not_muted(
        self, conn: Session, author: str, thread_id: str, now_ms: int
    ) -> None:
        until_ms = (await self._member(conn, author, thread_id))["blocked_until"]
        if until_ms is not None and until_ms > now_ms:
            raise ParticipantMuted(f"Until {rfc3339(until_ms)}.")

    async def _check_passes_no_block(self, conn: Session, message: Message, author: str) -> None:
        is_own = await conn.fetchval(
            sql.BLOCK_ACROSS_MESSAGE, message.thread_id, message.id, author
        )
        if is_own:
            raise MsgBlockedByUser
        if is_own is not None:
            # Nothing new may pass to the one who blocked; the clock could have said this as well.
            raise EditWindowClosed

    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        async def change(conn: Session) -> Thread:
            await self._lock(conn, thread_id, by=reader)
            member = await self._member(conn, reader, thread_id)
            if await conn.fetchrow(sql.MESSAGE, reader, thread_id, up_to) is None:
                raise NotFound("There is no such message in this thread.")
            if up_to > member["last_read_id"]:
                await self._move_read_mark(conn, reader, thread_id, up_to)
            return await self._load(conn, reader, thread_id)

        return await self._change_once(change, once)

    async def _move_read_mark(self, conn: Session, reader: str, thread_id: str, up_to: str) -> None:
        now = self._clock()
        people = await conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, reader)
        others = [row for row in people if row["user_id"] != reader]
        shown = None
        if not any(row["is_blocked"] for row in others):
            # Not up_to itself: a message that only some may see must not show in their receipts.
            shown = await conn.fetchval(sql.LAST_SHARED, thread_id, reader, up_to)
        await conn.execute(sql.MARK_READ, thread_id, reader, up_to, now, shown)
        await conn.execute(sql.RECOUNT_UNREAD, reader, thread_id, up_to)
        await self._tell(conn, [reader], EventType.INBOX_CHANGED, thread_id, actor=reader)
        if shown is not None:
            told = [row["user_id"] for row in others if row["sees_thread"]]
            # The receipt's time is the mark's: both are shown, and must agree.
            await self._tell(
                conn, told, EventType.RECEIPT, thread_id, shown, actor=reader, at_ms=now
            )
        await self._publish(conn, "thread.read", reader, thread_id, message_id=up_to)

    async def add_participant(
        self, by: str | None, thread_id: str, user_id: str, role: Role, once: Once | None = None
    ) -> Thread | Kept:
        async def change(conn: Session) -> Thread:
            # Before the locks: a head that is not there cannot be locked.
            await conn.execute(sql.ADD_HEADS, [user_id])
            await self._lock(conn, thread_id, by=by, and_head_of=user_id)
            if by is not None:
                member = await self._member(conn, by, thread_id)
                if member["role"] not in PARTIES:
                    raise Forbidden("Only the buyer and the seller bring others in.")
                if await conn.fetchrow(sql.HAS_BLOCKED, by, [user_id]) is not None:
                    raise MsgBlockedByUser
            present = await conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, user_id)
            if all(row["user_id"] != user_id for row in present):
                if len(present) >= self._limits.participants:
                    raise ActionInvalidState("This thread is full.")
                await self._join(conn, by, thread_id, user_id, role)
            return await self._load(conn, by, thread_id)

        return await self._change_once(change, once)

    async def _join(
        self, conn: Session, by: str | None, thread_id: str, user_id: str, role: Role
    ) -> None:
        now = self._clock()
        await conn.execute(sql.JOIN_THREAD, thread_id, user_id, role, now)
        await conn.execute(sql.TOUCH_THREAD, thread_id, now)
        # Someone who blocked the one who adds them learns of the thread from the others only.
        if by is None or not await conn.fetch(sql.BLOCKED_EITHER_WAY, by, [user_id]):
            await conn.execute(sql.ADD_INBOX_ROW, user_id, thread_id, now)
        await self._tell_all(conn, thread_id, by)
        await self._say(conn, by, thread_id, "participant.added", user_id=user_id, role=role)

    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        async def change(conn: Session) -> None:
            await self._lock(conn, thread_id, by=by)
            member = None if by is None else await self._member(conn, by, thread_id)
            target = await conn.fetchrow(sql.PARTICIPANT, thread_id, user_id)
            if target is None or target["status"] != "active":
                raise UserNotFound("This person is not in the thread.")
            if member is not None and by != user_id:
                _check_may_remove(member["role"], target["role"])
            now = self._clock()
            await conn.execute(sql.LEAVE_THREAD, thread_id, user_id)
            await conn.execute(sql.TOUCH_THREAD, thread_id, now)
            if await conn.fetchval(sql.REMOVE_INBOX_ROW, user_id, thread_id) is not None:
                changed = EventType.THREAD_CHANGED
                await self._tell(conn, [user_id], changed, thread_id, LEFT, actor=by)
            await self._tell_all(conn, thread_id, by)
            code = "participant.left" if by == user_id else "participant.removed"
            await self._say(conn, by, thread_id, code, user_id=user_id)

        await self._change(change)

    async def promote(
        self, thread_id: str, *, group_id: str | None, leg_id: str | None, once: Once | None = None
    ) -> Thread | Kept:
        async def change(conn: Session) -> Thread:
            await self._promote(conn, thread_id, group_id, leg_id)
            return await self._load(conn, None, thread_id)

        return await self._change_once(change, once)

    async def block(self, blocker: str, blocked: str, once: Once | None = None) -> Kept | None:
        async def change(conn: Session) -> None:
            await conn.execute(sql.ADD_HEADS, [blocker, blocked])
            await conn.execute(sql.LOCK_HEADS, [blocker, blocked])
            await conn.execute(sql.BLOCK, blocker, blocked, self._clock())

        return await self._change_once(change, once)

    async def unblock(self, blocker: str, blocked: str) -> None:
        async def change(conn: Session) -> None:
            await conn.execute(sql.LOCK_HEADS, [blocker, blocked])
            await conn.execute(sql.UNBLOCK, blocker, blocked)

        await self._change(change)

    async def settle(self) -> int:
        """Commit and projection are one transaction here: nothing is ever half done."""
        return 0

    async def hand_over(self, deliver: Deliver) -> int:
        async def change(conn: Session) -> int:
            rows = await conn.fetch(sql.TAKE_EVENTS, self._limits.maintenance_batch)
            if rows:
                await deliver([domain_event_from(row) for row in rows])
                await conn.execute(sql.FORGET_EVENTS, [row["id"] for row in rows])
            return len(rows)

        return await self._change(change)

    async def prune(self) -> dict[str, int]:
        return await self._change(lambda conn: prune(conn, self._clock(), self._limits))

    @unavailable_on_failure()
    async def ping(self) -> None:
        await self._pool.fetchval("select 1")

    async def close(self) -> None:
        await self._sends.close()
        await self._feeds.close()
        await self._pool.close()


def _check_may_remove(role: str, of_role: str) -> None:
    if role not in PARTIES or of_role in PARTIES:
        raise Forbidden("The buyer and the seller remove others, not each other.")
