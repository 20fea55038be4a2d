-- Messages with files, their trace in inbox rows and feeds, and what people prefer to see.
alter table message add column attachments jsonb;
create index message_with_files on message (thread_id, message_id) where attachments is not null;
alter table message_audit add column attachments jsonb;

-- How many messages with files this person sees in the thread, without deleted ones.
alter table inbox_index add column file_messages int not null default 0
    check (file_messages >= 0);

-- Of the events about a file. Such an event has no thread while no message has the file.
alter table feed add column file_id text collate "C";
alter table feed alter column thread_id drop not null;

alter table app_user add column preferences jsonb not null default '{}';
