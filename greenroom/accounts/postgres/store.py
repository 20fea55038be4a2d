"""Users, tickets and API keys in PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import asyncpg
import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from greenroom.accounts.model import (
    ApiKey,
    PreferenceChanges,
    Preferences,
    Ticket,
    User,
    UserChanges,
    ViewingChoices,
)
from greenroom.kernel.kept import reads_kept
from greenroom.platform.postgres.pool import unavailable_on_failure

# Sorted, so that two statements with the same new users lock them in the same order.
ENSURE_USERS = """
WITH made AS (
    INSERT INTO app_user (user_id, created_at, updated_at)
    SELECT came.user_id, $2, $2 FROM unnest($1::text[]) AS came (user_id)
    WHERE NOT EXISTS (SELECT FROM app_user WHERE app_user.user_id = came.user_id)
    ORDER BY came.user_id
    ON CONFLICT (user_id) DO NOTHING)
SELECT user_id FROM app_user WHERE user_id = ANY ($1) AND erased_at IS NOT NULL
"""

# $10 names the fields that the caller gave: null is a value for some of them, so it cannot also
# stand for "left out". xmax is 0 only in a row that this statement has inserted.
PUT_USER = """
INSERT INTO app_user AS kept
    (user_id, created_at, updated_at,
     display_name, avatar_url, roles, timezone, verified, age_verified, locale)
VALUES ($1, $2, $2,
        coalesce($3, ''), $4, coalesce($5::text[], '{}'), $6,
        coalesce($7, false), coalesce($8, false), $9)
ON CONFLICT (user_id) DO UPDATE SET
    display_name = CASE WHEN 'display_name' = ANY ($10::text[])
                        THEN excluded.display_name ELSE kept.display_name END,
    avatar_url   = CASE WHEN 'avatar_url' = ANY ($10)
                        THEN excluded.avatar_url ELSE kept.avatar_url END,
    roles        = CASE WHEN 'roles' = ANY ($10) THEN excluded.roles ELSE kept.roles END,
    timezone     = CASE WHEN 'timezone' = ANY ($10) THEN excluded.timezone ELSE kept.timezone END,
    verified     = CASE WHEN 'verified' = ANY ($10) THEN excluded.verified ELSE kept.verified END,
    age_verified = CASE WHEN 'age_verified' = ANY ($10)
                        THEN excluded.age_verified ELSE kept.age_verified END,
    locale       = CASE WHEN 'locale' = ANY ($10) THEN excluded.locale ELSE kept.locale END,
    updated_at   = greatest(kept.updated_at, excluded.updated_at)
WHERE kept.erased_at IS NULL
RETURNING *, xmax = 0 AS created
"""

FIND_USER = "SELECT * FROM app_user WHERE user_id = $1"

FIND_USERS = "SELECT * FROM app_user WHERE user_id = ANY ($1::text[])"

MISSING_USERS = """
SELECT DISTINCT asked.user_id COLLATE "C" AS user_id
FROM unnest($1::text[]) AS asked (user_id)
WHERE NOT EXISTS (
    SELECT FROM app_user WHERE app_user.user_id = asked.user_id AND erased_at IS NULL)
ORDER BY 1
"""

ERASE_USER = """
UPDATE app_user SET
    display_name = 'Deleted user', avatar_url = NULL, roles = '{}', timezone = NULL, locale = NULL,
    verified = false, age_verified = false, preferences = '{}',
    updated_at = greatest(updated_at, $2), erased_at = coalesce(erased_at, $2)
