-- Threads, messages, the inbox and each user's feed. Names follow TD-570 where it has one.
-- The hot tables (message, feed, inbox_index) carry no foreign keys: every write to them holds the
-- thread's row lock, so a key check per row would cost time and find nothing.

create table thread (
    thread_id text collate "C" primary key,
    kind text not null check (kind in ('inquiry', 'invite', 'project', 'dispute', 'support', 'system')),
    subject text,
    role_context text,
    job_id text,
    group_id text,
    leg_id text,
    owner_order_id text generated always as (coalesce(group_id, leg_id)) stored,
    city text,
    safe_mode_required boolean not null default false,
    locked boolean not null default false,
    request_state text not null default 'none'
        check (request_state in ('none', 'pending', 'accepted', 'declined')),
    opened_by_user text collate "C" not null,
    last_seq bigint not null default 0,
    last_msg_ts timestamptz not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
) with (fillfactor = 70);

create table thread_participant (
    thread_id text collate "C" not null references thread on delete cascade,
    user_id text collate "C" not null,
    role text not null check (role in ('buyer', 'seller', 'host', 'support', 'admin')),
    status text not null check (status in ('active', 'left', 'blocked')),
    -- What this person has read, and what the others may know of it: the second stands still
    -- while a block lies between them, so that a block looks like silence.
    last_read_id text collate "C" not null default '',
    last_read_ts timestamptz,
    shown_read_id text collate "C" not null default '',
    shown_read_ts timestamptz,
    -- Messages up to here were written before this person joined and are not theirs to see.
    visible_after_id text collate "C" not null default '',
    muted_until timestamptz,
    blocked_until timestamptz,
    joined_at timestamptz not null,
    primary key (thread_id, user_id)
) with (fillfactor = 80);

create table message (
    thread_id text collate "C" not null,
    -- Ids carry created_at, which strictly grows within a thread: the key's order is seq's order.
    message_id text collate "C" not null,
    seq bigint not null,
    sender_user text collate "C",
    kind text not null check (kind in ('text', 'asset', 'card', 'system')),
    body_text text not null default '',
    -- Null when the rendering is only the escaped text.
    body_html text,
    system jsonb,
    reply_to text collate "C",
    -- Null: everyone in the thread.
    visible_to text[] collate "C",
    client_id text collate "C",
    -- What was sent, to tell a repeat from another message under the same client_id after an edit.
    send_hash bytea,
    created_at timestamptz not null,
    edited_at timestamptz,
    deleted_at timestamptz,
    primary key (thread_id, message_id)
) with (fillfactor = 95);

create unique index message_client_id on message (sender_user, client_id)
    where client_id is not null;

-- What a message said before it was edited or deleted, for cases and legal holds.
create table message_audit (
    thread_id text collate "C" not null,
    message_id text collate "C" not null,
    at timestamptz not null,
    actor text collate "C",
    act text not null check (act in ('edit', 'delete')),
    body_text text not null,
    primary key (thread_id, message_id, at)
);

create table user_block (
    blocker_user text collate "C" not null,
    blocked_user text collate "C" not null,
    created_at timestamptz not null,
    primary key (blocker_user, blocked_user)
);

-- One row per user and thread that the user can see. No row: the thread does not exist for them,
-- as for someone who blocked its opener before it began.
create table inbox_index (
    user_id text collate "C" not null,
    thread_id text collate "C" not null,
    folder text not null default 'inbox' check (folder in ('inbox', 'requests', 'archived', 'spam')),
    -- The thread's kind once more, so that folders and their counts need no join.
    kind text not null,
    last_msg_ts timestamptz not null,
    last_message_id text collate "C" not null default '',
    unread_count int not null default 0 check (unread_count >= 0),
    pinned boolean not null default false,
    starred boolean not null default false,
    -- Someone else wrote last; and: a card or request waits for this user.
    awaits_reply boolean not null default false,
    needs_action boolean not null default false,
    -- The send limit's state (GCRA theoretical arrival time) of this user in this thread.
    send_tat timestamptz,
    primary key (user_id, thread_id)
) with (fillfactor = 70);

create index inbox_index_recent
    on inbox_index (user_id, folder, pinned desc, last_msg_ts desc, thread_id desc);
create index inbox_index_unread on inbox_index (user_id) include (folder, kind, needs_action)
    where unread_count > 0;

-- The head is also the user's lock: numbers are handed out under it, and a block waits for it.
create table feed_head (
    user_id text collate "C" primary key,
    last_n bigint not null default 0,
    pruned_n bigint not null default 0
) with (fillfactor = 50);

create table feed (
    user_id text collate "C" not null,
    n bigint not null,
    type text not null,
    thread_id text collate "C" not null,
    message_id text collate "C",
    actor text collate "C",
    at timestamptz not null,
    primary key (user_id, n)
);

create index feed_at on feed using brin (at);

-- A restored database gets a new epoch, so that clients reset instead of missing events.
create table feed_epoch (
    only_row boolean primary key default true check (only_row),
    epoch text not null
);
insert into feed_epoch (epoch) values (substr(md5(gen_random_uuid()::text), 1, 8));

-- Domain events, written in the transaction of the change and taken away by their consumers.
-- Ids grow in commit order within a thread, because they are handed out under its lock.
create table outbox (
    id bigint generated always as identity primary key,
    event text not null,
    occurred_at timestamptz not null,
    actor text collate "C",
    thread_id text collate "C",
    message_id text collate "C",
    data jsonb
);

-- First answers of requests that carried an Idempotency-Key. A send keeps its message's id only.
create table idempotency_key (
    caller text collate "C" not null,
    route text collate "C" not null,
    key text collate "C" not null,
    fingerprint bytea not null,
    status int,
    body bytea,
    thread_id text collate "C",
    message_id text collate "C",
    created_at timestamptz not null,
    primary key (caller, route, key)
);
create index idempotency_key_age on idempotency_key (created_at);

-- GCRA state of limits that belong to no thread: the theoretical arrival time per bucket.
create table rate_limit (
    bucket text collate "C" primary key,
    tat timestamptz not null
);
