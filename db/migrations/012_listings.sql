-- Which thread a person has with another about one thing of the marketplace's, by the marketplace's
-- own key of it. The newest: once one of the two has left, the next start begins another thread.
-- Rows are written under the heads of both people.
create table listing_thread (
    opener_user text collate "C" not null,
    recipient_user text collate "C" not null,
    listing_key text collate "C" not null,
    thread_id text collate "C" not null references thread on delete cascade,
    primary key (opener_user, recipient_user, listing_key)
);
create index listing_thread_thread on listing_thread (thread_id);

-- A person's blocks, the newest first.
create index user_block_recent on user_block (blocker_user, created_at desc, blocked_user desc);
