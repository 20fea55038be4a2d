"""How the payment provider knows people. The marketplace's backend gives the references; they are
opaque to us and are shown to nobody else."""

import re
from collections.abc import Awaitable, Callable, Sequence

from asyncpg import Pool
from msgspec import UNSET, Struct, UnsetType

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import InvalidRequest, NotFound, UserNotFound
from greenroom.platform.postgres.pool import unavailable_on_failure

REFERENCE = re.compile(r"[A-Za-z0-9_.:-]{1,255}")

Missing = Callable[[Sequence[str]], Awaitable[Sequence[str]]]
"""Returns those of the given user ids that are not registered."""

# $6 names the fields that the caller gave: null clears a field, and one that is left out stays.
PUT = """
insert into payment_account as kept (user_id, customer, payment_method, payee, updated_at)
values ($1, $2, $3, $4, $5)
on conflict (user_id) do update set
    customer = case when 'customer' = any($6::text[]) then excluded.customer
                    else kept.customer end,
    payment_method = case when 'payment_method' = any($6) then excluded.payment_method
                          else kept.payment_method end,
    payee = case when 'payee' = any($6) then excluded.payee else kept.payee end,
    updated_at = excluded.updated_at
returning *
"""
FIND = "select * from payment_account where user_id = $1"


class PaymentAccount(Struct, frozen=True):
    user_id: str
    customer: str | None
    payment_method: str | None
    payee: str | None
    updated_at: int


class PaymentAccountChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """A field that is left out keeps its value, null clears it. With Stripe: `customer` is `cus_…`
    and `payment_method` is `pm_…`, both for who pays; `payee` is the connected account `acct_…` of
    who is paid."""

    customer: str | UnsetType | None = UNSET
    payment_method: str | UnsetType | None = UNSET
    payee: str | UnsetType | None = UNSET


class PaymentAccounts:
    def __init__(self, pool: Pool, missing: Missing, *, clock: Clock) -> None:
        self._pool = pool
        self._missing = missing
        self._clock = clock

    async def put(self, user_id: str, changes: PaymentAccountChanges) -> PaymentAccount:
        """Payments that were sent to the provider already keep the references they had."""
        given = {
            name: getattr(changes, name)
            for name in PaymentAccountChanges.__struct_fields__
            if getattr(changes, name) is not UNSET
        }
        for name, value in given.items():
            if value is not None and not REFERENCE.fullmatch(value):
                raise InvalidRequest(f"{name} takes 1 to 255 characters of A-Z a-z 0-9 _ . : -")
        if await self._missing([user_id]):
            raise UserNotFound
        values = [given.get(name) for name in PaymentAccountChanges.__struct_fields__]
        async with unavailable_on_failure():
            [row] = await self._pool.fetch(PUT, user_id, *values, self._clock(), list(given))
        return PaymentAccount(**row)

    async def access(self, user_id: str) -> PaymentAccount:
        async with unavailable_on_failure():
            row = await self._pool.fetchrow(FIND, user_id)
        if row is None:
            raise NotFound
        return PaymentAccount(**row)
