-- What threads show of the contract: cards as messages, and how the contract stands.

-- The shadow of a card: all that its readers need. The card itself is in table `card`, which changes
-- this row in the same transaction.
alter table message
    add column card_type text,
    add column card_id text collate "C",
    add column card_payload jsonb;
create unique index message_card on message (card_id) where card_id is not null;

alter table thread
    -- How far the contract has come; null before there is one.
    add column stage text check (stage in ('confirmed', 'completed', 'disputed', 'cancelled')),
    add column open_cards int not null default 0 check (open_cards >= 0);

alter table decision drop constraint decision_kind_check,
    add constraint decision_kind_check check (kind in ('promote', 'say', 'post'));

-- The thread for one who is in it (null: the server itself), locked until the transaction ends. No
-- row for others, who hold nobody up: they are told before anything is locked. What holds is read
-- after the lock, so that someone who was removed while this waited is out.
create function access_thread(
    p_now timestamptz,
    p_thread text,
    p_viewer text,
    p_to_write boolean
) returns table (verdict text, until timestamptz, kind text, locked boolean, group_id text, leg_id text,
    people text[], roles text[], unseen text[])
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
            when t.locked or t.kind = 'system' then 'locked'
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
            -- Those to whom what the viewer writes does not come.
            array_agg(p.user_id) filter (where exists (select 1 from user_block b
                where (b.blocker_user, b.blocked_user)
                    in ((p.user_id, p_viewer), (p_viewer, p.user_id)))) as unseen
        from thread_participant p where p.thread_id = p_thread and p.status = 'active') a
    where t.thread_id = p_thread and (p_viewer is null or me.user_id is not null);
end
$$;

-- One event for each of several people, whose heads are locked already.
create function feed_to(
    p_users text[], p_type text, p_thread text, p_message text, p_actor text, p_at timestamptz
) returns void
language sql volatile
as $$
    with moved as (
        update feed_head set last_n = last_n + 1 where user_id = any (p_users)
        returning user_id, last_n
    )
    insert into feed (user_id, n, type, thread_id, message_id, actor, at)
    select user_id, last_n, p_type, p_thread, p_message, p_actor, p_at from moved
$$;

-- What one change of the contract does to a thread: a card comes or changes, notices are said, and
-- the standing is what it is from now on. One row: what came of it, the card's message, and whose
-- feeds have grown.
--
-- Everyone who sees the thread hears of a new standing once: with the card or notice of the same
-- posting, whose event brings their inbox row along, else by an event of its own.
create function post_to_thread(
    p_now timestamptz,
    p_window interval,          -- as for append_messages
    p_thread text,
    p_actor text,               -- who made or changed the card
    p_kinds text[],             -- what is said: the new card, if there is one, then notices
    p_systems jsonb[],
    p_audiences text[],
    p_randoms text[],
    p_card text,                -- the card's id; null: this is about no card
    p_card_type text,
    p_card_payload jsonb,
    p_is_told boolean,          -- everyone hears something else of this thread anyway
    p_stands boolean,           -- whether the standing is set
    p_stage text,
    p_open_cards int,
    p_waits_for text[]
) returns table (verdict text, until timestamptz, message_id text, seq bigint, created_at timestamptz,
    told text[])
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_count int := cardinality(p_kinds);
    v_is_new boolean := v_count > 0 and p_kinds[1] = 'card';
    v_said record;
    v_message text;
    v_seq bigint;
    v_created_at timestamptz;
    v_told text[] := '{}';
    v_viewers text[];
    v_moved boolean := false;
    v_waiting text[];
    v_type text;
