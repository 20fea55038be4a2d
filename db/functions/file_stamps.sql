-- Says how the files that a message names stand now, one text for each that exists:
-- id:version:is the place known:has this viewer revealed it.
-- The version is another one after every change of the file's row. Whoever has the row of that
-- version need not read it again.
--
-- p_refs is [[file id, …], …], as messages keep it; p_place is the message.
--
-- A plain stable query without settings, so that the planner puts it into the statement that calls
-- it. There `offset 0` makes it look up each file by its key.
create or replace function file_stamps(p_refs jsonb, p_place text, p_viewer text)
returns setof text
language sql stable
as $$
    select s.stamp
    -- What is no list is read, and refused, by the server.
    from jsonb_array_elements(case when jsonb_typeof(p_refs) = 'array' then p_refs end) r
    cross join lateral (
        select concat_ws(':', f.file_id, f.xmin,
            (select 1 from file_use u where u.file_id = f.file_id and u.place = p_place) is not null,
            -- Safe-Mode applies to the others only.
            f.band is distinct from 0 and (
                select 1 from file_grant g where g.file_id = f.file_id and g.user_id = p_viewer
            ) is not null) as stamp
        from file f where f.file_id = r.value ->> 0 offset 0
    ) s
$$;
