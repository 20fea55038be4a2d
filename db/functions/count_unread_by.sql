-- Counts the messages after a mark that a reader has not read, among those that the viewer can see.
--
-- It looks at no more than `p_most` messages. Only a walk along the primary key stops there, so the
-- planner settings rule out everything else.
create or replace function count_unread_by(
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
