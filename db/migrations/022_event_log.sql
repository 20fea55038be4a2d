-- One log of everything that has happened, for other systems: ids and codes only, no text that
-- people wrote. A change writes its events into `outbox` in its own transaction. The collector moves
-- them into `event_log`, where they stay for some weeks and each consumer reads at its own pace.

-- Events of bookings, payments and cards come into the same outbox as those of threads.
alter table outbox
    add column group_id text collate "C",
    add column leg_id text collate "C",
    add column card_id text collate "C",
    add column amount_cents bigint,
    add column currency text;
-- Rows come and go, so the table is short and its dead rows are many.
alter table outbox set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Events from before this change: those of contracts come after those of threads.
insert into outbox (event, occurred_at, actor, thread_id, group_id, leg_id, card_id, amount_cents,
                    currency, data)
select event, occurred_at, actor, thread_id, group_id, leg_id, card_id, amount_cents, currency, data
from contract_event order by id;
drop table contract_event;

create table event_log (
    -- 1, 2, 3 … without gaps, in the order of the log.
    position bigint primary key,
    event_id text collate "C" not null unique,
    type text collate "C" not null,
    occurred_at timestamptz not null,
    -- When the collector put it here; for pruning and for "since".
    logged_at timestamptz not null,
    actor text collate "C",
    thread_id text collate "C",
    -- 1, 2, 3 … without gaps within the thread.
    thread_number bigint,
    message_id text collate "C",
    group_id text collate "C",
    leg_id text collate "C",
    card_id text collate "C",
    amount_cents bigint,
    currency text,
    data jsonb,
    check ((thread_id is null) = (thread_number is null))
);
create unique index event_log_thread on event_log (thread_id, thread_number)
    where thread_id is not null;
create index event_log_age on event_log (logged_at);

-- The last position, which outlives the rows of the log. There is no row before the first event.
create table event_log_head (
    is_only_row boolean primary key default true check (is_only_row),
    position bigint not null
);

-- The last number of each thread, which outlives the rows of the log as well.
create table event_thread (
    thread_id text collate "C" primary key,
    last_number bigint not null
) with (fillfactor = 80);

-- Up to where each consumer has read. Pruning does not wait for anybody.
create table event_cursor (
    consumer text collate "C" primary key,
    position bigint not null
);
