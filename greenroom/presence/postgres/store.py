"""Typing and presence on PostgreSQL, in unlogged tables."""

from collections.abc import Sequence

from asyncpg import Pool, Record

from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure
from greenroom.presence.model import Lifetimes, Pair, Snapshot, far_ms
from greenroom.presence.store import TypingEnded

# Returns whether something was written; no row if the user does not see the thread.
TYPE_ON = """
with me as materialized (
    select i.thread_id, i.user_id from inbox_index i
    join thread_participant p on p.thread_id = i.thread_id and p.user_id = i.user_id
    where i.user_id = $1 and i.thread_id = $2 and p.status = 'active'
),
repeated as materialized (
    select 1 from msg_typing where user_id = $1 and thread_id = $2 and device = $3
        and until > $4::timestamptz - interval '1 second' and until <= $4
),
written as (
    insert into msg_typing (thread_id, user_id, device, until)
    select thread_id, user_id, $3, $4 from me where not exists (select 1 from repeated)
    on conflict (thread_id, user_id, device) do update set until = excluded.until
    returning 1
)
select exists (select 1 from written) from me
"""
TYPE_OFF = """
with me as materialized (
    select 1 from inbox_index i
    join thread_participant p on p.thread_id = i.thread_id and p.user_id = i.user_id
    where i.user_id = $1 and i.thread_id = $2 and p.status = 'active'
),
gone as (
    delete from msg_typing where user_id = $1 and thread_id = $2 and device = $3 returning until
)
select exists (select 1 from gone where until > $4) from me
"""

END_TYPING = """
delete from msg_typing t where t.thread_id = any ($2::text[]) and exists (
    select 1 from unnest($1::text[], $2::text[], $3::bigint[]) as e (user_id, thread_id, until_ms)
    where e.user_id = t.user_id and e.thread_id = t.thread_id
        and t.until <= timestamptz 'epoch' + e.until_ms * interval '1 millisecond')
returning t.thread_id
"""
FORGET_DEVICES = """
delete from msg_typing where device = any ($1::text[]) and device <> '' returning thread_id
"""

# See the migration for how these two work.
SEEN = "select * from note_presence($1, $2, $3, $4)"
LOOK = "select * from look_at_presence($1, $2, $3, $4, $5)"

# These tables contain only people who typed or were online recently, so a scan is short. Locked
# rows are skipped, so that pruning and other writes never wait for each other.
PRUNE_TYPING = """
with old as materialized (
    select thread_id, user_id, device from msg_typing where until <= $1 or until > $2
    limit $3 for update skip locked
)
delete from msg_typing t using old o
where t.thread_id = o.thread_id and t.user_id = o.user_id and t.device = o.device
"""
PRUNE_PRESENCE = """
with old as materialized (
    select user_id from user_presence where until <= $1 or until > $2
    limit $3 for update skip locked
)
delete from user_presence s using old o where s.user_id = o.user_id
"""


class PostgresPresence:
    """`PresenceStore` on tables `msg_typing` and `user_presence`."""

    def __init__(self, pool: Pool, *, limits: Limits) -> None:
        self._pool = pool
        self._lifetimes = Lifetimes.of(limits)

    @unavailable_on_failure()
    async def set_typing(
        self, user: str, thread_id: str, device: str, until_ms: int | None, now_ms: int
    ) -> bool:
        if until_ms is None:
            written = await self._pool.fetchval(TYPE_OFF, user, thread_id, device, now_ms)
        else:
            written = await self._pool.fetchval(TYPE_ON, user, thread_id, device, until_ms)
        if written is None:
            raise ThreadNotFound
        return bool(written)

    @unavailable_on_failure()
    async def end_typing(self, ended: Sequence[TypingEnded]) -> list[str]:
        columns = [list(column) for column in zip(*ended, strict=True)]
        return _threads_of(await self._pool.fetch(END_TYPING, *columns)) if ended else []

    @unavailable_on_failure()
    async def forget_devices(self, devices: Sequence[str]) -> list[str]:
        return _threads_of(await self._pool.fetch(FORGET_DEVICES, devices))

    @unavailable_on_failure()
    async def seen(self, users: Sequence[str], until_ms: int, now_ms: int) -> list[str]:
        far = far_ms(now_ms, self._lifetimes.presence_ms)
        return [row[0] for row in await self._pool.fetch(SEEN, now_ms, until_ms, far, users)]

    @unavailable_on_failure()
    async def look(self, pairs: Sequence[Pair], now_ms: int) -> dict[Pair, Snapshot]:
        rows = await self._pool.fetch(
            LOOK,
            now_ms,
            far_ms(now_ms, self._lifetimes.typing_ms),
            far_ms(now_ms, self._lifetimes.presence_ms),
            [viewer for viewer, _ in pairs],
            [thread_id for _, thread_id in pairs],
        )
        of_pair: dict[Pair, list[Record]] = {}
        for row in rows:
            of_pair.setdefault(pairs[row["place"] - 1], []).append(row)
        return {pair: _snapshot(found) for pair, found in of_pair.items()}

    @unavailable_on_failure()
    async def prune(self, now_ms: int, limit: int) -> dict[str, int]:
        lifetimes = self._lifetimes
        rounds = (
            ("typing", PRUNE_TYPING, far_ms(now_ms, lifetimes.typing_ms)),
            ("presence", PRUNE_PRESENCE, far_ms(now_ms, lifetimes.presence_ms)),
        )
        return {
            kind: int((await self._pool.execute(statement, now_ms, far, limit)).split()[-1])
            for kind, statement, far in rounds
        }


def _threads_of(rows: Sequence[Record]) -> list[str]:
    return sorted({row["thread_id"] for row in rows})


def _snapshot(rows: Sequence[Record]) -> Snapshot:
    people = [row for row in rows if row["user_id"] is not None]
    return Snapshot(
        others=frozenset(row["user_id"] for row in people),
        typing={row["user_id"]: row["typing_until"] for row in people if row["typing_until"]},
        online={row["user_id"]: row["online_until"] for row in people if row["online_until"]},
    )
