-- Threads of just two people, found by the two: the simple polling API's `conv_{a}_{b}`.
--
-- The key is there while exactly two people have ever been in the thread and both still are. It
-- goes when a third joins and stays away when they leave, so that what others have read in never
-- turns into a pair's own conversation. A comma is in no user id, and "C" sorts as Python does.
alter table thread add column pair_key text collate "C";

-- Which of a pair's threads is the oldest: threads begin under the heads of their people, so that
-- these numbers grow in the order of their commits, whatever the clocks do.
alter table thread add column started_n bigint;
update thread set started_n = o.n
from (select thread_id, row_number() over (order by created_at, thread_id) as n from thread) o
where thread.thread_id = o.thread_id;
create sequence thread_started_n owned by thread.started_n;
select setval('thread_started_n', (select count(*) + 1 from thread), false);
alter table thread alter column started_n set default nextval('thread_started_n'),
    alter column started_n set not null;

create index thread_pair on thread (pair_key, started_n) where pair_key is not null;

create function pair_key_of(p_thread text) returns text
language sql stable
as $$
    select case when count(*) = 2 and bool_and(status = 'active')
        then string_agg(user_id, ',' order by user_id) end
    from thread_participant where thread_id = p_thread
$$;

-- Whoever changes who is in a thread holds the thread's lock already, and the heads of the people
-- in it: under both heads of two people, their pairs stand still.
create function keep_pair_key() returns trigger
language plpgsql
as $$
declare
    of_thread text := case when tg_op = 'DELETE' then old.thread_id else new.thread_id end;
    new_key text := pair_key_of(of_thread);
begin
    update thread set pair_key = new_key
    where thread_id = of_thread and pair_key is distinct from new_key;
    return null;
end
$$;

create trigger participant_changes_pair
after insert or delete or update of status, user_id on thread_participant
for each row execute function keep_pair_key();

update thread set pair_key = pair_key_of(thread_id) where pair_key_of(thread_id) is not null;

-- How many of the messages after a mark someone has not read, as far as the viewer may know: of
-- those that the viewer sees. Looks at p_most messages and no more, which only a walk along the
-- key does, and so the plan is pinned to one.
create function count_unread_by(
    p_reader text, p_viewer text, p_thread text, p_after text, p_most int
) returns bigint
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
    select count(*) from (
        select * from message where thread_id = p_thread and message_id > p_after
        order by message_id limit p_most) m
    where m.sender_user is distinct from p_reader and m.deleted_at is null
        and (m.visible_to is null or p_viewer = any (m.visible_to))
$$;
