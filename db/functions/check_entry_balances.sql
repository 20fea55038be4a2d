-- Constraint trigger on money_entry and money_posting, run at the commit: the postings of an entry
-- sum to zero, there are at least two of them, and all are in the entry's currency.
create or replace function check_entry_balances() returns trigger language plpgsql as $$
declare
    v_sum numeric;
    v_count int;
    v_currencies int;
begin
    select coalesce(sum(p.amount_cents), 0), count(*), count(distinct a.currency)
        filter (where a.currency <> e.currency)
        into v_sum, v_count, v_currencies
        from money_entry e
        left join money_posting p on p.entry_id = e.entry_id
        left join money_account a on a.account = p.account
        where e.entry_id = new.entry_id;
    if v_sum <> 0 or v_count < 2 or v_currencies > 0 then
        raise exception 'entry % does not balance: sum %, % postings', new.entry_id, v_sum, v_count
            using errcode = 'check_violation', constraint = 'entry_sums_to_zero';
    end if;
    return null;
end
$$;
