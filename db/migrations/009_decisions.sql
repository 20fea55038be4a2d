-- What the ledger decides about conversations that are kept elsewhere. With conversations in DynamoDB
-- one transaction cannot hold both: what is committed here is decided, and is then carried out there,
-- once, by whoever comes by. With conversations in PostgreSQL both are one transaction on the thread's
-- own row, and these tables stay empty.

-- Which booking a thread belongs to. The key lets one booking win; a row is never changed.
create table thread_booking (
    thread_id text collate "C" primary key,
    group_id text,
    leg_id text,
    decided_at timestamptz not null,
    check (num_nonnulls(group_id, leg_id) = 1)
);

create table decision (
    -- Made up at random, unlike n: the conversation remembers ids that it has seen, and a database
    -- that was restored would hand the same numbers out again.
    id text collate "C" primary key,
    -- Decisions of a thread are carried out in this order.
    n bigint generated always as identity unique,
    thread_id text collate "C" not null,
    kind text not null check (kind in ('promote', 'say')),
    data jsonb not null,
    decided_at timestamptz not null,
    -- When the conversation had it. Rows go some time after that.
    applied_at timestamptz,
    -- Why it can never be carried out, such as THREAD_NOT_FOUND. It waits no longer, and stays for
    -- someone to look at; with a null here it is tried again.
    failure text
);

-- Few rows, unless the conversations cannot be reached.
create index decision_waiting on decision (n) where applied_at is null and failure is null;
create index decision_waiting_in_thread on decision (thread_id, n)
    where applied_at is null and failure is null;
-- For those that have been kept long enough.
create index decision_applied on decision (applied_at) where applied_at is not null;
