-- Applies one thread update of a contract (see greenroom/conversations/thread_updates.py): a card
-- is added or changed, notices are appended, and the standing (stage, open cards, who has to act)
-- is set.
--
-- Returns one row: the verdict as of append_messages, the message of the card, and `told`, the
-- people whose feeds have grown. No row: there is no such thread.
--
-- Everyone who sees the thread hears of a new standing once: with the event of the card or notice
-- of the same update, which carries their inbox row, or else by an event of its own.
--
-- For the planner settings see append_messages.
create or replace function post_to_thread(
    p_now timestamptz,
    p_window interval,          -- as for append_messages
    p_thread text,
    p_actor text,               -- who made or changed the card
    p_kinds text[],             -- of the new messages: the card, if it is new, then notices
    p_systems jsonb[],
    p_audiences text[],
    p_randoms text[],
    p_card text,                -- the card's id; null: no card is involved
    p_card_type text,
    p_card_payload jsonb,
    p_is_told boolean,          -- everyone gets another event of this thread anyway
    p_stands boolean,           -- whether the standing is set
    p_stage text,
    p_open_cards int,
    p_waits_for text[]
) returns table (verdict text, until timestamptz, message_id text, seq bigint,
    created_at timestamptz, told text[])
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
        -- Finds nothing where retention has removed the message.
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
                array_fill(null::bytea, array[v_count]),
                array_fill(null::jsonb, array[v_count])) a
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
