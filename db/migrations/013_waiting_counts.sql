-- The inbox counts the threads in which something waits for a person, whether or not they have read it.
create index inbox_index_waiting on inbox_index (user_id) where needs_action and folder = 'inbox';
