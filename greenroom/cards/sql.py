"""The SQL of this room."""

_CARD_COLUMNS = """
    c.card_id, c.thread_id, c.message_id, c.type, c.state, c.version, c.payload, c.totals,
    c.created_by, c.buyer, c.seller, c.group_id, c.leg_id, c.answers_card, c.is_open, c.waits_for,
    c.expires_at, c.created_at, c.updated_at,
    (select lower(l.during) from leg l where l.leg_id = c.leg_id and l.state <> 'proposed')
        as leg_start,
    (select upper(l.during) from leg l where l.leg_id = c.leg_id and l.state <> 'proposed')
        as leg_end
"""

# The legs of a thread's bookings, each with whether its booking is the current one, and the people
# that the thread's open cards wait for.
_LEGS = """
    (select coalesce(json_agg(json_build_array(l.leg_id, l.group_id, g.buyer, l.seller, l.state,
            (extract(epoch from lower(l.during)) * 1000)::bigint,
            (extract(epoch from upper(l.during)) * 1000)::bigint, g.followed_by is null)
        order by l.group_id, l.place), '[]')
        from booking_group g join leg l on l.group_id = g.group_id
        where g.thread_id = {thread}) as legs
"""
_OPEN_CARDS = """
    (select coalesce(json_agg(json_build_array(o.card_id, o.waits_for)), '[]')
        from card o where o.thread_id = {thread} and o.is_open) as open_cards
"""

CONTRACT_OF_THREAD = f"""
select $1::text as thread_id, {_LEGS.format(thread="$1")}, {_OPEN_CARDS.format(thread="$1")}
"""

# The thread and the type of a card, which never change, and its leg: its own or, if it was created
# before there was a booking, the only possible leg of its thread. Locks nothing.
WHERE_CARD_IS = """
select c.thread_id, c.type, coalesce(c.leg_id, (
    select min(l.leg_id) from booking_group g join leg l on l.group_id = g.group_id
    where g.thread_id = c.thread_id and g.buyer = c.buyer
        and l.state in ('proposed', 'confirmed', 'in_progress')
        and case when c.group_id is null then g.followed_by is null
            else g.group_id = c.group_id end
    having count(*) = 1 and min(l.seller) = c.seller)) as leg_id
from card c where c.card_id = $1
"""

# Locks a card for its next transition, with the legs and open cards of its thread.
LOCK_CARD = f"""
select {_CARD_COLUMNS}, {_LEGS.format(thread="c.thread_id")},
    {_OPEN_CARDS.format(thread="c.thread_id")}
from card c where c.card_id = $1 for update of c
"""

CARD = f"select {_CARD_COLUMNS} from card c where c.card_id = $1"

FIND_CARDS = f"select {_CARD_COLUMNS} from card c where c.card_id = any ($1::text[])"

# The open cards of a thread, the oldest first.
OPEN_CARDS = f"""
select {_CARD_COLUMNS} from card c
where c.thread_id = $1 and c.is_open order by c.card_id limit $2
"""

# Whether an open card of the thread asks for signatures on the document $2.
DOCUMENT_HAS_CARD = """
select exists (select from card where thread_id = $1 and is_open
               and type = 'sign' and payload ->> 'document_id' = $2)
"""

# The cards of a type in a thread, the newest first.
CARDS_OF_TYPE = f"""
select {_CARD_COLUMNS} from card c
where c.thread_id = $1 and c.type = $2 order by c.card_id desc limit $3
"""

# The cards about a leg in one of the states $5 ("type state"), except $6, locked in order. With $4
# also cards of the thread $2 that name no leg: of the booking $3 or of none; of any if $3 is null.
CARDS_OF_LEG = f"""
select {_CARD_COLUMNS} from card c
where (c.leg_id = $1 or ($4 and c.leg_id is null and c.thread_id = $2
                         and ($3::text is null or c.group_id is null or c.group_id = $3)))
    and c.type || ' ' || c.state = any ($5::text[]) and c.card_id <> $6
order by c.card_id for update of c
"""

# Legs that have ended but have open cards, with their threads.
LEFT_OPEN = """
select distinct c.thread_id, c.leg_id from card c join leg l on l.leg_id = c.leg_id
where c.is_open and l.state in ('cancelled', 'completed', 'disputed')
    and (c.thread_id, c.leg_id) > ($1, $2)
order by c.thread_id, c.leg_id limit $3
"""

OPEN_TYPES = """
select array_agg(distinct type) from card where leg_id = $1 and is_open and card_id <> $2
"""

CHARGES_IN_FLIGHT = """
select coalesce(sum(amount_cents), 0)::bigint from payment
where card_id = $1 and operation = 'charge' and state = 'queued'
"""

# The cards that a person has created, in order, after the card $2.
CARDS_MADE_BY = f"""
select {_CARD_COLUMNS} from card c
where c.created_by = $1 and c.card_id > $2 order by c.card_id limit $3
"""

ADD_CARD = """
insert into card (card_id, thread_id, message_id, type, state, version, payload, totals, created_by,
                  buyer, seller, group_id, leg_id, answers_card, is_open, waits_for, expires_at,
                  created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
"""

MESSAGE_OF_CARD = "select message_id from card where card_id = $1 and thread_id = $2"

NOTE_MESSAGE = "update card set message_id = $2 where card_id = $1 and message_id is null"

KEEP_CARD = """
update card set state = $2, version = $3, payload = $4, totals = $5, group_id = $6, leg_id = $7,
    is_open = $8, waits_for = $9, expires_at = $10, updated_at = $11
where card_id = $1
"""

HISTORY = """
select version, at, actor, role, act, from_state, to_state from history
where subject = $1 order by seq limit $2
"""

DUE_OF_TIMER = "select due_at from task where kind = 'timer' and key = $1"

# The payments of one version of a card: their key is $2, or $2 and a suffix.
PAYMENTS_OF_VERSION = """
select state, failure_code from payment
where card_id = $1 and (key = $2 or starts_with(key, $2 || ':'))
order by key
"""

# What a card has charged, or refunded, so far; without refunds for other reasons.
SETTLED_OF_CARD = """
select coalesce(sum(amount_cents), 0)::bigint from payment
where card_id = $1 and operation = any ($2::text[]) and state = 'succeeded'
    and purpose = 'card'
"""

# Quantity and amount of a leg's extras by kind, without the card $2.
USED_EXTRAS = """
select coalesce(i.item ->> 'kind', 'default') as kind,
    sum((i.item ->> 'qty')::bigint)::bigint as qty,
    sum((i.item ->> 'amount_cents')::bigint)::bigint as amount_cents
from amendment a, jsonb_array_elements(a.items) as i (item)
where a.leg_id = $1 and a.kind = 'extras' and a.state not in ('void', 'failed') and a.card_id <> $2
    and i.item ? 'qty' and i.item ? 'amount_cents'
group by 1
"""

MANIFEST_IN_THREAD = "select 1 from manifest where manifest_id = $1 and thread_id = $2"
