-- Events are posted to the marketplace's backend: where to, what is still to be posted, and what has
-- become of it.
create table webhook (
    webhook_id text collate "C" primary key,
    url text not null,
    -- Types of events, or `*` for all.
    events text[] not null,
    -- Whether the texts that people wrote are part of the data.
    include_content boolean not null,
    description text not null,
    -- Secrets are encrypted with a key that is not in this database.
    secret bytea not null,
    secret_version int not null default 1,
    -- The one before, which still signs for a while.
    previous_secret bytea,
    previous_until timestamptz,
    created_at timestamptz not null,
    -- When it was made or last enabled again.
    enabled_at timestamptz not null,
    disabled_at timestamptz,
    disabled_reason text check (disabled_reason in ('manual', 'gone', 'failing')),
    -- When the first delivery after the last success failed.
    failing_since timestamptz,
    check ((disabled_at is null) = (disabled_reason is null)),
    check ((previous_secret is null) = (previous_until is null))
);

create table webhook_delivery (
    -- Also the order in which the deliveries of a lane are made.
    delivery_id bigint generated always as identity primary key,
    webhook_id text collate "C" not null references webhook on delete cascade,
    event_id text collate "C" not null,
    type text collate "C" not null,
    thread_id text collate "C",
    -- Deliveries of one lane are made one after the other: those of a thread. An event without a
    -- thread has a lane of its own.
    lane text collate "C" not null generated always as (coalesce(thread_id, event_id)) stored,
    state text collate "C" not null default 'waiting'
        check (state in ('waiting', 'delivered', 'failed')),
    queued_at timestamptz not null,
    attempts int not null default 0,
    -- Of the last attempt.
    tried_at timestamptz,
    duration_ms int,
    status int,
    error text,
    excerpt text
);
create index webhook_delivery_listed on webhook_delivery (webhook_id, state, delivery_id);
create index webhook_delivery_next on webhook_delivery (webhook_id, lane, delivery_id)
    where state = 'waiting';
create index webhook_delivery_ended on webhook_delivery (queued_at) where state <> 'waiting';

-- A lane exists as long as deliveries wait in it. Whoever sends the first of them holds the lane.
create table webhook_lane (
    webhook_id text collate "C" not null references webhook on delete cascade,
    lane text collate "C" not null,
    waiting int not null check (waiting > 0),
    -- When the first delivery is to be tried, by the clock of the application.
    due_at timestamptz not null,
    -- Until when the process that took it may be at work, by the clock of the database.
    held_until timestamptz,
    -- Counts how often it was taken. A process ends only the version that it took.
    version int not null default 0,
    primary key (webhook_id, lane)
);
create index webhook_lane_due on webhook_lane (webhook_id, due_at);
-- Rows come and go, so the table is short and its dead rows are many.
alter table webhook_lane set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
