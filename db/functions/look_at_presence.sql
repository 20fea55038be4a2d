-- Says who is typing and who is online in several threads, each as one viewer may see it now.
--
-- Returns no row where the viewer does not see the thread; otherwise one row for each of the other
-- participants, or a single row of nulls where there are none. A block, in either direction, makes
-- a person look as if they were away.
--
-- For the planner settings see append_messages.
create or replace function look_at_presence(
    p_now timestamptz,
    p_typing_far timestamptz,   -- a stored time beyond these does not count
    p_online_far timestamptz,
    p_viewers text[],
    p_threads text[]
) returns table (place bigint, user_id text, typing_until timestamptz, online_until timestamptz)
language plpgsql stable
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select g.place, o.user_id, case when not o.is_hidden then o.typing_until end,
        case when not o.is_hidden then o.online_until end
    from unnest(p_viewers, p_threads) with ordinality as g (viewer, thread_id, place)
    join inbox_index i on i.user_id = g.viewer and i.thread_id = g.thread_id
    join thread_participant me on me.thread_id = i.thread_id and me.user_id = i.user_id
        and me.status = 'active'
    left join lateral (
        select p.user_id, x.typing_until, x.online_until,
            -- Blocks are looked up only where there is something to hide.
            (x.typing_until is not null or x.online_until is not null) and (
                exists (select 1 from user_block b
                    where b.blocker_user = p.user_id and b.blocked_user = g.viewer)
                or exists (select 1 from user_block b
                    where b.blocker_user = g.viewer and b.blocked_user = p.user_id)) as is_hidden
        from thread_participant p
        cross join lateral (
            select
                (select max(t.until) from msg_typing t
                    where t.thread_id = p.thread_id and t.user_id = p.user_id
                        and t.until > p_now and t.until <= p_typing_far) as typing_until,
                (select s.until from user_presence s where s.user_id = p.user_id
                    and s.until > p_now and s.until <= p_online_far) as online_until
            offset 0) x
        where p.thread_id = g.thread_id and p.user_id <> g.viewer and p.status = 'active'
        offset 0
    ) o on true;
end
$$;
