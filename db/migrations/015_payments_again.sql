-- When a payout was first asked of the provider: before that it can be stopped. What is queued as of
-- now may have been asked already.
alter table payment add column sent_at timestamptz;
update payment set sent_at = created_at where operation = 'payout' and state = 'queued';

-- The payment that does again what failed.
alter table payment add column again text collate "C" references payment;
create index payment_failed on payment (payment_id)
    where state = 'failed' and again is null and operation in ('refund', 'release', 'payout')
        and failure_code is distinct from 'stopped';
