"""Payments that the payer has to confirm with their bank, such as by 3-D Secure."""

from asyncpg import Pool

from greenroom.bookings.money.provider import (
    Confirmation,
    ConfirmsPayments,
    ProviderUnavailable,
)
from greenroom.kernel.errors import NotFound, Unavailable
from greenroom.platform.postgres.pool import unavailable_on_failure

WAITING = """
select provider_id from payment
where payment_id = $1 and ($2::text is null or account = $2) and state = 'queued' and needs_payer
"""


class Confirmations:
    def __init__(self, pool: Pool, provider: ConfirmsPayments | None) -> None:
        self.provider = provider
        self._pool = pool

    async def access(self, payer: str | None, payment_id: str) -> Confirmation:
        """For the payer, and for the backend (None). It is asked of the provider each time and
        stored nowhere. Raises NotFound if there is nothing to confirm."""
        async with unavailable_on_failure():
            provider_id = await self._pool.fetchval(WAITING, payment_id, payer)
        if provider_id is None or self.provider is None:
            raise NotFound
        try:
            found = await self.provider.confirmation(provider_id)
        except ProviderUnavailable as error:
            raise Unavailable(str(error)) from error
        if found is None:
            raise NotFound
        return found
