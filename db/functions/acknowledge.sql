-- Notes how far several people's clients have received their feeds, and writes receipts of
-- delivery.
--
-- Everybody else in a thread in which something arrived gets one receipt: up to the last message
-- that all of them can see. A block between any two of them hides it, as if the client were away.
--
-- It locks feed heads only, sorted. Removing a participant and blocking lock the heads of
-- everybody they concern, so what is checked after the locks still holds at the commit.
--
-- Returns one row per person who moved (with the new `acked_n`), and one per person whose feed has
-- grown (`is_told`).
--
-- For the planner settings see append_messages.
create or replace function acknowledge(
    p_now timestamptz,
    p_users text[],
    p_upto bigint[],
    p_span bigint,              -- at most so many events per person and call
    p_most_people int           -- threads with more participants show no delivery
) returns table (user_id text, acked_n bigint, is_told boolean)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_locked text[];
begin
    select array_agg(l.user_id) into v_locked from (
        select h.user_id from feed_head h where h.user_id in (
            select unnest(p_users)
            union
            select p.user_id from unnest(p_users, p_upto) as g (user_id, n)
            join feed_head mine on mine.user_id = g.user_id
            join feed f on f.user_id = g.user_id and f.n > mine.acked_n and f.n <= g.n
                and f.n <= mine.acked_n + p_span
                and f.type = 'message.new' and f.actor is distinct from g.user_id
            join thread_participant p on p.thread_id = f.thread_id and p.status = 'active')
        order by h.user_id for no key update) l;

    return query
    with asked as materialized (
        select g.user_id, h.acked_n as from_n, least(g.n, h.acked_n + p_span) as n
        from unnest(p_users, p_upto) as g (user_id, n)
        join feed_head h on h.user_id = g.user_id
        where g.n > h.acked_n and g.n <= h.last_n
    ),
    arrived as materialized (
        select a.user_id, f.thread_id, max(f.message_id) as message_id
        from asked a
        join feed f on f.user_id = a.user_id and f.n > a.from_n and f.n <= a.n
        where f.type = 'message.new' and f.actor is distinct from a.user_id
        group by a.user_id, f.thread_id
    ),
    shown as materialized (
        select r.user_id, r.thread_id, s.message_id
        from arrived r
        join inbox_index i on i.user_id = r.user_id and i.thread_id = r.thread_id
        join thread_participant me on me.thread_id = r.thread_id and me.user_id = r.user_id
            and me.status = 'active'
        cross join lateral (
            select m.message_id from message m
            where m.thread_id = r.thread_id and m.message_id <= r.message_id
                and m.message_id > greatest(me.last_delivered_id, me.visible_after_id)
                and m.visible_to is null and m.kind <> 'system'
                and m.sender_user is distinct from r.user_id
            order by m.message_id desc limit 1) s
        cross join lateral (
            select count(*) as people, bool_or(exists (select 1 from user_block b
                where (b.blocker_user, b.blocked_user)
                    in ((p.user_id, r.user_id), (r.user_id, p.user_id)))) as has_block
            from thread_participant p where p.thread_id = r.thread_id and p.status = 'active') o
        where o.people <= p_most_people and not o.has_block
    ),
    marked as (
        update thread_participant p
        set last_delivered_id = s.message_id, last_delivered_ts = p_now
        from shown s where p.thread_id = s.thread_id and p.user_id = s.user_id
    ),
    told as materialized (
        select p.user_id, s.thread_id, s.message_id, s.user_id as actor,
            row_number() over (partition by p.user_id order by s.thread_id, s.user_id) as place
        from shown s
        join thread_participant p on p.thread_id = s.thread_id and p.status = 'active'
            and p.user_id <> s.user_id and s.message_id > p.visible_after_id
        join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
        where p.user_id = any (v_locked)
    ),
    moved as (
        update feed_head h set last_n = h.last_n + u.added, acked_n = greatest(h.acked_n, u.n)
        from (
            select e.user_id, max(e.n) as n, max(e.added) as added from (
                select a.user_id, a.n, 0::bigint as added from asked a
                union all
                select t.user_id, 0::bigint, max(t.place) from told t group by t.user_id) e
            group by e.user_id) u
        where h.user_id = u.user_id
    ),
    fed as (
        insert into feed (user_id, n, type, thread_id, message_id, actor, at)
        select t.user_id, h.last_n + t.place, 'receipt.delivered', t.thread_id, t.message_id,
            t.actor, p_now
        from told t join feed_head h on h.user_id = t.user_id
    )
    select a.user_id, a.n, false from asked a
    union all
    select distinct t.user_id, null::bigint, true from told t;
end
$$;
