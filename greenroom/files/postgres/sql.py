"""All statements of the store of files."""

FILE_FIELDS = """
f.file_id, f.thread_id, f.owner_user, f.purpose, f.name, f.mime, f.bytes, f.sha256, f.watermark,
f.state, f.reason, f.media, f.content_mime, f.width, f.height, f.duration_ms, f.peaks, f.alt,
f.band, f.band_source, f.renditions, f.parts_handle, f.created_at, f.completed_at, f.finished_at,
f.told_at, f.deleted_at
"""

INSERT = f"""
insert into file as f (file_id, thread_id, owner_user, purpose, name, mime, bytes, sha256,
                       watermark, state, media, parts_handle, created_at, width, height,
                       duration_ms, peaks)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'uploading', $10, $11, $12, $13, $14, $15, $16)
returning {FILE_FIELDS}
"""

FIND = f"select {FILE_FIELDS} from file f where f.file_id = $1"

FIND_MANY = f"select {FILE_FIELDS} from file f where f.file_id = any($1::text[])"

# What a person has begun: uploads that are not complete, and bytes since $2.
OF_PERSON = """
select (select count(*) from file where owner_user = $1 and state = 'uploading') as open,
    (select coalesce(sum(bytes), 0)::bigint from file
        where owner_user = $1 and created_at > $2) as bytes
"""

BYTES_OF_THREAD = """
select coalesce(sum(bytes), 0)::bigint from file
where thread_id = $1 and state not in ('refused', 'expired')
"""

PLACES = "select place from file_use where file_id = $1 order by place desc limit $2"

LOOK = f"""
select {FILE_FIELDS}, f.xmin::text as version, u.place, g.user_id is not null as is_revealed,
    u.place is null or w.place is not null as is_known
from unnest($1::text[], $2::text[]) as u (file_id, place)
join file f on f.file_id = u.file_id
left join file_grant g on g.file_id = f.file_id and g.user_id = $3
left join file_use w on w.file_id = f.file_id and w.place = u.place
"""

# Only for files of this thread, or of no thread yet: a place elsewhere shows nothing.
NOTE_USES = """
insert into file_use (file_id, place, at)
select u.file_id, u.place, $4 from unnest($1::text[], $2::text[], $3::text[])
    as u (file_id, thread_id, place)
join file f on f.file_id = u.file_id and (f.thread_id is null or f.thread_id = u.thread_id)
order by u.file_id, u.place
on conflict do nothing
"""

# A file of the polling API gets its thread with its first message.
BIND = """
update file f set thread_id = u.thread_id
from unnest($1::text[], $2::text[]) as u (file_id, thread_id)
where f.file_id = u.file_id and f.thread_id is null
returning f.file_id, f.state
"""

# Where it is shown, and whether the viewer $2 has revealed it.
SIGHT_FIELDS = f"""
{FILE_FIELDS},
array(select u.place from file_use u where u.file_id = f.file_id
      order by u.place desc limit $3) as places,
exists (select from file_grant g where g.file_id = f.file_id and g.user_id = $2) as is_revealed
"""

SIGHT = f"select {SIGHT_FIELDS} from file f where f.file_id = $1"

# Proofs and receipts stand with their cards.
LIST_THREAD = f"""
select {SIGHT_FIELDS} from file f
where f.thread_id = $1 and f.state in ('processing', 'ready')
    and f.purpose in ('attachment', 'voice')
    and ($4::text is null or f.media = $4) and ($5::text is null or f.file_id < $5)
    and exists (select from file_use u where u.file_id = f.file_id)
order by f.file_id desc limit $6
"""

COMPLETE = f"""
update file f set state = 'processing', completed_at = $2, sha256 = coalesce($3, f.sha256)
where f.file_id = $1 and f.state = 'uploading'
returning {FILE_FIELDS}
"""

SET_ALT = f"""
update file f set alt = $2 where f.file_id = $1 and f.state <> 'expired' returning {FILE_FIELDS}
"""

REVEAL = """
insert into file_grant (file_id, user_id, at) values ($1, $2, $3) on conflict do nothing
"""

