"""The table of tasks: work that a transaction decides on and a worker does later.

A task is a row that is committed with the change that needs it, so there is no change without its
task and no task without its change. Payments to carry out, timers and everything else that waits
are rows of this one table; `kind` says who does it and `key` what it is about.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from asyncpg import Pool, Record

from greenroom.platform.postgres.pool import Session

CHANNEL = "greenroom_tasks"
"""Notified when a transaction that queued a task is committed."""

LISTED = 1000

# One task of a kind and key: who queues it again replaces it, also when it is dead or being done.
REPLACE = """
on conflict (kind, key) do update set payload = excluded.payload, due_at = excluded.due_at,
    retry_at = null, attempts = 0, failures = 0, failure = null, is_dead = false,
    held_until = null, version = t.version + 1
"""

ENQUEUE = f"""
with queued as (
    insert into task as t (kind, key, payload, due_at) values ($1, $2, $3, $4) {REPLACE} returning 1
)
select pg_notify('{CHANNEL}', '') from queued
"""  # noqa: S608 (put together from constants)

# A row that is locked is being taken or replaced by somebody else.
TAKE = """
with due as (
    select id from task
    where not is_dead and kind = any($1) and due_at <= $2
        and (retry_at is null or retry_at <= $2) and (held_until is null or held_until < now())
    order by due_at, key limit $3
    for update skip locked
)
update task set held_until = now() + make_interval(secs => $4), version = version + 1
from due where task.id = due.id
returning task.id, kind, key, payload, due_at, attempts, failures, version
"""

# In order, one at a time: the caller is the only one who does this.
NEXT_IN_ORDER = """
select id, kind, key, payload, due_at, attempts, failures, version from task
where not is_dead and kind = $1 and due_at <= $2 and (retry_at is null or retry_at <= $2)
order by due_at, key limit 1
"""

HOLD_ON = """
with held as (
    select task.id from task join unnest($1::bigint[], $2::int[]) as mine (id, version)
        using (id, version)
    for update of task skip locked
)
update task set held_until = now() + make_interval(secs => $3) from held where task.id = held.id
"""

IS_THERE = "select exists (select from task where id = $1 and version = $2)"

END = "delete from task where id = $1 and version = $2"

GIVE_BACK = "update task set held_until = null where id = $1 and version = $2"

PUT_OFF = """
update task set retry_at = $3, attempts = attempts + 1, failures = failures + $4,
    failure = coalesce($5, failure), is_dead = $6, held_until = null
where id = $1 and version = $2
"""

DO_NOT_WAIT = """
update task set retry_at = null where not is_dead and kind = any($1) and retry_at > $2
"""

# Seconds until the first task that nobody may take yet can be taken.
UNTIL_NEXT_S = """
select min(wait_s) from (
    select greatest(extract(epoch from greatest(due_at, retry_at) - $2::timestamptz),
                    extract(epoch from held_until - now()))::float as wait_s
    from task where not is_dead and kind = any($1)
) waiting where wait_s > 0
"""

NEXT_DUE = """
select min(due_at) from task where not is_dead and kind = $1 and due_at > $2
"""

DEAD = """
select id, kind, key, attempts, failure, due_at from task
where is_dead order by kind, due_at, key limit $1
"""

REPLAY = """
update task set is_dead = false, attempts = 0, failures = 0, failure = null, retry_at = null,
    version = version + 1
where is_dead and ($1::bigint is null or id = $1) and ($2::text is null or (kind, key) = ($2, $3))
"""


@dataclass(frozen=True, slots=True)
class Task:
    """A task as a worker has taken it. `attempts` and `failures` count those before."""

    id: int
    kind: str
    key: str
    payload: Any
    due_ms: int
    attempts: int
    failures: int
    version: int


@dataclass(frozen=True, slots=True)
class DeadTask:
    """A task that failed as often as it may."""

    id: int
    kind: str
    key: str
    attempts: int
    failure: str | None
    due_ms: int


async def enqueue(conn: Session, kind: str, key: str, payload: Any = None, *, due_ms: int) -> None:
    """Let a worker do it once the caller's transaction is committed and `due_ms` has come.

    One task of a kind and key: this one replaces what waits under the same, and when that is just
    being done, it is done once more. `payload` is anything that JSON can hold.
    """
    text = None if payload is None else msgspec.json.encode(payload).decode()
    await conn.execute(ENQUEUE, kind, key, text, due_ms)


def read_task(row: Record) -> Task:
    payload = row["payload"]
    return Task(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        payload=None if payload is None else msgspec.json.decode(payload),
        due_ms=row["due_at"],
        attempts=row["attempts"],
        failures=row["failures"],
        version=row["version"],
    )


async def dead_tasks(conn: Pool | Session) -> list[DeadTask]:
    return [DeadTask(*row) for row in await conn.fetch(DEAD, LISTED)]


async def replay(
    conn: Pool | Session, task_id: int | None = None, *, kind: str | None = None, key: str = ""
) -> int:
    """Let dead tasks be tried as if for the first time: the one of this id, the one of this kind
    and key, or all. Says how many."""
    return int((await conn.execute(REPLAY, task_id, kind, key)).rpartition(" ")[2])
