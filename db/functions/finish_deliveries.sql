-- Writes down what has become of deliveries that a process took, and lets go of their lanes. A
-- process that no longer holds a lane changes nothing there.
--
-- Lanes are locked sorted, as by the dispatcher. Every statement after that sees them as they are
-- locked, with the deliveries that were added meanwhile.
--
-- Returns the deliveries that are written down.
--
-- For the planner settings see append_messages.
create or replace function finish_deliveries(
    p_webhooks text[],
    p_lanes text[],
    p_versions int[],           -- of the lanes, as they were taken
    p_deliveries bigint[],
    p_states text[],            -- waiting: it is tried again
    p_tried timestamptz[],
    p_durations_ms int[],
    p_statuses int[],
    p_errors text[],
    p_excerpts text[],
    p_dues timestamptz[]        -- when the lane's next attempt is due
) returns table (delivery_id bigint)
language plpgsql volatile
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_held int[];
begin
    select array_agg(held.n) into v_held from (
        select g.n from unnest(p_webhooks, p_lanes, p_versions) with ordinality
            as g (webhook_id, lane, version, n)
        join webhook_lane l on l.webhook_id = g.webhook_id and l.lane = g.lane
            and l.version = g.version
        order by l.webhook_id, l.lane for update of l) held;

    delete from webhook_lane l using unnest(v_held) as g (n)
    where l.webhook_id = p_webhooks[g.n] and l.lane = p_lanes[g.n]
        and l.waiting = 1 and p_states[g.n] <> 'waiting';

    update webhook_lane l set due_at = p_dues[g.n], held_until = null, version = l.version + 1,
        waiting = l.waiting - (p_states[g.n] <> 'waiting')::int
    from unnest(v_held) as g (n)
    where l.webhook_id = p_webhooks[g.n] and l.lane = p_lanes[g.n];

    return query
    update webhook_delivery d set state = p_states[g.n], attempts = d.attempts + 1,
        tried_at = p_tried[g.n], duration_ms = p_durations_ms[g.n], status = p_statuses[g.n],
        error = p_errors[g.n], excerpt = p_excerpts[g.n]
    from unnest(v_held) as g (n) where d.delivery_id = p_deliveries[g.n]
    returning d.delivery_id;
end
$$;
