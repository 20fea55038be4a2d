"""Writes the sample's people to the accounts, which are in PostgreSQL for every store."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from greenroom.demo.people import PEOPLE
from greenroom.platform.postgres.pool import Session

DAY_MS = 24 * 60 * 60 * 1000
MEMBER_DAYS = 400

PUT_PERSON = """
insert into app_user (user_id, display_name, avatar_url, roles, timezone, locale, verified,
                      age_verified, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, true, $7, $8, $8)
on conflict (user_id) do update set display_name = excluded.display_name,
    avatar_url = excluded.avatar_url, roles = excluded.roles, timezone = excluded.timezone,
    locale = excluded.locale, verified = true, age_verified = excluded.age_verified
"""
# The same people may exist already, if the sample was loaded into another store before.
PUT_GENERATED = """
insert into app_user (user_id, display_name, avatar_url, roles, timezone, verified, created_at,
                      updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (user_id) do nothing
"""
TOUCH_PERSON = "update app_user set updated_at = updated_at where user_id = $1"
COUNT_PEOPLE = "select count(*) from app_user"
NOT_GENERATED = """
select user_id from app_user where user_id !~ '^g[0-9]+-[0-9]{8,}$' order by user_id limit $1
"""


async def put_people(conn: Session, last_day: date) -> None:
    """Write the sample's own people. Existing ones get their name and picture back."""
    midnight = datetime(last_day.year, last_day.month, last_day.day, tzinfo=UTC)
    at_ms = int(midnight.timestamp()) * 1000 - MEMBER_DAYS * DAY_MS
    for place, person in enumerate(PEOPLE.values()):
        await conn.execute(
            PUT_PERSON,
            person.user_id,
            person.display_name,
            person.avatar_url,
            [person.role],
            person.timezone,
            person.locale,
            person.age_verified,
            at_ms + place * DAY_MS,
        )


async def put_crowd(conn: Session, people: Iterable[tuple[Any, ...]]) -> None:
    await conn.executemany(PUT_GENERATED, people)


async def wait_for_disk(conn: Session) -> None:
    """Wait until this and all earlier commits are on disk, also those that did not wait."""
    await conn.execute(TOUCH_PERSON, next(iter(PEOPLE)))


async def count_people(conn: Session) -> int:
    count: int = await conn.fetchval(COUNT_PEOPLE)
    return count


async def list_ungenerated(conn: Session, limit: int) -> list[str]:
    return [row["user_id"] for row in await conn.fetch(NOT_GENERATED, limit)]
