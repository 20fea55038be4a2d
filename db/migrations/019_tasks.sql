-- One table for all work that is done later: payments to carry out, timers, and whatever other rooms
-- queue. A row is written by the transaction that decides on the work and deleted when it is done.
create table task (
    id bigint generated always as identity primary key,
    -- Which handler does it, and what it is about. There is one task of a kind and key at most:
    -- whoever queues it again replaces it.
    kind text collate "C" not null,
    key text collate "C" not null,
    payload jsonb,
    -- When it should be done, by the clock of the application.
    due_at timestamptz not null,
    -- When to try again after an attempt that failed or came too early.
    retry_at timestamptz,
    attempts int not null default 0,
    -- How many of the attempts failed, and what the last of those said.
    failures int not null default 0,
    failure text,
    -- It failed as often as it may, and waits for a person.
    is_dead boolean not null default false,
    -- Until when, by the clock of the database, the worker that took it may go without a sign of
    -- life. After that another worker takes it.
    held_until timestamptz,
    -- Counts how often it was taken or replaced. A worker ends only the version that it took.
    version int not null default 0,
    unique (kind, key)
);
create index task_waiting on task (kind, due_at, key) where not is_dead;
create index task_dead on task (kind, due_at, key) where is_dead;

insert into task (kind, key, due_at, retry_at, attempts, failures, failure, is_dead)
select 'timer', subject || '/' || name, due_at, retry_at, attempts, attempts, failure,
    failure is not null
from timer order by due_at, subject, name;
drop table timer;

-- The queue library that was used before made its own tables, in every database that was migrated
-- by a version with it. Its log is lost when the database crashes, so a reason can be missing.
do $$
begin
    if to_regclass('pgqueuer') is null then
        return;
    end if;
    -- A job that a worker had taken is queued again: handlers take repeats.
    insert into task (kind, key, due_at, retry_at, attempts, failures, failure, is_dead)
    select q.entrypoint, convert_from(q.payload, 'UTF8'), q.created,
        case when q.status = 'queued' and q.execute_after > now() then q.execute_after end,
        -- It counts repeats, without the first attempt.
        q.attempts + (q.status = 'failed')::int, q.attempts + (q.status = 'failed')::int,
        (select l.traceback ->> 'exception_message' from pgqueuer_log l
         where l.job_id = q.id and l.traceback is not null
         order by l.created desc, l.id desc limit 1),
        q.status = 'failed'
    from pgqueuer q where q.status in ('queued', 'picked', 'failed') and q.payload is not null
    order by q.id
    on conflict (kind, key) do nothing;
    drop table pgqueuer, pgqueuer_log, pgqueuer_schedules, pgqueuer_statistics;
    drop function fn_pgqueuer_changed;
    drop type pgqueuer_status;
end
$$;
