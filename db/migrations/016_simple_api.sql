-- What the simple polling API says of a message: the job that it was sent about, and when it was
-- last edited or deleted, to be asked for by that.
alter table message add column job_id text;

create index message_changed on message (thread_id, (coalesce(deleted_at, edited_at)))
    where coalesce(deleted_at, edited_at) is not null;
