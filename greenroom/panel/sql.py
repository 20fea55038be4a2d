"""What the tabs read, each in one bounded query by index."""

# The booking of a thread: a project names a group, or a single leg of one, whose people need not
# know what the others cost.
LEGS = """
select l.leg_id, l.group_id, l.title, l.kind, l.seller, l.state, l.price_cents, l.payout,
    g.currency, d.deposit_id, d.amount_cents as deposit_cents, d.captured_cents,
    d.state as deposit_state
from leg l
join booking_group g on g.group_id = l.group_id
left join deposit d on d.leg_id = l.leg_id
where l.group_id = $1::text or ($1::text is null and l.leg_id = $2)
order by l.place
"""

BOOKING = """
select g.group_id from booking_group g
where g.group_id = coalesce($1, (select o.group_id from leg o where o.leg_id = $2))
"""

# What was added to the price, the newest last.
AMENDMENTS = """
select a.amendment_id, a.leg_id, a.card_id, a.kind, a.title, a.items, a.amount_cents, a.state,
    a.created_at
from amendment a where a.leg_id = any ($1::text[])
order by a.created_at, a.amendment_id limit $2
"""

REFUNDS = """
select refund_id, leg_id, card_id, amount_cents, state, created_at
from refund where leg_id = any ($1::text[]) order by created_at, refund_id limit $2
"""

# Money that has moved. Both sides of an entry are the same amount; one of them is told.
MOVEMENTS = """
select e.entry_id, e.kind, e.leg_id, e.card_id, e.payment_id, e.at, p.provider_id, m.amount_cents
from money_entry e
left join payment p on p.payment_id = e.payment_id
cross join lateral (
    select max(amount_cents) as amount_cents from money_posting o where o.entry_id = e.entry_id) m
where e.leg_id = any ($1::text[])
order by e.at, e.entry_id limit $2
"""

# How much has moved of each kind, over all movements, however many of them are shown.
MOVED = """
select e.leg_id, e.kind, sum(m.amount_cents)::bigint as amount_cents
from money_entry e
cross join lateral (
    select max(amount_cents) as amount_cents from money_posting o where o.entry_id = e.entry_id) m
where e.leg_id = any ($1::text[]) group by e.leg_id, e.kind
"""
AMENDED = """
select leg_id, sum(amount_cents)::bigint as amount_cents from amendment
where leg_id = any ($1::text[]) and state = any ($2::text[]) group by leg_id
"""

DOCUMENTS = """
select d.document_id, d.leg_id, d.title, d.url, d.bytes, d.sha256, d.state, d.created_at,
    (select c.card_id from card c where c.thread_id = $2 and c.is_open and c.type = 'sign'
        and c.payload ->> 'document_id' = d.document_id limit 1) as card_id
from document d where d.group_id = $1 and (d.leg_id is null or d.leg_id = any ($4::text[]))
order by d.created_at, d.document_id limit $3
"""
SIGNERS = """
select document_id, user_id, state, at from document_signer
where document_id = any ($1::text[]) order by document_id, place
"""

# How many documents wait for somebody's signature.
TO_SIGN = """
select count(*) from document d join document_signer s using (document_id)
where d.group_id = $1 and s.user_id = $2 and s.state = 'pending' and d.state = any ($3::text[])
    and (d.leg_id is null or d.leg_id = any ($4::text[]))
"""

BALANCES = """
select leg_id, kind, -balance_cents as cents from money_account where leg_id = any ($1::text[])
"""
