-- Locks a thread until the end of the transaction and returns what bookings and cards need to know
-- of it, for one participant (`p_viewer`; null: the server itself).
--
-- Returns no row to somebody who does not see the thread; they are turned away before anything is
-- locked, so they keep nobody waiting. With `p_to_write`, `verdict` says whether the viewer may
-- write: ok, locked, read_only, muted, blocked_by_you. Membership is read after the lock, so somebody who was
-- removed while this waited gets no row.
--
-- For the planner settings see append_messages.
create or replace function access_thread(
    p_now timestamptz,
    p_thread text,
    p_viewer text,
    p_to_write boolean
) returns table (verdict text, until timestamptz, kind text, locked boolean, group_id text,
    leg_id text, people text[], roles text[], unseen text[])
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    if p_viewer is not null and not exists (
            select 1 from inbox_index i where i.user_id = p_viewer and i.thread_id = p_thread) then
        return;
    end if;
    perform 1 from thread t where t.thread_id = p_thread for no key update;

    return query
    select case
            when p_viewer is null or not p_to_write then 'ok'
            when t.kind = 'system' then 'read_only'
            when t.locked then 'locked'
            when me.blocked_until > p_now then 'muted'
            when a.others = 1 and a.viewer_blocks then 'blocked_by_you'
            else 'ok'
        end,
        me.blocked_until, t.kind, t.locked, t.group_id, t.leg_id, a.people, a.roles, a.unseen
    from thread t
    left join lateral (
        select p.user_id, p.blocked_until from thread_participant p
        join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
        where p.thread_id = p_thread and p.user_id = p_viewer and p.status = 'active'
        offset 0) me on true
    cross join lateral (
        select array_agg(p.user_id order by p.user_id) as people,
            array_agg(p.role order by p.user_id) as roles,
            count(*) filter (where p.user_id is distinct from p_viewer) as others,
            coalesce(bool_or(exists (select 1 from user_block b
                where b.blocker_user = p_viewer and b.blocked_user = p.user_id)), false)
                as viewer_blocks,
            -- Those who will not see what the viewer writes.
            array_agg(p.user_id) filter (where exists (select 1 from user_block b
                where (b.blocker_user, b.blocked_user)
                    in ((p.user_id, p_viewer), (p_viewer, p.user_id)))) as unseen
        from thread_participant p where p.thread_id = p_thread and p.status = 'active') a
    where t.thread_id = p_thread and (p_viewer is null or me.user_id is not null);
end
$$;
