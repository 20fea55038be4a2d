"""Every statement about webhooks, with its parameters."""

from asyncpg import Record

from greenroom.webhooks.model import Delivery, Webhook

COLUMNS = """webhook_id, url, events, include_content, description, secret_version, previous_until,
    created_at, enabled_at, disabled_at, disabled_reason, failing_since"""

# $1 id, $2 url, $3 events, $4 include_content, $5 description, $6 sealed secret, $7 now
ADD = f"""
insert into webhook (webhook_id, url, events, include_content, description, secret, created_at,
                     enabled_at)
values ($1, $2, $3, $4, $5, $6, $7, $7) returning {COLUMNS}
"""
COUNT = "select count(*) from webhook"
LIST = f"select {COLUMNS} from webhook order by webhook_id limit $1"
FIND = f"select {COLUMNS} from webhook where webhook_id = $1"
LOCK = f"{FIND} for no key update"
# $1 id, $2 url, $3 events, $4 include_content, $5 description: null leaves a field as it is.
CHANGE = f"""
update webhook set url = coalesce($2, url), events = coalesce($3, events),
    include_content = coalesce($4, include_content), description = coalesce($5, description)
where webhook_id = $1 returning {COLUMNS}
"""
# $1 id, $2 now
ENABLE = f"""
update webhook set enabled_at = $2, disabled_at = null, disabled_reason = null, failing_since = null
where webhook_id = $1 and disabled_at is not null returning {COLUMNS}
"""
# $1 id, $2 now, $3 reason. The first reason stays.
DISABLE = f"""
update webhook set disabled_at = $2, disabled_reason = $3
where webhook_id = $1 and disabled_at is null returning {COLUMNS}
"""
REMOVE = "delete from webhook where webhook_id = $1 returning 1"
# $1 id, $2 sealed secret, $3 until when the one before signs too
ROTATE = f"""
update webhook set previous_secret = secret, previous_until = $3, secret = $2,
    secret_version = secret_version + 1
where webhook_id = $1 returning {COLUMNS}
"""
SEALED = "select secret from webhook where webhook_id = $1 and secret_version = $2"

# What a replay queues; $1 webhook, $6 now.
_QUEUE = """
queued as (
    insert into webhook_delivery (webhook_id, event_id, type, thread_id, queued_at)
    select $1, event_id, type, thread_id, $6 from batch order by position
    returning delivery_id, lane
), lanes as (
    insert into webhook_lane as l (webhook_id, lane, waiting, due_at)
    select $1, lane, count(*), $6 from queued group by lane order by lane
    on conflict (webhook_id, lane) do update set waiting = l.waiting + excluded.waiting
)
"""
# $1 webhook, $2 now, $3 most events
QUEUE = "select after, head, first, seen, queued from queue_deliveries($1, $2, $3)"
# $1 webhook, $2 and $3 positions (after, up to), $4 whether all types, $5 types, $6 now, $7 limit
REPLAY = f"""
with batch as (
    select position, event_id, type, thread_id from event_log
    where position > $2 and position <= $3 and ($4 or type = any($5)) order by position limit $7
), {_QUEUE}
select max(position) as last, count(*) as seen, (select count(*) from queued) as queued from batch
"""
# $1 webhook, $2 event, $3 now
REPLAY_ONE = f"""
with batch as (
    select position, event_id, type, thread_id from event_log where event_id = $2
), {_QUEUE.replace("$6", "$3")}
select count(*) as queued from queued
"""
# $1 webhook, $2 event, $3 type, $4 now
TEST = """
with queued as (
    insert into webhook_delivery (webhook_id, event_id, type, queued_at) values ($1, $2, $3, $4)
    returning *
), lanes as (
    insert into webhook_lane (webhook_id, lane, waiting, due_at)
    select webhook_id, lane, 1, queued_at from queued
)
select *, null::timestamptz as next_at from queued
"""
# The first event behind a position, and when it was logged.
LOGGED_AFTER = """
select logged_at from event_log where position > $1 and position <= $2 order by position limit 1
"""

# Those that are enabled, how far each has read, and the end of the log.
ENABLED = """
select w.webhook_id, c.position, coalesce((select position from event_log_head), 0) as head
from webhook w join event_cursor c on c.consumer = w.webhook_id
where w.disabled_at is null order by c.position limit $1
"""

