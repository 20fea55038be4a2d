-- Files that people upload, and what became of them. The bytes are in the blob store; this is who may
-- see them. Also here when conversations are in DynamoDB, so nothing refers to `thread` or `message`.
create table file (
    file_id text collate "C" primary key,
    -- Null until its first message is sent, for uploads of the polling API.
    thread_id text collate "C",
    owner_user text collate "C" not null,
    purpose text not null
        check (purpose in ('attachment', 'voice', 'proof', 'receipt', 'moodboard')),
    name text not null,
    -- The type that the sender declared.
    mime text not null,
    bytes bigint not null check (bytes > 0),
    -- As the sender declared it, then as it was measured.
    sha256 text,
    watermark text,
    state text not null
        check (state in ('uploading', 'processing', 'ready', 'quarantined', 'refused', 'expired')),
    reason text,
    -- What the content is: from the declared type first, then from the content itself.
    media text not null check (media in ('image', 'video', 'audio', 'pdf', 'other')),
    content_mime text,
    width int,
    height int,
    duration_ms int,
    peaks int[],
    alt text,
    -- Null while it is not known; what that counts as is a setting.
    band smallint check (band between 0 and 2),
    band_source text check (band_source in ('classifier', 'unscanned', 'none', 'operator')),
    -- [{kind, key, mime, width, height, bytes}]
    renditions jsonb not null default '[]',
    -- The blob store's handle of an upload in parts.
    parts_handle text,
    created_at timestamptz not null,
    completed_at timestamptz,
    finished_at timestamptz,
    -- When those who see the file were told of its end state.
    told_at timestamptz,
    -- When its blobs were deleted: it was cancelled, expired, erased, or deleted by an operator.
    deleted_at timestamptz
);

-- A person's uploads of the last day, and those that are not complete.
create index file_owner on file (owner_user, created_at) include (bytes, state);
-- The files of a thread, newest first, and how much they are together.
create index file_thread on file (thread_id, file_id) include (bytes, state);
-- What the sweeper, the desk and the worker look for.
create index file_unfinished on file (state, created_at)
    where state in ('uploading', 'processing', 'quarantined');
-- Ids begin with their time, so this is also the order of age.
create index file_there on file (file_id) where deleted_at is null;
create index file_deleted on file (deleted_at) where deleted_at is not null;
create index file_untold on file (finished_at) where told_at is null and finished_at is not null;

-- Where a file is shown: `place` is the id of a message or of a card.
create table file_use (
    file_id text collate "C" not null references file on delete cascade,
    place text collate "C" not null,
    at timestamptz not null,
    primary key (file_id, place)
);

-- The steps of processing, each as its last attempt ended.
create table file_step (
    file_id text collate "C" not null references file on delete cascade,
    step text not null,
    outcome text not null,
    detail text not null,
    at timestamptz not null,
    primary key (file_id, step)
);

-- A viewer has asked to see a file that Safe-Mode had blurred.
create table file_grant (
    file_id text collate "C" not null references file on delete cascade,
    user_id text collate "C" not null,
    at timestamptz not null,
    primary key (file_id, user_id)
);
create index file_grant_user on file_grant (user_id);

-- What operators did, and why. Rows are only added.
create table file_audit (
    audit_id bigint generated always as identity primary key,
    file_id text collate "C" not null,
    actor text collate "C" not null,
    role text not null,
    act text not null check (act in ('release', 'delete')),
    reason text not null,
    from_state text not null,
    at timestamptz not null
);
create index file_audit_file on file_audit (file_id, audit_id);
create trigger file_audit_is_append_only before update or delete or truncate on file_audit
    execute function refuse_change();