begin
    perform 1 from thread t where t.thread_id = p_thread for no key update;
    if not found then
        return;
    end if;
    perform 1 from feed_head h where h.user_id in (
            select p.user_id from thread_participant p
            where p.thread_id = p_thread and p.status = 'active')
        order by h.user_id for no key update;

    if p_card is not null and not v_is_new then
        -- Nothing is found where its message is past its keeping time.
        update message m set card_payload = p_card_payload
            where m.card_id = p_card and m.thread_id = p_thread
            returning m.message_id into v_message;
        select array_agg(p.user_id) into v_viewers
            from message m
            join thread_participant p on p.thread_id = m.thread_id and p.status = 'active'
                and m.message_id > p.visible_after_id
            join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
            where m.thread_id = p_thread and m.message_id = v_message
                and (m.visible_to is null or p.user_id = any (m.visible_to));
        v_told := coalesce(v_viewers, '{}');
        perform feed_to(v_told, 'card.changed', p_thread, v_message, p_actor, p_now);
    end if;

    if v_count > 0 then
        for v_said in
            select a.* from append_messages(
                p_now, p_window, array_fill(p_thread, array[v_count]),
                case when v_is_new
                    then array_prepend(p_actor, array_fill(null::text, array[v_count - 1]))
                    else array_fill(null::text, array[v_count]) end,
                p_kinds, array_fill(null::text, array[v_count]),
                array_fill(null::bytea, array[v_count]), array_fill(''::text, array[v_count]),
                array_fill(null::text, array[v_count]), p_systems,
                array_fill(null::text, array[v_count]), array_fill(0, array[v_count]),
                p_audiences, p_randoms, array_fill(null::text, array[v_count]),
                array_fill(null::bytea, array[v_count])) a
            order by a.ord
        loop
            if v_said.verdict <> 'ok' then
                return query select v_said.verdict, v_said.until, null::text, null::bigint,
                    null::timestamptz, null::text[];
                return;
            end if;
            v_told := v_told || coalesce(v_said.viewers, '{}');
            if v_is_new and v_said.ord = 1 then
                v_message := v_said.message_id;
                v_seq := v_said.seq;
                v_created_at := v_said.created_at;
                update message m set card_type = p_card_type, card_id = p_card,
                        card_payload = p_card_payload
                    where m.thread_id = p_thread and m.message_id = v_message;
            end if;
        end loop;
    end if;

    if p_stands then
        update thread t set stage = p_stage, open_cards = p_open_cards
            where t.thread_id = p_thread
                and (t.stage, t.open_cards) is distinct from (p_stage, p_open_cards);
        v_moved := found;
        with changed as (
            update inbox_index i set needs_action = not i.needs_action
            from thread_participant p
            where p.thread_id = p_thread and p.status = 'active'
                and i.user_id = p.user_id and i.thread_id = p.thread_id
                and i.needs_action <> (i.user_id = any (p_waits_for))
            returning i.user_id
        )
        select coalesce(array_agg(c.user_id), '{}') into v_waiting from changed c;
    end if;
    if (v_moved or v_waiting <> '{}') and not p_is_told then
        select array_agg(p.user_id) into v_viewers
            from thread_participant p
            join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
            where p.thread_id = p_thread and p.status = 'active' and p.user_id <> all (v_told)
                and (v_moved or p.user_id = any (v_waiting));
        v_type := 'inbox.changed';
        if v_moved and v_message is null and v_count = 0 then
            v_type := 'thread.changed';
            update thread t set updated_at = p_now where t.thread_id = p_thread;
        end if;
        perform feed_to(v_viewers, v_type, p_thread, null, p_actor, p_now);
        v_told := v_told || coalesce(v_viewers, '{}');
    end if;
    return query select 'ok', null::timestamptz, v_message, v_seq, v_created_at, v_told;
end
$$;

-- With conversations kept elsewhere there is no row of a thread here to lock: a lock of its own
-- stands for it, and what has been decided about the thread is read after it.
create function lock_thread_elsewhere(p_thread text)
returns table (group_id text, leg_id text)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(hashtextextended(p_thread, 7235924));
    return query select b.group_id, b.leg_id from thread_booking b where b.thread_id = p_thread;
end
$$;
