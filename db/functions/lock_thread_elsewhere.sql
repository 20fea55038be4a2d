-- Locks a thread that is kept in DynamoDB until the end of the transaction, and returns the
-- booking that it belongs to, if any. There is no row of the thread here to lock, so an advisory
-- lock stands for it; the booking is read after the lock.
create or replace function lock_thread_elsewhere(p_thread text)
returns table (group_id text, leg_id text)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    perform pg_advisory_xact_lock(hashtextextended(p_thread, 7235924));
    return query select b.group_id, b.leg_id from thread_booking b where b.thread_id = p_thread;
end
$$;
