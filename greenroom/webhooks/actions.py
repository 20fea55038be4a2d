"""What the marketplace's backend does with its webhooks: add, change, rotate, test, replay."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from asyncpg import Pool
from yarl import URL

from greenroom.events.consumers import cursor_of, forget
from greenroom.events.log import EventLog
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ActionInvalidState, InvalidRequest, NotFound
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.egress import Egress, EgressRefusedError
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.kept_answers import KeyedTransactions
from greenroom.platform.postgres.pool import Session, unavailable_on_failure
from greenroom.webhooks import sql
from greenroom.webhooks.catalogue import EVENT_TYPES
from greenroom.webhooks.model import ALL, HOUR_MS, STATES, TEST_EVENT, Delivery, Webhook
from greenroom.webhooks.signing import Sealer, new_secret, secret_text

T = TypeVar("T")

LAST_DELIVERY = 2**63 - 1
NO_SUCH = "There is no such webhook."


@dataclass(frozen=True, slots=True)
class Changes:
    """None leaves a field as it is."""

    url: str | None = None
    events: Sequence[str] | None = None
    include_content: bool | None = None
    description: str | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """`next_since_ms`: from when the rest is to be replayed, if this was not all."""

    events: int
    next_since_ms: int | None


class Webhooks:
    def __init__(
        self,
        pool: Pool,
        log: EventLog,
        sealer: Sealer,
        egress: Egress,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        wake: Callable[[], None],
    ) -> None:
        """`wake` tells the senders of every process that something is due."""
        self.transactions = KeyedTransactions(pool, clock=clock)
        self._pool = pool
        self._log = log
        self._sealer = sealer
        self._egress = egress
        self._clock = clock
        self._randomness = randomness
        self._limits = limits
        self._wake = wake

    async def add(
        self,
        url: str,
        events: Sequence[str],
        *,
        include_content: bool,
        description: str,
        once: Once | None = None,
    ) -> Webhook | Kept:
        """It gets what happens from now on."""
        self._check(Changes(url, events, include_content, description))
        now_ms = self._clock()
        webhook_id = make_id("whk", now_ms, self._randomness())
        sealed = self._sealer.seal(webhook_id, new_secret())
        start = await self._log.head()

        async def work(conn: Session) -> Webhook:
            if await conn.fetchval(sql.COUNT) >= self._limits.webhooks:
                raise ActionInvalidState(
                    f"There are {self._limits.webhooks} webhooks already.",
                    hint="Remove one with DELETE /v1/webhooks/{id}.",
                )
            kept = (url, sorted(set(events)), include_content, description, sealed)
            [row] = await conn.fetch(sql.ADD, webhook_id, *kept, now_ms)
            await cursor_of(conn, webhook_id, start=start)
            return sql.webhook_from(row)

        return await self.transactions.run(work, once)

    def _check(self, given: Changes) -> None:
        if given.url is not None:
            self._check_url(given.url)
        if given.events is not None:
            unknown = sorted(set(given.events) - {ALL, *EVENT_TYPES})
            if unknown or not given.events:
                detail = f"There is no event {unknown[0][:80]!r}." if unknown else "No events."
                raise InvalidRequest(detail, hint='docs/events.md lists them; ["*"] means all.')
        if len(given.description or "") > self._limits.webhook_description_characters:
            raise InvalidRequest("The description is too long.")

    def _check_url(self, url: str) -> None:
        most = self._limits.webhook_url_characters
        if not url.isascii() or not url.isprintable() or " " in url or len(url) > most:
            raise InvalidRequest(f"`url` has at most {most} ASCII characters and no spaces.")
        try:
            self._egress.check_url(URL(url))
        except EgressRefusedError as refusal:
            raise InvalidRequest(f"`url` cannot be used: {refusal}.") from None
        except ValueError:
            raise InvalidRequest("`url` is not an address.") from None

    @unavailable_on_failure()
    async def list_all(self) -> list[Webhook]:
        rows = await self._pool.fetch(sql.LIST, self._limits.webhooks)
        return [sql.webhook_from(row) for row in rows]

    @unavailable_on_failure()
    async def access(self, webhook_id: str) -> Webhook:
        row = await self._pool.fetchrow(sql.FIND, webhook_id)
        if row is None:
            raise NotFound(NO_SUCH)
        return sql.webhook_from(row)

    async def change(self, webhook_id: str, changes: Changes) -> Webhook:
        """Enabling goes on where the webhook stopped: first what waits, then the events since."""
        self._check(changes)
        given = (changes.url, changes.events and sorted(set(changes.events)))
        more = (changes.include_content, changes.description)

        async def work(conn: Session) -> Webhook:
            row = await conn.fetchrow(sql.CHANGE, webhook_id, *given, *more)
            if row is None:
                raise NotFound(NO_SUCH)
            if changes.enabled is True:
                row = await conn.fetchrow(sql.ENABLE, webhook_id, self._clock()) or row
            elif changes.enabled is False:
                row = await conn.fetchrow(sql.DISABLE, webhook_id, self._clock(), "manual") or row
            return sql.webhook_from(row)

        changed = await self._run(work)
        self._wake()
        return changed

    async def remove(self, webhook_id: str) -> None:
        """With everything that waits for it and the list of its deliveries."""

        async def work(conn: Session) -> None:
            if await conn.fetchval(sql.REMOVE, webhook_id) is None:
                raise NotFound(NO_SUCH)
            await forget(conn, webhook_id)

        await self._run(work)

    async def rotate(self, webhook_id: str, once: Once | None = None) -> Webhook | Kept:
        sealed = self._sealer.seal(webhook_id, new_secret())
        until_ms = self._clock() + self._limits.webhook_overlap_hours * HOUR_MS

        async def work(conn: Session) -> Webhook:
            row = await conn.fetchrow(sql.ROTATE, webhook_id, sealed, until_ms)
            if row is None:
                raise NotFound(NO_SUCH)
            return sql.webhook_from(row)

        return await self.transactions.run(work, once)

    @unavailable_on_failure()
    async def reveal(self, webhook_id: str, version: int) -> str | None:
        """The secret for the answer of the call that has made it; None when it has been replaced.
        The answer that is kept for repeats has no secret in it."""
        sealed = await self._pool.fetchval(sql.SEALED, webhook_id, version)
        return None if sealed is None else secret_text(self._sealer.unseal(webhook_id, sealed))

    async def test(self, webhook_id: str, once: Once | None = None) -> Delivery | Kept:
        """Queues an event that only this webhook gets."""
        now_ms = self._clock()
        event_id = make_id("evt", now_ms, self._randomness())

        async def work(conn: Session) -> Delivery:
            await _lock_enabled(conn, webhook_id)
            [row] = await conn.fetch(sql.TEST, webhook_id, event_id, TEST_EVENT, now_ms)
            return sql.delivery_from(row)

        return await self._woken(work, once)

    async def replay_event(
        self, webhook_id: str, event_id: str, once: Once | None = None
    ) -> Replay | Kept:
        async def work(conn: Session) -> Replay:
            await _lock_enabled(conn, webhook_id)
            count = await conn.fetchval(sql.REPLAY_ONE, webhook_id, event_id, self._clock())
            if not count:
                raise NotFound("There is no such event, or it is no longer kept.")
            return Replay(count, None)

        return await self._woken(work, once)

    async def replay_span(
        self, webhook_id: str, from_ms: int, to_ms: int | None, once: Once | None = None
    ) -> Replay | Kept:
        """What was logged in that time and the webhook takes, in order, behind what waits."""
        after = await self._log.position_at(from_ms)
        to = await (self._log.head() if to_ms is None else self._log.position_at(to_ms))
        most = self._limits.webhook_replay_events

        async def work(conn: Session) -> Replay:
            webhook = await _lock_enabled(conn, webhook_id)
            taken = (webhook.takes_all, list(webhook.events))
            found = (webhook_id, after, to, *taken, self._clock(), most)
            [row] = await conn.fetch(sql.REPLAY, *found)
            if row["seen"] < most:
                return Replay(row["queued"], None)
            return Replay(row["queued"], await conn.fetchval(sql.LOGGED_AFTER, row["last"], to))

        return await self._woken(work, once)

    @unavailable_on_failure()
    async def deliveries(
        self, webhook_id: str, state: str | None, before: int | None, limit: int
    ) -> list[Delivery]:
        """The newest first."""
        states = STATES if state is None else (state,)
        last = LAST_DELIVERY if before is None else before
        rows = await self._pool.fetch(sql.DELIVERIES, webhook_id, states, last, limit)
        if not rows:
            raise NotFound(NO_SUCH)
        return [sql.delivery_from(row) for row in rows if row["delivery_id"] is not None]

    @unavailable_on_failure()
    async def delivery(self, delivery_id: int) -> Delivery | None:
        row = await self._pool.fetchrow(sql.DELIVERY, delivery_id)
        return None if row is None else sql.delivery_from(row)

    async def _woken(self, work: Callable[[Session], Awaitable[T]], once: Once | None) -> T | Kept:
        outcome = await self.transactions.run(work, once)
        self._wake()
        return outcome

    async def _run(self, work: Callable[[Session], Awaitable[T]]) -> T:
        outcome = await self.transactions.run(work, None)
        assert not isinstance(outcome, Kept)  # noqa: S101 (only a key keeps answers)
        return outcome


async def _lock_enabled(conn: Session, webhook_id: str) -> Webhook:
    """Also keeps the dispatcher away, so that two batches do not mix."""
    row = await conn.fetchrow(sql.LOCK, webhook_id)
    if row is None:
        raise NotFound(NO_SUCH)
    webhook = sql.webhook_from(row)
    if webhook.disabled_at_ms is not None:
        raise ActionInvalidState(
            "The webhook is disabled.", hint='Enable it with PATCH {"enabled": true} first.'
        )
    return webhook
