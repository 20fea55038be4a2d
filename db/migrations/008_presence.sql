-- Who is typing and who is online. It lives for seconds and is told again by whoever is still there,
-- so it is not logged: a crash forgets it, and no backup needs it.

-- A person types on several devices at once and shows as one. A device is a connection's id; '' stands
-- for calls without one. Rows change often and none of what is indexed changes: updates stay in place.
create unlogged table msg_typing (
    thread_id text collate "C" not null,
    user_id text collate "C" not null,
    device text collate "C" not null,
    until timestamptz not null,
    primary key (thread_id, user_id, device)
) with (fillfactor = 50);

-- For a connection that ends.
create index msg_typing_device on msg_typing (device) where device <> '';

create unlogged table user_presence (
    user_id text collate "C" primary key,
    until timestamptz not null
) with (fillfactor = 50);

-- Several people have given a sign. Returns those who were not online before. Time only moves on,
-- but for what lies so far ahead that it is from a clock that has been set back since.
--
-- Plans are pinned to index look-ups here and below, as in append_messages and for the same reason.
create function note_presence(
    p_now timestamptz,
    p_until timestamptz,
    p_far timestamptz,          -- beyond this a time counts for nothing
    p_users text[]
) returns setof text
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return query
    with given as materialized (
        select distinct g.user_id collate "C" as user_id from unnest(p_users) as g (user_id)
    ),
    noted as (
        -- In one order everywhere, or two servers could wait for each other.
        insert into user_presence as s (user_id, until)
        select g.user_id, p_until from given g order by g.user_id
        on conflict (user_id) do update set until = excluded.until
            where s.until < excluded.until or s.until > p_far
    )
    select g.user_id from given g
    left join user_presence s on s.user_id = g.user_id
    where s.until is null or s.until <= p_now or s.until > p_far;
end
$$;

-- What several viewers may see of the others in a thread each, now. No row: the thread does not exist
-- for this viewer. Otherwise one row for each of the other people in it, or a single empty one. Someone
-- behind a block, whoever's it is, is there like someone who is away.
create function look_at_presence(
    p_now timestamptz,
    p_typing_far timestamptz,   -- beyond these a time counts for nothing
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
            -- Looked up only for those of whom there is something to hide.
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
