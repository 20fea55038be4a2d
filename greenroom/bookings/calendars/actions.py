"""Calendar files: one leg for its parties, and all legs of a person under a secret address."""

import hashlib

from greenroom.bookings import sql
from greenroom.bookings.calendars.ics import write_calendar
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions
from greenroom.kernel.errors import NotFound
from greenroom.platform.postgres.pool import unavailable_on_failure

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
    def __init__(self, transactions: ContractTransactions, public_url: str) -> None:
        self._transactions = transactions
        self._public_url = public_url.rstrip("/")

    @unavailable_on_failure()
    async def leg_file(self, viewer: str | None, leg_file: str) -> bytes:
        """A leg's calendar file. Raises NotFound unless the leg was confirmed and the viewer is a
        party of the booking or the backend (None)."""
        row = await self._transactions.pool.fetchrow(sql.SHOWN_LEG, _stem(leg_file), viewer)
        if row is None:
            raise NotFound
        return write_calendar([sql.read_leg(row)])

    async def new_address(self, user_id: str) -> str:
        """Create a secret address of a person's bookings. Their previous address stops working."""

        async def work(tx: ContractTransaction) -> str:
            secret = tx.randomness() + tx.randomness()
            await tx.conn.execute(SET_FEED, user_id, _digest(secret), tx.now_ms)
            return f"{self._public_url}/v1/calendar/{secret}{SUFFIX}"

        return str(await self._transactions.run(work))

    async def feed(self, secret_file: str) -> bytes:
        """The calendar of the person whose secret this is. Raises NotFound."""
        async with self._transactions.snapshot() as snapshot:
            user_id = await snapshot.conn.fetchval(WHOSE_FEED, _digest(_stem(secret_file)))
            if user_id is None:
                raise NotFound
            window = snapshot.now_ms - PAST_DAYS * _DAY_MS, snapshot.now_ms + AHEAD_DAYS * _DAY_MS
            rows = await snapshot.conn.fetch(sql.SHOWN_LEGS, user_id, *window, MOST_LEGS)
        return write_calendar([sql.read_leg(row) for row in rows])


def _stem(file_name: str) -> str:
    if not file_name.endswith(SUFFIX):
        raise NotFound
    return file_name.removesuffix(SUFFIX)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
