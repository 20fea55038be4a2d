-- A thread takes the next booking when every leg of the current one is completed or cancelled.

-- The booking that came after this one in its thread; null: it is the thread's current one.
alter table booking_group
    add column followed_by text collate "C" references booking_group deferrable initially deferred;
update booking_group g set followed_by = n.next_id
from (select group_id, lead(group_id) over (partition by thread_id order by created_at, group_id)
          as next_id
      from booking_group where thread_id is not null) n
where n.group_id = g.group_id and n.next_id is not null;
drop index booking_group_one_per_thread;
create unique index booking_group_current on booking_group (thread_id)
    where thread_id is not null and followed_by is null;

alter table thread
    -- What the thread belonged to before its current booking, the oldest first: pairs of a group and
    -- a leg, one of them null.
    add column earlier_bookings jsonb not null default '[]',
    drop constraint thread_stage_check,
    add constraint thread_stage_check
        check (stage in ('proposed', 'confirmed', 'completed', 'disputed', 'cancelled'));
