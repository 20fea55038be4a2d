-- Queues the next events of the log for a webhook and moves its cursor, in one round trip.
--
-- The webhook's row is locked before its cursor and lanes, as by a replay. When another process is at
-- work on the same webhook, nothing is done here.
--
-- Returns nothing then; otherwise from where to where it looked, the first and the last event that it
-- saw, how many it saw and how many it queued.
create or replace function queue_deliveries(
    p_webhook text,
    p_now timestamptz,
    p_limit int                 -- events that are looked at
) returns table (after bigint, head bigint, first bigint, seen bigint, queued bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_events text[];
    v_after bigint;
    v_head bigint;
    v_last bigint;
begin
    select w.events into v_events from webhook w
    where w.webhook_id = p_webhook and w.disabled_at is null for no key update skip locked;
    select c.position into v_after from event_cursor c
    where c.consumer = p_webhook for update skip locked;
    -- Before the events are read, so that none is passed over that is logged meanwhile.
    select coalesce(max(h.position), 0) into v_head from event_log_head h;
    if v_events is null or v_after is null or v_after >= v_head then
        return;
    end if;
    after := v_after;
    head := v_head;

    with looked as materialized (
        select e.position, e.event_id, e.type, e.thread_id from event_log e
        where e.position > v_after and e.position <= v_head order by e.position limit p_limit
    ), added as (
        insert into webhook_delivery (webhook_id, event_id, type, thread_id, queued_at)
        select p_webhook, l.event_id, l.type, l.thread_id, p_now from looked l
        where '*' = any(v_events) or l.type = any(v_events) order by l.position
        returning lane
    ), lanes as (
        insert into webhook_lane as l (webhook_id, lane, waiting, due_at)
        select p_webhook, a.lane, count(*), p_now from added a group by a.lane order by a.lane
        on conflict (webhook_id, lane) do update set waiting = l.waiting + excluded.waiting
    )
    select min(l.position), max(l.position), count(*), (select count(*) from added)
    into first, v_last, seen, queued from looked l;

    update event_cursor c set position = case when seen < p_limit then v_head else v_last end
    where c.consumer = p_webhook;
    return next;
end
$$;
