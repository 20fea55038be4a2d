-- What a marketplace's backend may do with an API key. Keys from before may do everything. The
-- default is for servers of the previous version, which do not know the column.
alter table api_key add column scopes text[] not null default '{read,write,bookings,users}';

-- Threads by the marketplace's own key. `opened_as` is what the first call asked for: the kind, the
-- people and their roles. A later call with the same key must ask for the same.
create table thread_key (
    external_key text collate "C" primary key,
    thread_id text collate "C" not null references thread on delete cascade,
    opened_as text not null
);
create unique index thread_key_thread on thread_key (thread_id);

-- The backend lists the threads of a job, the newest first.
create index thread_job on thread (job_id, thread_id) where job_id is not null;