# With the domain event of the end: file.ready, file.quarantined or file.refused. What the sender's
# device has said stays where nothing was measured.
FINISH = """
with done as (
    update file set state = $2, reason = $3, media = $4, sha256 = coalesce($5, sha256),
        content_mime = $6, width = coalesce($7, width), height = coalesce($8, height),
        duration_ms = coalesce($9, duration_ms), peaks = coalesce($10, peaks), band = $11,
        band_source = $12, renditions = $13, finished_at = $14, told_at = null
    where file_id = $1 and state = 'processing'
    returning file_id, thread_id, state, reason
), told as (
    insert into outbox (event, occurred_at, thread_id, data)
    select 'file.' || state, $14, thread_id,
        jsonb_strip_nulls(jsonb_build_object('file_id', file_id, 'reason', reason))
    from done
)
select 1 from done
"""

NOTE_STEPS = """
insert into file_step as s (file_id, step, outcome, detail, at)
select $1, u.step, u.outcome, u.detail, $5
from unnest($2::text[], $3::text[], $4::text[]) as u (step, outcome, detail)
on conflict (file_id, step) do update
    set outcome = excluded.outcome, detail = excluded.detail, at = excluded.at
"""

NOTE_TOLD = "update file set told_at = $2 where file_id = $1"

# The domain event is file.expired; an upload that was never completed has none.
EXPIRE = """
with before as (
    select file_id, state from file where file_id = $1 and deleted_at is null for update
), gone as (
    update file f set state = 'expired', renditions = '[]',
        finished_at = coalesce(f.finished_at, $2), deleted_at = $2,
        -- Those who see it are told. Nobody sees what was never sent.
        told_at = case when exists (select from file_use u where u.file_id = $1) then null
            else $2 end
    from before b where f.file_id = b.file_id
    returning f.file_id, f.thread_id, b.state as state_before
), told as (
    insert into outbox (event, occurred_at, thread_id, data)
    select 'file.expired', $2, thread_id, jsonb_build_object('file_id', file_id)
    from gone where state_before <> 'uploading'
)
select 1 from gone
"""

# Nobody changes them until the transaction ends; in one order, so that two do not block each other.
LOCK_MANY = f"""
select {FILE_FIELDS} from file f where f.file_id = any($1::text[]) order by f.file_id for share
"""

NOTE_PLACE = """
insert into file_use (file_id, place, at) select unnest($1::text[]), $2, $3 on conflict do nothing
"""

LOCK = f"select {FILE_FIELDS} from file f where f.file_id = $1 for update"

RELEASE = f"""
update file f set state = 'processing', reason = null, finished_at = null, told_at = null
where f.file_id = $1 returning {FILE_FIELDS}
"""

AUDIT = """
insert into file_audit (file_id, actor, role, act, reason, from_state, at)
values ($1, $2, $3, $4, $5, $6, $7)
"""

LIST_STATE = f"""
select {FILE_FIELDS} from file f
where f.state = $1 and ($2::text is null or f.file_id > $2)
order by f.file_id limit $3
"""

# Uploads that nobody has completed, and completed ones of the polling API that nobody has sent.
ABANDONED = f"""
select {FILE_FIELDS} from file f
where (f.state = 'uploading' or f.state = 'processing' and f.thread_id is null)
    and f.created_at < $1
order by f.created_at limit $2
"""

# There, between two ids, and shown nowhere.
UNSENT = f"""
select {FILE_FIELDS} from file f
where f.file_id > $1 and f.file_id < $2 and f.deleted_at is null
    and f.state in ('ready', 'quarantined', 'refused')
    and not exists (select from file_use u where u.file_id = f.file_id)
order by f.file_id limit $3
"""

# There, between two ids.
BETWEEN = f"""
select {FILE_FIELDS} from file f
where f.file_id > $1 and f.file_id < $2 and f.deleted_at is null
order by f.file_id limit $3
"""

UNTOLD = f"""
select {FILE_FIELDS} from file f
where f.told_at is null and f.finished_at < $1
order by f.finished_at limit $2
"""

# Files whose bytes are long gone: those that were never sent, and those that are older than every
# message that could show them.
FORGET = """
delete from file where file_id in (
    select f.file_id from file f
    where f.deleted_at < $1 and (f.file_id < $2
        or not exists (select from file_use u where u.file_id = f.file_id))
    order by f.deleted_at limit $3)
"""

OF_OWNER = f"""
select {FILE_FIELDS} from file f
where f.owner_user = $1 and f.file_id > $2 order by f.file_id limit $3
"""

# What an erased person wrote about a file, and what they looked at.
ERASE_TEXTS = """
update file set name = '', alt = null, sha256 = null, watermark = null
where owner_user = $1
"""
ERASE_GRANTS = "delete from file_grant where user_id = $1"
