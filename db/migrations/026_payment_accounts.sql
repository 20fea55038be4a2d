-- How the payment provider knows a person. Opaque references that the marketplace's backend gives:
-- who pays, with what, and where money is paid out to. Never shown to people.
create table payment_account (
    user_id text collate "C" primary key,
    customer text collate "C",
    payment_method text collate "C",
    payee text collate "C",
    updated_at timestamptz not null
);

alter table payment
    -- The references with which the payment was first sent: its repeats must not differ.
    add column party jsonb,
    -- It is pending until the payer confirms it with their bank.
    add column needs_payer boolean not null default false;
create index payment_provider_id on payment (provider_id) where provider_id is not null;
create index payment_needs_payer on payment (group_id) where state = 'queued' and needs_payer;

-- Payments that a buyer disputes with their bank, as the provider reports them.
create table payment_dispute (
    dispute_id text collate "C" primary key,
    payment_id text collate "C" not null references payment,
    reason text not null,
    amount_cents bigint not null,
    currency text not null,
    state text not null check (state in ('open', 'won', 'lost')),
    opened_at timestamptz not null,
    closed_at timestamptz
);
create index payment_dispute_payment on payment_dispute (payment_id);
