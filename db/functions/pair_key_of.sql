-- Returns the key of a thread between two people, `user_a,user_b` with the ids sorted; null unless
-- exactly two people have ever been in the thread and both still are.
--
-- The polling API finds the conversation of two people by this key. The key is gone once a third
-- person joins and does not come back when they leave: what a third person could read must not
-- become the pair's own conversation. No user id contains a comma, and collation "C" sorts like
-- Python does (`pair_key` in greenroom/conversations/postgres/pairs.py).
create or replace function pair_key_of(p_thread text) returns text
language sql stable
as $$
    select case when count(*) = 2 and bool_and(status = 'active')
        then string_agg(user_id, ',' order by user_id) end
    from thread_participant where thread_id = p_thread
$$;
