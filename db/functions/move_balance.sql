-- Trigger on money_posting: adds the amount to the balance that the account keeps. Only the
-- accounts of a leg (escrow, deposit) keep one; a single row for all cash would be a queue.
create or replace function move_balance() returns trigger language plpgsql as $$
begin
    update money_account set balance_cents = balance_cents + new.amount_cents
        where account = new.account and kind in ('escrow', 'deposit');
    return null;
end
$$;
