-- Trigger on tables that are append-only (history, money_entry, money_posting, manifest): refuses
-- the statement.
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'table % is append-only', tg_table_name
        using errcode = 'insufficient_privilege';
end
$$;
