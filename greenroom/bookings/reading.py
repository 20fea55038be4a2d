"""Bookings as they are read: for one who has a part in them, or for the backend."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from asyncpg import Pool

from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.model import Balance, Deposit, Group
from greenroom.bookings.money import balances_of
from greenroom.kernel.errors import NotFound
from greenroom.platform.postgres import unavailable_on_failure

DEPOSITS = """
select deposit_id, leg_id, amount_cents, captured_cents, currency, state, payment_id
from deposit where leg_id = any($1::text[])
"""


@dataclass(frozen=True, slots=True)
class Booking:
    """A group with what is known of its money, by leg."""

    group: Group
    deposits: Mapping[str, Deposit] = field(default_factory=dict)
    balances: Mapping[str, Balance] = field(default_factory=dict)


@unavailable_on_failure()
async def access_booking(pool: Pool, viewer: str | None, group_id: str) -> Booking:
    """For its buyer, its sellers, and the backend (None). Raises NotFound."""
    async with pool.acquire() as conn:
        row = await conn.fetchrow(sql.GROUP_FOR, group_id, viewer)
        if row is None:
            raise NotFound
        group = sql.read_group(row, await conn.fetch(sql.LEGS, group_id))
        leg_ids = [leg.leg_id for leg in group.legs]
        rows = await conn.fetch(DEPOSITS, leg_ids)
        deposits = {row["leg_id"]: Deposit(**row) for row in rows}
        return Booking(group, deposits, await balances_of(conn, leg_ids))