# Lanes that are due, fairly among webhooks. $1, $2: how many of each are held here already, $3 now,
# $4 most of one webhook, $5 most in all, $6 seconds to hold them. Many are taken together: no more
# of a webhook until half of what was taken is done. While a receiver fails, it is asked once at a
# time.
TAKE = """
with due as (
    select l.webhook_id, l.lane from (
        select webhook_id, failing_since from webhook where disabled_at is null order by random()
    ) w
    left join unnest($1::text[], $2::int[]) as busy (webhook_id, count)
        on busy.webhook_id = w.webhook_id
    cross join lateral (
        select webhook_id, lane from webhook_lane
        where webhook_id = w.webhook_id and due_at <= $3
            and (held_until is null or held_until < now())
        order by due_at
        limit case
            when w.failing_since is not null then greatest(0, 1 - coalesce(busy.count, 0))
            when 2 * coalesce(busy.count, 0) > $4 then 0
            else $4 - coalesce(busy.count, 0) end
        for update skip locked
    ) l
    limit $5
)
update webhook_lane l set held_until = now() + make_interval(secs => $6), version = version + 1
from due where l.webhook_id = due.webhook_id and l.lane = due.lane
returning l.webhook_id, l.lane, l.version
"""
# A statement of its own, because it must see what was written before the lanes were free.
HEADS = """
select held.webhook_id, held.lane, held.version, w.url, w.include_content, w.secret,
    case when w.previous_until > $4 then w.previous_secret end as previous_secret,
    greatest(w.enabled_at, d.queued_at) as since, w.failing_since,
    d.delivery_id, d.event_id as delivered_id, d.type as delivered_type, d.queued_at, d.attempts,
    e.position, e.event_id, e.type, e.occurred_at, e.logged_at, e.actor, e.thread_id,
    e.thread_number, e.message_id, e.group_id, e.leg_id, e.card_id, e.amount_cents, e.currency,
    e.data
from unnest($1::text[], $2::text[], $3::int[]) as held (webhook_id, lane, version)
join webhook w on w.webhook_id = held.webhook_id
cross join lateral (
    select * from webhook_delivery
    where webhook_id = held.webhook_id and lane = held.lane and state = 'waiting'
    order by delivery_id limit 1
) d
left join event_log e on e.event_id = d.event_id
"""
FINISH = """
select delivery_id from finish_deliveries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
# $1 webhooks, $2 lanes, $3 versions, $4 when to try again: nothing was sent.
PUT_BACK = """
update webhook_lane l set held_until = null, due_at = $4
from unnest($1::text[], $2::text[], $3::int[]) as held (webhook_id, lane, version)
where l.webhook_id = held.webhook_id and l.lane = held.lane and l.version = held.version
"""
NEXT_DUE = """
select min(l.due_at) from webhook w cross join lateral (
    select due_at from webhook_lane
    where webhook_id = w.webhook_id and due_at > $1 order by due_at limit 1
) l where w.disabled_at is null
"""

# $1 webhooks, $2 now. Returns those that have failed since before.
NOTE_FAILING = """
update webhook set failing_since = coalesce(failing_since, $2)
where webhook_id = any($1) returning webhook_id, failing_since
"""
# $1 webhooks. Returns since when each had failed.
NOTE_SUCCESS = """
update webhook w set failing_since = null from webhook before
where w.webhook_id = any($1) and w.failing_since is not null and before.webhook_id = w.webhook_id
returning w.webhook_id, before.failing_since
"""
# $1 webhook, $2 now, $3 milliseconds to spread them over
BRING_FORWARD = """
update webhook_lane set due_at = $2::timestamptz + random() * $3 * interval '1 millisecond'
where webhook_id = $1
    and due_at > $2::timestamptz + $3 * interval '1 millisecond' and held_until is null
"""

_DELIVERY = """d.delivery_id, d.webhook_id, d.event_id, d.type, d.thread_id, d.state, d.queued_at,
    d.attempts, d.tried_at, d.duration_ms, d.status, d.error, d.excerpt,
    case when d.state = 'waiting' and d.attempts > 0 then l.due_at end as next_at"""
# The newest first. $1 webhook, $2 states, $3 before this id, $4 limit. No row: no such webhook;
# a row of nulls: no deliveries.
DELIVERIES = f"""
select {_DELIVERY} from webhook w
left join lateral (
    select each.* from unnest($2::text[]) as s (state) cross join lateral (
        select * from webhook_delivery
        where webhook_id = $1 and state = s.state and delivery_id < $3
        order by delivery_id desc limit $4
    ) each
    order by each.delivery_id desc limit $4
) d on true
left join webhook_lane l on l.webhook_id = d.webhook_id and l.lane = d.lane
where w.webhook_id = $1 order by d.delivery_id desc
"""
DELIVERY = f"""
select {_DELIVERY} from webhook_delivery d
left join webhook_lane l on l.webhook_id = d.webhook_id and l.lane = d.lane
where d.delivery_id = $1
"""

# $1 before, $2 limit
PRUNE = """
delete from webhook_delivery where delivery_id in (
    select delivery_id from webhook_delivery
    where state <> 'waiting' and queued_at < $1 order by queued_at limit $2)
"""
# Counts no further than anybody needs to know.
MEASURE = """
select (select count(*) from webhook where disabled_at is not null and disabled_reason <> 'manual')
        as disabled,
    (select count(*) from webhook where failing_since is not null and disabled_at is null)
        as failing,
    (select coalesce(sum(waiting), 0) from (select waiting from webhook_lane limit 100000) l)
        as waiting
"""

STANDINGS = """
select webhook_id, disabled_reason, failing_since, secret from webhook order by webhook_id limit $1
"""


def webhook_from(row: Record) -> Webhook:
    return Webhook(
        webhook_id=row["webhook_id"],
        url=row["url"],
        events=tuple(row["events"]),
        include_content=row["include_content"],
        description=row["description"],
        secret_version=row["secret_version"],
        previous_until_ms=row["previous_until"],
        created_at_ms=row["created_at"],
        enabled_at_ms=row["enabled_at"],
        disabled_at_ms=row["disabled_at"],
        disabled_reason=row["disabled_reason"],
        failing_since_ms=row["failing_since"],
    )


def delivery_from(row: Record) -> Delivery:
    return Delivery(
        delivery_id=row["delivery_id"],
        webhook_id=row["webhook_id"],
        event_id=row["event_id"],
        type=row["type"],
        thread_id=row["thread_id"],
        state=row["state"],
        queued_at_ms=row["queued_at"],
        attempts=row["attempts"],
        tried_at_ms=row["tried_at"],
        next_at_ms=row["next_at"],
        duration_ms=row["duration_ms"],
        status=row["status"],
        error=row["error"],
        excerpt=row["excerpt"],
    )
