"""The SQL of the panel. Each query uses an index and has a limit."""

# Amendments, the newest last.
AMENDMENTS = """
select a.amendment_id, a.leg_id, a.card_id, a.kind, a.title, a.items, a.amount_cents, a.state,
    a.created_at, c.payload ->> 'receipt_file_id' as receipt_file_id
from amendment a left join card c on c.card_id = a.card_id where a.leg_id = any ($1::text[])
order by a.created_at, a.amendment_id limit $2
"""

REFUNDS = """
select r.refund_id, r.leg_id, r.card_id, r.amount_cents, r.state, r.created_at,
    exists (select from payment p where p.refund_id = r.refund_id and p.purpose = 'undo')
        as is_undo
from refund r where r.leg_id = any ($1::text[]) order by r.created_at, r.refund_id limit $2
"""

# Ledger entries. Their postings sum to zero, so the largest one is the amount.
MOVEMENTS = """
select e.entry_id, e.kind, e.leg_id, e.card_id, e.payment_id, e.at, p.provider_id, m.amount_cents,
    coalesce(p.purpose = 'undo', false) as is_undo
from money_entry e
left join payment p on p.payment_id = e.payment_id
cross join lateral (
    select max(amount_cents) as amount_cents from money_posting o where o.entry_id = e.entry_id) m
where e.leg_id = any ($1::text[])
order by e.at, e.entry_id limit $2
"""

# The cards that deliver these manifests, the newest first.
DELIVERIES = """
select c.card_id, c.message_id, c.state, c.payload ->> 'manifest_id' as manifest_id from card c
where c.thread_id = $1 and c.type = 'deliverable' and c.payload ->> 'manifest_id' = any ($2::text[])
order by c.card_id desc limit 200
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

# How many documents wait for the person's signature.
TO_SIGN = """
select count(*) from document d join document_signer s using (document_id)
where d.group_id = $1 and s.user_id = $2 and s.state = 'pending' and d.state = any ($3::text[])
    and (d.leg_id is null or d.leg_id = any ($4::text[]))
"""
