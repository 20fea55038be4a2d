-- Appends a batch of messages, to one or several threads, in one call. This is the send.
--
-- 1. Lock the threads, sorted, then the feed heads of their active participants, sorted. Every
--    change takes its locks in this order, so that two of them cannot deadlock.
-- 2. Give each message a verdict. Each statement of a volatile function has a fresh snapshot, so
--    what is checked after the locks still holds at the commit: somebody who was removed while
--    their send waited for the lock is not a participant any more.
-- 3. Write what was accepted: message, thread counters, feed entries, inbox rows, domain events
--    and idempotency keys.
--
-- Returns one row per message, in any order: `ord` is its place in the batch, `verdict` one of
-- ok, repeat, mismatch, not_found, locked, read_only, muted, blocked_by_you, rate_limited.
-- `viewers` are the people whose feeds have grown. A thread that does not exist gets no row.
--
-- An author's own feed head is always among the locks. So a client_id that is used in two threads
-- at the same time is seen as a repeat by the second.
--
-- The planner settings allow index look-ups only. A batch is small and the tables are large; a plan
-- that was made while they were empty must not stay in use.
create or replace function append_messages(
    p_now timestamptz,
    p_window interval,          -- how far the send limit may run ahead
    p_threads text[],
    p_authors text[],           -- null: the server itself (kind system)
    p_kinds text[],
    p_client_ids text[],
    p_hashes bytea[],
    p_bodies text[],
    p_htmls text[],
    p_systems jsonb[],
    p_replies text[],
    p_costs_ms int[],           -- what each takes of the window; 0: not limited
    p_audiences text[],         -- user ids with commas between them; null: everyone
    p_randoms text[],           -- the random part of each message id
    p_keys text[],              -- Idempotency-Key or null
    p_fingerprints bytea[],
    p_attachments jsonb[]       -- the files of each: [[file id, media], …]; null: none
) returns table (ord bigint, verdict text, message_id text, seq bigint, created_at timestamptz,
    until timestamptz, viewers text[])
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
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
    with judged as (
        select g.*, t.kind as thread_kind, t.last_seq, t.last_msg_ts, p.blocked_until, a.viewers,
            a.is_partial,
            -- A state far ahead was written by a clock that has been set back since.
            case when i.send_tat > p_now + 2 * p_window then p_now
                else greatest(i.send_tat, p_now) end as tat,
            coalesce(k.message_id, r.message_id) as repeat_id, k.key is null as is_key_new,
            case
                when g.kind = 'system' then 'ok'
                when p.status is distinct from 'active' or i.thread_id is null then 'not_found'
                when k.fingerprint <> g.fingerprint or r.thread_id <> g.thread_id
                    or r.send_hash <> g.hash then 'mismatch'
                when k.key is not null or r.message_id is not null then 'repeat'
                when t.kind = 'system' then 'read_only'
                when t.locked then 'locked'
                when p.blocked_until > p_now then 'muted'
                when a.others = 1 and a.author_blocks then 'blocked_by_you'
                else 'ok'
            end as verdict
        from unnest(p_threads, p_authors, p_kinds, p_client_ids, p_hashes, p_bodies, p_htmls,
                    p_systems, p_replies, p_costs_ms, p_audiences, p_randoms, p_keys,
                    p_fingerprints, p_attachments)
            with ordinality as g (thread_id, author, kind, client_id, hash, body, html,
                    system, reply_to, cost_ms, audience, random, key, fingerprint,
                    attachments, ord)
        join thread t on t.thread_id = g.thread_id
        left join thread_participant p on p.thread_id = g.thread_id and p.user_id = g.author
        left join inbox_index i on i.user_id = g.author and i.thread_id = g.thread_id
        left join message r on r.sender_user = g.author and r.client_id = g.client_id
        left join lateral (
            select * from idempotency_key k where g.key is not null
                and k.caller = 'person:' || g.author and k.route = 'send' and k.key = g.key
            offset 0) k on true
        cross join lateral (
            select count(*) filter (where o.user_id is distinct from g.author) as others,
                coalesce(bool_or(o.blocked_by_author), false) as author_blocks,
                coalesce(bool_or(o.is_hidden), false) as is_partial,
                array_agg(o.user_id) filter (where not o.is_hidden) as viewers
            from (
                select m.user_id, x.blocked_by_author,
                    x.blocked_by_author or exists (select 1 from user_block b
                        where b.blocker_user = m.user_id and b.blocked_user = g.author)
                    or (g.audience is not null
                        and m.user_id <> all (string_to_array(g.audience, ','))) as is_hidden
                from thread_participant m
                cross join lateral (
                    select exists (select 1 from user_block b where b.blocker_user = g.author
                        and b.blocked_user = m.user_id) as blocked_by_author offset 0) x
                where m.thread_id = g.thread_id and m.status = 'active'
                offset 0
            ) o
        ) a
    ),
    -- The sends of one batch count one after the other towards the limit.
    limited as (
        select j.*, case when j.verdict = 'ok' and j.cost_ms > 0 then j.tat - p_now - p_window
            + sum(j.cost_ms) filter (where j.verdict = 'ok') over (
                partition by j.thread_id, j.author order by j.ord) * interval '1 millisecond'
            end as excess
        from judged j
    ),
    counted as (
        select l.*, count(*) filter (
                where l.verdict = 'ok' and (l.excess is null or l.excess <= interval '0'))
            over (partition by l.thread_id order by l.ord) as place_in_thread,
            l.verdict = 'ok' and (l.excess is null or l.excess <= interval '0') as is_accepted
        from limited l
    ),
    numbered as materialized (
        select c.*, case when c.is_accepted then c.last_seq + c.place_in_thread end as seq,
            case when c.is_accepted then greatest(p_now, c.last_msg_ts + interval '1 millisecond')
                + (c.place_in_thread - 1) * interval '1 millisecond' end as created_at
        from counted c
    ),
    done as materialized (
        select n.*, case when n.is_accepted then 'msg_' || lpad(to_hex(
            (extract(epoch from n.created_at) * 1000)::bigint), 12, '0') || n.random
            end as message_id
        from numbered n
    ),
    stored as (
        insert into message (thread_id, message_id, seq, sender_user, kind, body_text, body_html,
                             system, reply_to, visible_to, client_id, send_hash, created_at,
                             attachments)
        select thread_id, message_id, seq, author, kind, body, html, system, reply_to,
            case when is_partial then coalesce(viewers, '{}') end, client_id, hash, created_at,
            attachments
        from done where is_accepted
    ),
    thread_moved as (
        update thread t set last_seq = m.seq, last_msg_ts = m.created_at
        from (select thread_id, max(seq) as seq, max(created_at) as created_at
              from done where is_accepted group by thread_id) m
        where t.thread_id = m.thread_id
    ),
    delivered as materialized (
        select d.ord, d.thread_id, d.thread_kind, d.kind, d.message_id, d.author, d.created_at,
            d.cost_ms, d.tat, d.attachments is not null as has_files, u.user_id,
            u.user_id is not distinct from d.author as is_author,
            row_number() over (partition by u.user_id order by d.ord) as place
        from done d cross join lateral unnest(d.viewers) as u (user_id)
        where d.is_accepted
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
            (user_id, thread_id, kind, last_msg_ts, last_message_id, unread_count, awaits_reply,
             send_tat, file_messages)
        select user_id, thread_id, max(thread_kind), max(created_at), max(message_id),
            count(*) filter (where not is_author),
            (array_agg(not is_author and kind <> 'system' order by ord desc))[1],
            max(tat) filter (where is_author)
                + sum(cost_ms) filter (where is_author) * interval '1 millisecond',
            count(*) filter (where has_files)
        from delivered group by user_id, thread_id
        on conflict (user_id, thread_id) do update set
            last_msg_ts = excluded.last_msg_ts,
            last_message_id = excluded.last_message_id,
            unread_count = i.unread_count + excluded.unread_count,
            awaits_reply = excluded.awaits_reply,
            -- An archived thread returns to the inbox when somebody else writes.
            folder = case when i.folder = 'archived' and excluded.unread_count > 0 then 'inbox'
                else i.folder end,
            send_tat = coalesce(excluded.send_tat, i.send_tat),
            file_messages = i.file_messages + excluded.file_messages
    ),
    told as (
        insert into outbox (event, occurred_at, actor, thread_id, message_id)
        select 'message.send', created_at, author, thread_id, message_id
        from done where is_accepted order by ord
    ),
    kept as (
        insert into idempotency_key
            (caller, route, key, fingerprint, thread_id, message_id, created_at)
        select 'person:' || author, 'send', key, fingerprint, thread_id,
            coalesce(message_id, repeat_id), p_now
        from done where key is not null and is_key_new and (is_accepted or verdict = 'repeat')
    )
    select d.ord,
        case when d.verdict = 'ok' and not d.is_accepted then 'rate_limited' else d.verdict end,
        coalesce(d.message_id, d.repeat_id), d.seq, d.created_at,
        case when d.verdict = 'muted' then d.blocked_until
             when not d.is_accepted then p_now + d.excess end,
        case when d.is_accepted then d.viewers end
    from done d;
end
$$;
