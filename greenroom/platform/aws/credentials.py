"""The credentials that sign requests.

botocore finds them as every AWS program does: environment, profile, container and instance roles,
web identity. It blocks, so it runs in a thread, and not for each request.
"""

import asyncio
import logging
from typing import Any

from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

from greenroom.kernel.clock import Clock, system_clock
from greenroom.platform.aws.signing import Keys

log = logging.getLogger(__name__)

REFRESH_MS = 60_000
"""How often botocore is asked for keys. It renews them from 15 minutes before their expiry."""


class AwsKeys:
    """The keys of a botocore session, resolved again every minute. Raises `error`, the service's
    own, when there are none."""

    def __init__(
        self, session: Any, error: type[Exception], *, clock: Clock = system_clock
    ) -> None:
        self._session = session
        self._error = error
        self._clock = clock
        self._credentials: Any = None
        self._keys: Keys | None = None
        self._refresh_at_ms = 0
        self._resolving = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    async def __call__(self) -> Keys:
        known = self._keys
        if known is None:
            return await self._resolve_first()
        if self._clock() >= self._refresh_at_ms:
            # Concurrent calls use the current keys meanwhile.
            self._refresh_at_ms = self._clock() + REFRESH_MS
            try:
                return await self._refresh()
            except Exception:
                log.warning("AWS credentials could not be renewed", exc_info=True)
        return known

    def now(self) -> Keys:
        if self._keys is None:
            self._keys = self._resolve()
            self._refresh_at_ms = self._clock() + REFRESH_MS
        elif self._clock() >= self._refresh_at_ms and self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._renew())
        return self._keys

    async def _renew(self) -> None:
        try:
            await self()
        finally:
            self._renewing = None

    async def _resolve_first(self) -> Keys:
        async with self._resolving:
            return self._keys or await self._refresh()

    async def _refresh(self) -> Keys:
        self._keys = await asyncio.to_thread(self._resolve)
        self._refresh_at_ms = self._clock() + REFRESH_MS
        return self._keys

    def _resolve(self) -> Keys:
        try:
            self._credentials = self._credentials or self._session.get_credentials()
            if self._credentials is None:
                raise self._error(
                    "No AWS credentials were found. Set AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role gives them."
                )
            frozen = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise self._error(
                f"The AWS credentials cannot be read: {error}. Correct them."
            ) from error
        return Keys(frozen.access_key, frozen.secret_key, frozen.token)
