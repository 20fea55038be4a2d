-- Writes one event to the feeds of several people. Their feed heads are locked already.
create or replace function feed_to(
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
