-- The send: a batch of messages, one round trip, one commit.
--
-- Locks come first and in one order everywhere (threads sorted, then feed heads sorted). Each
-- statement of a volatile function sees a fresh snapshot, so what is checked after the locks is
-- what holds at commit: a member removed while their send waited is no member here.
--
-- One author's sends are ordered by their own feed head, so a repeated client_id is seen even when
-- it arrives at another thread at the same moment.
--
-- The plan is pinned to index look-ups: a batch is small and the tables are not, and a plan made
-- while they were empty must not live on.
create function append_messages(
    p_now timestamptz,
    p_window interval,          -- how far the send limit may run ahead
    p_threads text[],
    p_authors text[],           -- null for what the server itself says
    p_kinds text[],
    p_client_ids text[],
    p_hashes bytea[],
    p_bodies text[],
    p_htmls text[],
    p_systems jsonb[],
    p_replies text[],
    p_costs_ms int[],           -- what each send costs of the window; 0: not limited
    p_randoms text[],           -- the random part of each message id
    p_keys text[],              -- Idempotency-Key or null
    p_fingerprints bytea[]
) returns table (ord bigint, verdict text, message_id text, seq bigint, created_at timestamptz, until timestamptz)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    perform 1 from thread where thread.thread_id = any (p_threads)
        order by thread.thread_id for no key update;
    perform 1 from feed_head where feed_head.user_id in (
            select p.user_id from thread_participant p
            where p.thread_id = any (p_threads) and p.status = 'active')
        order by feed_head.user_id for no key update;

    return query
    with given as materialized (
        select g.*,
            t.locked or t.kind = 'system' as read_only, t.last_seq, t.last_msg_ts, p.blocked_until,
            greatest(i.send_tat, p_now) as tat,
            g.kind = 'system' or (p.status = 'active' and i.thread_id is not null) as is_member,
            coalesce(k.message_id, r.message_id) as repeat_id,
            k.fingerprint <> g.fingerprint
                or r.thread_id <> g.thread_id or r.send_hash <> g.hash as is_other
        from unnest(p_threads, p_authors, p_kinds, p_client_ids, p_hashes, p_bodies, p_htmls,
                    p_systems, p_replies, p_costs_ms, p_randoms, p_keys, p_fingerprints)
            with ordinality as g (thread_id, author, kind, client_id, hash, body, html,
                    system, reply_to, cost_ms, random, key, fingerprint, ord)
        join thread t on t.thread_id = g.thread_id
        left join thread_participant p on p.thread_id = g.thread_id and p.user_id = g.author
        left join inbox_index i on i.user_id = g.author and i.thread_id = g.thread_id
        left join message r on r.sender_user = g.author and r.client_id = g.client_id
        left join idempotency_key k on k.caller = 'person:' || g.author
            and k.route = 'send' and k.key = g.key
    ),
    audience as materialized (
        select g.ord, g.thread_id, p.user_id, p.user_id = g.author as is_author,
            exists (select 1 from user_block b
                where b.blocker_user = p.user_id and b.blocked_user = g.author) as blocks_author,
            exists (select 1 from user_block b
                where b.blocker_user = g.author and b.blocked_user = p.user_id) as blocked_by_author
        from given g
        join thread_participant p on p.thread_id = g.thread_id and p.status = 'active'
        where g.is_member and g.repeat_id is null
    ),
    shared as materialized (
        select a.ord,
            count(*) filter (where not coalesce(is_author, false)) as others,
            coalesce(bool_or(blocked_by_author), false) as author_blocks,
            coalesce(bool_or(blocks_author or blocked_by_author), false) as is_partial,
            array_agg(a.user_id) filter (where not (blocks_author or blocked_by_author)) as viewers
        from audience a group by a.ord
    ),
    checked as materialized (
        select g.*, s.is_partial, s.viewers,
            case
                when g.is_member is not true then 'not_found'
                when g.repeat_id is not null and g.is_other then 'mismatch'
                when g.repeat_id is not null then 'repeat'
                when g.kind = 'system' then 'ok'
                when g.read_only then 'locked'
                when g.blocked_until > p_now then 'muted'
                when s.others = 1 and s.author_blocks then 'blocked_by_you'
                else 'ok'
            end as verdict
        from given g left join shared s on s.ord = g.ord
    ),
    limited as materialized (
        select c.ord, c.tat - p_now - p_window + sum(c.cost_ms) over (
                partition by c.thread_id, c.author order by c.ord) * interval '1 millisecond' as excess
        from checked c where c.verdict = 'ok' and c.cost_ms > 0
    ),
    numbered as materialized (
        select c.*,
            c.last_seq + row_number() over w as seq,
            greatest(p_now, c.last_msg_ts + interval '1 millisecond')
                + (row_number() over w - 1) * interval '1 millisecond' as created_at
        from checked c left join limited l on l.ord = c.ord
        where c.verdict = 'ok' and (l.excess is null or l.excess <= interval '0')
        window w as (partition by c.thread_id order by c.ord)
    ),
    accepted as materialized (
        select n.*, 'msg_' || lpad(to_hex((extract(epoch from n.created_at) * 1000)::bigint), 12, '0')
            || n.random as message_id
        from numbered n
    ),
    stored as (
        insert into message (thread_id, message_id, seq, sender_user, kind, body_text, body_html,
                             system, reply_to, visible_to, client_id, send_hash, created_at)
        select thread_id, message_id, seq, author, kind, body, html, system, reply_to,
            case when is_partial then viewers end, client_id, hash, created_at
        from accepted
    ),
    thread_moved as (
        update thread t set last_seq = m.seq, last_msg_ts = m.created_at
        from (select thread_id, max(seq) as seq, max(created_at) as created_at
              from accepted group by thread_id) m
        where t.thread_id = m.thread_id
    ),
    delivered as materialized (
        select a.ord, a.thread_id, a.message_id, a.author, a.created_at, a.cost_ms, a.tat, u.user_id,
            coalesce(u.is_author, false) as is_author,
            row_number() over (partition by u.user_id order by a.ord) as place
        from accepted a join audience u on u.ord = a.ord
            and (u.is_author or not (u.blocks_author or u.blocked_by_author))
    ),
    head_moved as (
        update feed_head h set last_n = h.last_n + d.added
        from (select user_id, max(place) as added from delivered group by user_id) d
        where h.user_id = d.user_id
    ),
    fed as (
        insert into feed (user_id, n, type, thread_id, message_id, actor, at)
        select d.user_id, h.last_n + d.place, 'message.new', d.thread_id, d.message_id, d.author,
            d.created_at
        from delivered d join feed_head h on h.user_id = d.user_id
    ),
    inboxed as (
        insert into inbox_index as i
            (user_id, thread_id, last_msg_ts, last_message_id, unread_count, send_tat)
        select user_id, thread_id, max(created_at), max(message_id),
            count(*) filter (where not is_author),
            max(tat) filter (where is_author)
                + sum(cost_ms) filter (where is_author) * interval '1 millisecond'
        from delivered group by user_id, thread_id
        on conflict (user_id, thread_id) do update set
            last_msg_ts = excluded.last_msg_ts,
            last_message_id = excluded.last_message_id,
            unread_count = i.unread_count + excluded.unread_count,
            send_tat = coalesce(excluded.send_tat, i.send_tat)
    ),
    told as (
        insert into outbox (event, occurred_at, actor, thread_id, message_id)
        select 'message.send', created_at, author, thread_id, message_id
        from accepted order by ord
    ),
    kept as (
        insert into idempotency_key
            (caller, route, key, fingerprint, thread_id, message_id, created_at)
        select 'person:' || author, 'send', key, fingerprint, thread_id, message_id, p_now
        from accepted where key is not null
    )
    select c.ord,
        case when c.verdict = 'ok' and a.ord is null then 'rate_limited' else c.verdict end,
        coalesce(a.message_id, c.repeat_id), a.seq, a.created_at,
        case when c.verdict = 'muted' then c.blocked_until
             when l.excess > interval '0' then p_now + l.excess end
    from checked c
    left join accepted a on a.ord = c.ord
    left join limited l on l.ord = c.ord;
end
$$;
