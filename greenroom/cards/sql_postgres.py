"""Every statement of this room, named and described."""

_CARD_COLUMNS = """
    c.card_id, c.thread_id, c.message_id, c.type, c.state, c.version, c.payload, c.totals,
    c.created_by, c.buyer, c.seller, c.group_id, c.leg_id, c.answers_card, c.is_open, c.waits_for,
    c.expires_at, c.created_at, c.updated_at
"""

# What a thread's standing is made of: the legs of its booking, and whom its open cards wait for.
_LEGS = """
    (select coalesce(json_agg(json_build_array(l.leg_id, l.group_id, g.buyer, l.seller, l.state)
                              order by l.group_id, l.place), '[]')
        from booking_group g join leg l on l.group_id = g.group_id
        where g.thread_id = {thread}) as legs
"""
_OPEN_CARDS = """
    (select coalesce(json_agg(json_build_array(o.card_id, o.waits_for)), '[]')
        from card o where o.thread_id = {thread} and o.is_open) as open_cards
"""

CONTRACT_OF_THREAD = f"select {_LEGS.format(thread='$1')}, {_OPEN_CARDS.format(thread='$1')}"

# What never changes about a card, and the leg that it is about: its own or, for one that was made
# before there was a booking, the only leg of its thread. Without a lock.
WHERE_CARD_IS = """
select c.thread_id, c.type, coalesce(c.leg_id, (
    select min(l.leg_id) from booking_group g join leg l on l.group_id = g.group_id
    where g.thread_id = c.thread_id and g.buyer = c.buyer and l.state <> 'cancelled'
    having count(*) = 1 and min(l.seller) = c.seller)) as leg_id
from card c where c.card_id = $1
"""

# A card for its next transition, with what its thread's standing is made of.
LOCK_CARD = f"""
select {_CARD_COLUMNS}, {_LEGS.format(thread="c.thread_id")},
    {_OPEN_CARDS.format(thread="c.thread_id")}
from card c where c.card_id = $1 for update of c
"""

CARD = f"select {_CARD_COLUMNS} from card c where c.card_id = $1"

# The cards of a thread that wait for something, oldest first.
OPEN_CARDS = f"""
select {_CARD_COLUMNS} from card c
where c.thread_id = $1 and c.is_open order by c.card_id limit $2
"""

# The cards that one person has made, in order, after one of them.
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

# A card whose timer was let go waits for people only.
NEVER_EXPIRES = "update card set expires_at = null where card_id = $1"

DUE_OF_TIMER = "select due_at from timer where subject = $1 and name = $2"

# What was asked of the provider for one version of a card: the key itself, or the key and a suffix.
PAYMENTS_OF_VERSION = """
select state, failure_code from payment
where card_id = $1 and (key = $2 or starts_with(key, $2 || ':'))
order by key
"""

# What a card has brought in, or given back, so far; not what became of it later for other reasons.
SETTLED_OF_CARD = """
select coalesce(sum(amount_cents), 0)::bigint from payment
where card_id = $1 and operation = any ($2::text[]) and state = 'succeeded'
    and purpose = 'card'
"""

# How much of each kind a leg has taken as extras, besides one card.
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
