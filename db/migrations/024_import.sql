-- Messages that came from another system, by their ids there: an import that is run again finds
-- what it has imported, and answers and read marks find the message that they name.
create table imported_message (
    thread_id text collate "C" not null references thread on delete cascade,
    external_id text collate "C" not null,
    message_id text collate "C" not null,
    primary key (thread_id, external_id)
);
