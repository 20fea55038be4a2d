-- Trigger on thread_participant: keeps thread.pair_key equal to pair_key_of(thread_id).
--
-- Whoever changes the participants of a thread holds the thread's lock and the feed heads of the
-- people in it. So whoever holds the heads of two people knows that their pairs do not change.
create or replace function keep_pair_key() returns trigger
language plpgsql
as $$
declare
    of_thread text := case when tg_op = 'DELETE' then old.thread_id else new.thread_id end;
    new_key text := pair_key_of(of_thread);
begin
    update thread set pair_key = new_key
    where thread_id = of_thread and pair_key is distinct from new_key;
    return null;
end
$$;
