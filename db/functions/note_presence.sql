-- Notes that several people are online until a time. Returns those who were not online before.
--
-- The time only moves forward, except where the stored one is beyond `p_far`: such a time was
-- written by a clock that has been set back since.
--
-- For the planner settings see append_messages.
create or replace function note_presence(
    p_now timestamptz,
    p_until timestamptz,
    p_far timestamptz,          -- a stored time beyond this does not count
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
        -- Sorted, so that two servers cannot deadlock.
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
