-- The contract: bookings, money, cards and their histories. Always in PostgreSQL, wherever the
-- conversations are kept. Money is whole cents; every movement is a row that is never changed.

-- A range of one text, so that "the same seller" can stand in an exclusion constraint: gist knows
-- ranges without any extension.
create type textrange as range (subtype = text, collation = "C");

-- A linked booking group: legs that are bought together by one buyer.
create table booking_group (
    group_id text collate "C" primary key,
    buyer text collate "C" not null,
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    thread_id text collate "C",
    -- Between `confirming` and what follows, a charge is on its way.
    state text not null check (state in ('proposed', 'confirming', 'confirmed', 'cancelled')),
    -- The cancellation policy as it was quoted when the booking was made.
    policy jsonb not null,
    version int not null default 1,
    -- Why the last attempt to confirm did not succeed.
    failure_code text,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index booking_group_thread on booking_group (thread_id) where thread_id is not null;
-- A thread negotiates one booking at a time.
create unique index booking_group_one_per_thread on booking_group (thread_id)
    where thread_id is not null and state <> 'cancelled';

create table leg (
    leg_id text collate "C" primary key,
    group_id text collate "C" not null references booking_group,
    place int not null,
    kind text not null check (kind in ('talent', 'studio')),
    seller text collate "C" not null,
    title text not null,
    state text not null check (state in
        ('proposed', 'confirmed', 'in_progress', 'completed', 'cancelled', 'disputed')),
    during tstzrange not null
        check (not isempty(during) and not lower_inf(during) and not upper_inf(during)),
    timezone text not null,
    price_cents bigint not null check (price_cents >= 0),
    deposit_cents bigint not null default 0 check (deposit_cents >= 0),
    -- Taken when the booking is being confirmed, given back when it is cancelled.
    holds_slot boolean not null default false,
    version int not null default 1,
    -- RFC 5545 SEQUENCE: grows when people's calendars must change.
    sequence int not null default 0,
    deliverables_accepted_at timestamptz,
    payout text not null default 'none' check (payout in ('none', 'held', 'queued', 'paid', 'failed')),
    payout_held_reason text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (group_id, place),
    constraint leg_slot_taken exclude using gist
        (textrange(seller, seller, '[]') with &&, during with &&) where (holds_slot)
);
create index leg_seller on leg (seller, lower(during));
create index booking_group_buyer on booking_group (buyer);

-- Cards: the machine behind a message of kind `card`. The thread shows a shadow of this row.
create table card (
    card_id text collate "C" primary key,
    thread_id text collate "C" not null,
    -- Null where conversations are kept elsewhere: the shadow there knows its message.
    message_id text collate "C",
    type text not null,
    state text not null,
    version int not null default 1 check (version >= 1),
    payload jsonb not null,
    -- What the server has computed: totals, a quote, a failure code, the chosen option.
    totals jsonb not null default '{}',
    created_by text collate "C" not null,
    buyer text collate "C" not null,
    seller text collate "C" not null,
    group_id text collate "C" references booking_group,
    leg_id text collate "C" references leg,
    -- The card that this one answers: a counter-offer.
    answers_card text collate "C",
    -- Whether something is still to happen, and whose turn it is.
    is_open boolean not null,
    waits_for text[] collate "C" not null default '{}',
    expires_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index card_open on card (thread_id) where is_open;
create index card_made_by on card (created_by, card_id);
create index card_thread on card (thread_id, card_id);
create index card_leg on card (leg_id, type) where leg_id is not null;

-- Every transition of a leg, group or card, for ever. What a person wrote is not here but in
-- `history_detail`, which can be erased: the hashes are over the salt there and the whole subject.
create table history (
    subject text collate "C" not null,
    seq int not null,
    -- What it is chained with: the booking group, or the thread of a card before any booking.
    chain text collate "C" not null,
    at timestamptz not null,
    actor text collate "C",
    role text not null,
    act text not null,
    from_state text,
    to_state text not null,
    version int not null,
    before_hash bytea,
    after_hash bytea not null,
    input_hash bytea,
    primary key (subject, seq)
);
create index history_chain on history (chain, at);

create table history_detail (
    subject text collate "C" not null,
    seq int not null,
    salt bytea not null,
    after jsonb not null,
    input jsonb,
    primary key (subject, seq)
);

-- Double entry. Amounts: money that comes to an account is positive, money that leaves it negative;
-- what we owe therefore stands at or below zero.
create table money_account (
    account text collate "C" primary key,
    -- provider: cash at the payment provider; holds: authorised, not taken; escrow: kept for a leg;
    -- deposit: authorised for a leg; seller: released to a seller, not yet paid out.
    kind text not null check (kind in ('provider', 'holds', 'escrow', 'deposit', 'seller')),
    currency text not null,
    leg_id text collate "C" references leg,
    -- Kept for a leg's own accounts only: one row for all the provider's cash would be a queue.
    balance_cents bigint not null default 0,
    constraint never_more_out_than_in
        check (kind not in ('escrow', 'deposit') or balance_cents <= 0)
);

create table money_entry (
    entry_id text collate "C" primary key,
    kind text not null,
    -- What makes it happen once, such as the payment that it books.
    key text collate "C" not null unique,
    currency text not null,
    group_id text collate "C" not null references booking_group,
    leg_id text collate "C" references leg,
    card_id text collate "C",
    payment_id text collate "C",
    at timestamptz not null
);
create index money_entry_leg on money_entry (leg_id, at);

create table money_posting (
    entry_id text collate "C" not null references money_entry,
    place smallint not null,
    account text collate "C" not null references money_account,
    amount_cents bigint not null check (amount_cents <> 0),
    primary key (entry_id, place)
);
create index money_posting_account on money_posting (account);

create function check_entry_balances() returns trigger language plpgsql as $$
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
create constraint trigger entry_sums_to_zero after insert on money_entry
    deferrable initially deferred for each row execute function check_entry_balances();
create constraint trigger posting_sums_to_zero after insert on money_posting
    deferrable initially deferred for each row execute function check_entry_balances();

create function move_balance() returns trigger language plpgsql as $$
begin
    update money_account set balance_cents = balance_cents + new.amount_cents
        where account = new.account and kind in ('escrow', 'deposit');
    return null;
end
$$;
create trigger posting_moves_balance after insert on money_posting
    for each row execute function move_balance();

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'table % is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;
create trigger history_is_append_only before update or delete or truncate on history
    execute function refuse_change();
create trigger money_entry_is_append_only before update or delete or truncate on money_entry
    execute function refuse_change();
create trigger money_posting_is_append_only before update or delete or truncate on money_posting
    execute function refuse_change();

-- What we ask of the payment provider. A row is decided with the change that needs it; the worker
-- carries it out under `key`, as often as it takes: the provider sees one.
create table payment (
    payment_id text collate "C" primary key,
    key text collate "C" not null unique,
    operation text not null check (operation in
        ('charge', 'hold', 'capture', 'release', 'refund', 'payout')),
    -- Whose outcome it is: `confirm` of a group, a `card`, a `cancel`, a `complete`.
    purpose text not null,
    group_id text collate "C" not null references booking_group,
    leg_id text collate "C" references leg,
    card_id text collate "C" references card,
    -- Who pays or is paid, as the provider knows them.
    account text collate "C" not null,
    amount_cents bigint not null check (amount_cents > 0),
    currency text not null,
    -- The charge or hold that is refunded, captured or released.
    source_payment text collate "C" references payment,
    state text not null default 'queued' check (state in ('queued', 'succeeded', 'failed')),
    provider_id text collate "C",
    failure_code text,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index payment_card on payment (card_id) where card_id is not null;
create index payment_leg on payment (leg_id);
create index payment_group on payment (group_id);
create index payment_queued on payment (created_at) where state = 'queued';

create table amendment (
    amendment_id text collate "C" primary key,
    group_id text collate "C" not null references booking_group,
    leg_id text collate "C" not null references leg,
    card_id text collate "C" not null unique references card,
    kind text not null check (kind in ('extras', 'overtime', 'expense')),
    title text not null,
    items jsonb not null default '[]',
    amount_cents bigint not null check (amount_cents >= 0),
    currency text not null,
    -- `booked`: the seller's own books, nobody pays.
    state text not null check (state in ('pending', 'paid', 'failed', 'void', 'booked')),
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index amendment_leg on amendment (leg_id);

create table deposit (
    deposit_id text collate "C" primary key,
    leg_id text collate "C" not null unique references leg,
    amount_cents bigint not null check (amount_cents > 0),
    captured_cents bigint not null default 0 check (captured_cents between 0 and amount_cents),
    currency text not null,
    state text not null check (state in ('pending', 'held', 'captured', 'released', 'failed')),
    payment_id text collate "C" references payment,
    created_at timestamptz not null,
    updated_at timestamptz not null
);

create table refund (
    refund_id text collate "C" primary key,
    group_id text collate "C" not null references booking_group,
    leg_id text collate "C" not null references leg,
    card_id text collate "C" references card,
    amount_cents bigint not null check (amount_cents > 0),
    currency text not null,
    state text not null check (state in ('queued', 'refunded', 'failed')),
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index refund_leg on refund (leg_id);
-- One refund can take from several charges.
alter table payment add column refund_id text collate "C" references refund;

-- What the provider has told us, so that an event that comes twice counts once.
create table provider_event (
    event_id text collate "C" primary key,
    received_at timestamptz not null
);
create index provider_event_received on provider_event (received_at);

create table document (
    document_id text collate "C" primary key,
    group_id text collate "C" not null references booking_group,
    leg_id text collate "C" references leg,
    title text not null,
    url text,
    bytes bigint,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    state text not null default 'pending'
        check (state in ('pending', 'partly_signed', 'signed', 'declined', 'expired')),
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index document_group on document (group_id);
create table document_signer (
    document_id text collate "C" not null references document,
    user_id text collate "C" not null,
    place int not null,
    state text not null default 'pending' check (state in ('pending', 'signed', 'declined')),
    -- The hash of what they saw when they signed.
    sha256 text,
    at timestamptz,
    primary key (document_id, user_id)
);

-- Lists of deliverables that lie elsewhere. Never changed.
create table manifest (
    manifest_id text collate "C" primary key,
    thread_id text collate "C" not null,
    group_id text collate "C" references booking_group,
    leg_id text collate "C" references leg,
    created_by text collate "C" not null,
    items jsonb not null,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    created_at timestamptz not null
);
create index manifest_thread on manifest (thread_id, manifest_id);
create trigger manifest_is_append_only before update or truncate on manifest
    execute function refuse_change();

-- Things that happen by themselves at their time: expiry, review windows, a leg that begins. One of
-- a name per subject; it goes in the transaction of what it does.
create table timer (
    subject text collate "C" not null,
    name text not null,
    due_at timestamptz not null,
    -- When to try again, and how often it was tried, after something went wrong.
    retry_at timestamptz,
    attempts int not null default 0,
    failure text,
    primary key (subject, name)
);
create index timer_due on timer (due_at, subject) where failure is null;

-- What has happened to contracts, for other systems: no names, no texts.
create table contract_event (
    id bigint generated always as identity primary key,
    event text not null,
    occurred_at timestamptz not null,
    actor text collate "C",
    thread_id text collate "C",
    group_id text collate "C",
    leg_id text collate "C",
    card_id text collate "C",
    amount_cents bigint,
    currency text,
    data jsonb
);
create index contract_event_age on contract_event (occurred_at);

-- The address of a person's private calendar; only the hash of its secret is here.
create table calendar_feed (
    user_id text collate "C" primary key,
    secret_hash bytea not null unique,
    created_at timestamptz not null
);
