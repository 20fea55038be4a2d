-- Upkeep of data: erased people, legal holds, and messages past their keeping time.

-- An erased person keeps their id, so that nobody else gets it, and nothing else.
alter table app_user add column erased_at timestamptz;

alter table thread
    -- A hold keeps what was said in the thread, whatever its age and whoever asks.
    add column legal_hold_at timestamptz,
    add column legal_hold_reason text,
    -- Messages up to this seq were past their keeping time and are gone.
    add column pruned_seq bigint not null default 0,
    -- Nothing in the thread is older than this; null: than the thread itself.
    add column kept_from timestamptz;

-- Which threads have something past its keeping time, without an index on every message.
create index thread_kept_from on thread (coalesce(kept_from, created_at))
    where legal_hold_at is null;

-- Everything of one person, also in threads that they have left.
create index thread_participant_user on thread_participant (user_id, thread_id);