WHERE user_id = $1 RETURNING 1
"""

PREFERENCES = "SELECT preferences, age_verified FROM app_user WHERE user_id = $1"

CHANGE_PREFERENCES = """
UPDATE app_user SET preferences = preferences || $2::jsonb, updated_at = greatest(updated_at, $3)
WHERE user_id = $1 AND erased_at IS NULL RETURNING preferences
"""

ADD_TICKET = """
INSERT INTO ticket (hash, user_id, desk, token_expires_at, origin, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
"""

# Of several clients with the same ticket one deletes the row, and the others find none.
TAKE_TICKET = """
DELETE FROM ticket WHERE hash = $1
RETURNING user_id, desk AS operator_role, token_expires_at, origin, expires_at
"""

PRUNE_TICKETS = """
DELETE FROM ticket WHERE hash IN (SELECT hash FROM ticket WHERE expires_at < $1 LIMIT $2)
"""

ADD_KEY = """
INSERT INTO api_key (key_id, name, hash, created_at, scopes) VALUES ($1, $2, $3, $4, $5)
"""

FIND_KEY = "SELECT * FROM api_key WHERE key_id = $1"

# A key's id begins with its time, so the primary key's order is the order of creation.
LIST_KEYS = "SELECT * FROM api_key ORDER BY key_id DESC LIMIT $1"

REVOKE_KEY = """
UPDATE api_key SET revoked_at = coalesce(revoked_at, $2) WHERE key_id = $1 RETURNING *
"""

NOTE_KEY_USED = """
UPDATE api_key SET last_used_at = $2
WHERE key_id = $1 AND (last_used_at IS NULL OR last_used_at < $2)
"""


class PostgresAccountStore:
    """`AccountStore` on tables `app_user`, `api_key` and `ticket`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    @unavailable_on_failure()
    async def ensure_users(self, user_ids: Sequence[str], at: int) -> set[str]:
        rows = await self._pool.fetch(ENSURE_USERS, user_ids, at)
        return {row["user_id"] for row in rows}

    @unavailable_on_failure()
    async def put_user(
        self, user_id: str, changes: UserChanges, at: int
    ) -> tuple[User, bool] | None:
        given = {name: value for name, value in asdict(changes).items() if value is not UNSET}
        values = [given.get(name) for name in UserChanges.__struct_fields__]
        row = await self._pool.fetchrow(PUT_USER, user_id, at, *values, list(given))
        return (_user(row), row["created"]) if row else None

    @unavailable_on_failure()
    async def find_user(self, user_id: str) -> User | None:
        row = await self._pool.fetchrow(FIND_USER, user_id)
        return _user(row) if row else None

    @unavailable_on_failure()
    async def find_users(self, user_ids: Sequence[str]) -> list[User]:
        return [_user(row) for row in await self._pool.fetch(FIND_USERS, user_ids)]

    @unavailable_on_failure()
    async def missing_users(self, user_ids: Sequence[str]) -> list[str]:
        return [row["user_id"] for row in await self._pool.fetch(MISSING_USERS, user_ids)]

    @unavailable_on_failure()
    async def erase_user(self, user_id: str, at: int) -> bool:
        return await self._pool.fetchval(ERASE_USER, user_id, at) is not None

    @unavailable_on_failure()
    async def preferences(self, user_id: str) -> Preferences | None:
        row = await self._pool.fetchrow(PREFERENCES, user_id)
        return _preferences(row) if row else None

    @unavailable_on_failure()
    async def change_preferences(
        self, user_id: str, changes: PreferenceChanges, at: int
    ) -> Preferences | None:
        given = msgspec.json.encode(changes).decode()
        row = await self._pool.fetchrow(CHANGE_PREFERENCES, user_id, given, at)
        return _preferences(row) if row else None

    @unavailable_on_failure()
    async def viewing_choices(self, user_id: str) -> ViewingChoices | None:
        row = await self._pool.fetchrow(PREFERENCES, user_id)
        return ViewingChoices(_preferences(row).safe_mode, row["age_verified"]) if row else None

    @unavailable_on_failure()
    async def add_ticket(self, ticket: Ticket, digest: bytes) -> None:
        values = [getattr(ticket, name) for name in Ticket.__struct_fields__]
        await self._pool.execute(ADD_TICKET, digest, *values)

    @unavailable_on_failure()
    async def take_ticket(self, digest: bytes) -> Ticket | None:
        row = await self._pool.fetchrow(TAKE_TICKET, digest)
        return Ticket(**dict(row)) if row else None

    @unavailable_on_failure()
    async def prune_tickets(self, before: int, limit: int) -> int:
        done: str = await self._pool.execute(PRUNE_TICKETS, before, limit)
        return int(done.rpartition(" ")[2])

    @unavailable_on_failure()
    async def add_key(self, key: ApiKey, digest: bytes) -> None:
        await self._pool.execute(ADD_KEY, key.key_id, key.name, digest, key.created_at, key.scopes)

    @unavailable_on_failure()
    async def find_key(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        row = await self._pool.fetchrow(FIND_KEY, key_id)
        return (_key(row), row["hash"]) if row else None

    @unavailable_on_failure()
    async def list_keys(self, limit: int) -> list[ApiKey]:
        return [_key(row) for row in await self._pool.fetch(LIST_KEYS, limit)]

    @unavailable_on_failure()
    async def revoke_key(self, key_id: str, at: int) -> ApiKey | None:
        row = await self._pool.fetchrow(REVOKE_KEY, key_id, at)
        return _key(row) if row else None

    @unavailable_on_failure()
    async def note_key_used(self, key_id: str, at: int) -> None:
        await self._pool.execute(NOTE_KEY_USED, key_id, at)


def _user(row: Any) -> User:
    return User(**{name: row[name] for name in User.__struct_fields__})


@reads_kept
def _preferences(row: Any) -> Preferences:
    return msgspec.json.decode(row["preferences"], type=Preferences)


def _key(row: Any) -> ApiKey:
    fields = {name: row[name] for name in ApiKey.__struct_fields__}
    return ApiKey(**{**fields, "scopes": tuple(row["scopes"])})
