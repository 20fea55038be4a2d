"""Calendars: a leg as a file for its parties, and a person's private address for all of theirs."""

import hashlib

from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.calendar import write_calendar
from greenroom.bookings.deeds import Deed, Deeds
from greenroom.kernel.errors import NotFound
from greenroom.platform.postgres import unavailable_on_failure

SUFFIX = ".ics"
PAST_DAYS = 90
AHEAD_DAYS = 400
MOST_LEGS = 500

_DAY_MS = 86_400_000

SET_FEED = """
insert into calendar_feed (user_id, secret_hash, created_at) values ($1, $2, $3)
on conflict (user_id) do update set secret_hash = excluded.secret_hash,
    created_at = excluded.created_at
"""
WHOSE_FEED = "select user_id from calendar_feed where secret_hash = $1"


class Calendars:
    def __init__(self, deeds: Deeds, public_url: str) -> None:
        self._deeds = deeds
        self._public_url = public_url.rstrip("/")

    @unavailable_on_failure()
    async def leg_file(self, viewer: str | None, leg_file: str) -> bytes:
        """For the parties of its booking, once it is confirmed. Raises NotFound."""
        row = await self._deeds.pool.fetchrow(sql.SHOWN_LEG, _stem(leg_file), viewer)
        if row is None:
            raise NotFound
        return write_calendar([sql.read_leg(row)])

    async def new_address(self, user_id: str) -> str:
        """A secret address of all their bookings. The one before ends with it."""

        async def work(deed: Deed) -> str:
            secret = deed.randomness() + deed.randomness()
            await deed.conn.execute(SET_FEED, user_id, _digest(secret), deed.now_ms)
            return f"{self._public_url}/v1/calendar/{secret}{SUFFIX}"

        return str(await self._deeds.do(work))

    @unavailable_on_failure()
    async def feed(self, secret_file: str) -> bytes:
        """Of whoever the secret belongs to. Raises NotFound."""
        now_ms = self._deeds.clock()
        async with self._deeds.pool.acquire() as conn:
            user_id = await conn.fetchval(WHOSE_FEED, _digest(_stem(secret_file)))
            if user_id is None:
                raise NotFound
            window = now_ms - PAST_DAYS * _DAY_MS, now_ms + AHEAD_DAYS * _DAY_MS
            rows = await conn.fetch(sql.SHOWN_LEGS, user_id, *window, MOST_LEGS)
        return write_calendar([sql.read_leg(row) for row in rows])


def _stem(file_name: str) -> str:
    if not file_name.endswith(SUFFIX):
        raise NotFound
    return file_name.removesuffix(SUFFIX)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
