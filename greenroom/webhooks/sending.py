"""Senders post what is due.

A sender takes lanes: the first delivery of each is posted, and nobody else posts of that lane until
the outcome is written down or the hold has run out. So the events of a thread arrive in order, and
one that fails holds back nothing but its own thread. A process that dies leaves its lanes to the
others, who post again what it may have posted: at least once, under the same id.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import random as system_random
from typing import Any, Protocol

import msgspec
from asyncpg import Pool, Record

from greenroom.events.log import read_event
from greenroom.events.model import LoggedEvent
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.batching import Batching
from greenroom.platform.http_client import HttpError, Reply
from greenroom.platform.metrics import BACKGROUND_FAILURES
from greenroom.platform.postgres.pool import PASSING_FAILURES, unavailable_on_failure
from greenroom.webhooks import sql
from greenroom.webhooks.body import body_of
from greenroom.webhooks.model import TEST_EVENT, Attempt, judge, next_attempt_ms
from greenroom.webhooks.outcomes import Outcome, Outcomes
from greenroom.webhooks.signing import Sealer, SealError, sign

POLL_S = 5.0
HELD_MARGIN_S = 4.0
"""A lane is held for the time of a request and this much more. A request is begun only while half
of it is left, so that it ends before somebody else may take the lane."""
AHEAD = 4
"""Lanes are taken for so many times the posts at a time, so that their data is read together and
while others are posted."""
PUT_BACK_MS = 2_000

log = logging.getLogger(__name__)


class FillsData(Protocol):
    async def fill(
        self, events: Sequence[LoggedEvent], *, include_content: bool
    ) -> list[dict[str, Any]]:
        """What each event is about, as it is now."""
        ...


class Posts(Protocol):
    """The HTTP client: raises HttpError when there is no answer."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float,
        limit_bytes: int,
    ) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that this process may post until `until_s` of its monotonic clock."""

    webhook_id: str
    lane: str
    version: int
    url: str
    include_content: bool
    sealed: tuple[bytes, ...]
    since_ms: int
    was_failing: bool
    delivery_id: int
    event_id: str
    type: str
    attempts: int
    event: LoggedEvent | None
    """None: the log no longer has it."""
    until_s: float

    @property
    def is_test(self) -> bool:
        return self.type == TEST_EVENT


class Sender:
    def __init__(
        self,
        pool: Pool,
        data: FillsData,
        client: Posts,
        sealer: Sealer,
        *,
        clock: Clock,
        limits: Limits,
        chance: Callable[[], float] = system_random,
        margin_s: float = HELD_MARGIN_S,
        agent: str = "greenroom",
    ) -> None:
        self._pool = pool
        self._data = data
        self._client = client
        self._sealer = sealer
        self._clock = clock
        self._limits = limits
        self._chance = chance
        self._margin_s = margin_s
        self._agent = agent
        self._busy: Counter[str] = Counter()
        self._turns = asyncio.Semaphore(limits.webhook_posts)
        self._turns_at: dict[str, asyncio.Semaphore] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._outcomes = Outcomes(pool, clock=clock, limits=limits)
        self._writing = Batching(
            self._outcomes.write,
            writers=1,
            batch_limit=limits.webhook_posts,
            queue_limit=AHEAD * limits.webhook_posts,
        )

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Post what is due until `stop`, then wait for what is on its way."""
        while not self._stopping:
            self._wake.clear()
            pause_s = POLL_S
            try:
                if not await self.begin():
                    pause_s = await self._until_next_s()
            except (Unavailable, *PASSING_FAILURES):
                log.warning("webhooks cannot reach the database; they will try again")
            except Exception:
                BACKGROUND_FAILURES.labels("webhooks").inc()
                log.exception("webhooks cannot be sent; they will try again")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause_s)
        if self._running:
            await asyncio.wait(self._running)

    async def drain(self) -> int:
        """Post everything that is due at the clock's time; returns how many attempts it took."""
        total = 0
        while True:
            self._wake.clear()
            begun = await self.begin()
            total += begun
            if not begun and not self._busy and not self._wake.is_set():
                return total
            await self._wake.wait()

    async def begin(self) -> int:
        """Begin to post as much as there is room for; returns how many."""
        due = await self._take()
        for each in due:
            self._busy[each.webhook_id] += 1
        if due:
            task = asyncio.create_task(self._post_all(due))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return len(due)

    @unavailable_on_failure()
    async def _take(self) -> list[Due]:
        free = AHEAD * self._limits.webhook_posts - self._busy.total()
        if free <= 0 or self._stopping:
            return []
        hold_s = self._limits.webhook_timeout_s + self._margin_s
        taken_s = time.monotonic()
        now_ms = self._clock()
        busy = (list(self._busy.keys()), list(self._busy.values()))
        most = (AHEAD * self._limits.webhook_posts_each, free)
        lanes = await self._pool.fetch(sql.TAKE, *busy, now_ms, *most, hold_s)
        if not lanes:
            return []
        columns = ([row[name] for row in lanes] for name in ("webhook_id", "lane", "version"))
        rows = await self._pool.fetch(sql.HEADS, *columns, now_ms)
        return [_due(row, taken_s + self._margin_s / 2) for row in rows]

    async def _until_next_s(self) -> float:
        """Until a lane is due again, or another look in any case. The end of a post wakes the
        loop."""
        if self._busy:
            return POLL_S
        async with unavailable_on_failure():
            due_ms = await self._pool.fetchval(sql.NEXT_DUE, self._clock())
        return POLL_S if due_ms is None else min(POLL_S, (due_ms - self._clock()) / 1000)

    async def _post_all(self, due: Sequence[Due]) -> None:
        try:
            filled = await self._fill(due)
        except (Unavailable, *PASSING_FAILURES):
            # No fault of the receivers'.
            with suppress(Unavailable, *PASSING_FAILURES):
                await self._put_back(due)
            self._free(due)
            return
        posts = [self._post(*pair) for pair in zip(due, filled, strict=True)]
        await asyncio.gather(*posts)

    async def _fill(self, due: Sequence[Due]) -> list[dict[str, Any] | Exception]:
        """The data of each, read together; what fails together is read alone."""
        try:
            return list(await self._fill_together(due))
        except (Unavailable, *PASSING_FAILURES):
            raise
        except Exception as failure:
            if len(due) == 1:
                log.exception("an event has no data", extra={"subject": due[0].event_id})
                return [failure]
        return [each for one in due for each in await self._fill([one])]

    async def _fill_together(self, due: Sequence[Due]) -> list[dict[str, Any]]:
        filled: dict[int, dict[str, Any]] = {}
        for include_content in (False, True):
            asked = [
                (each.delivery_id, each.event)
                for each in due
                if each.event and not each.is_test and each.include_content == include_content
            ]
            if asked:
                events = [event for _, event in asked]
                datas = await self._data.fill(events, include_content=include_content)
                filled |= {n: data for (n, _), data in zip(asked, datas, strict=True)}
        return [filled.get(each.delivery_id, {"webhook_id": each.webhook_id}) for each in due]

    async def _post(self, due: Due, data: dict[str, Any] | Exception) -> None:
        try:
            made = await self._in_turn(due, data)
            if made is None:
                await self._put_back([due])
            else:
                await self._writing.submit(self._outcome(due, *made))
        except (Unavailable, *PASSING_FAILURES):
            log.warning("the outcome of a webhook could not be written down; it is posted again")
        except Exception:
            BACKGROUND_FAILURES.labels("webhooks").inc()
            log.exception("a webhook could not be posted; it will be later")
        finally:
            self._free([due])

    async def _in_turn(
        self, due: Due, data: dict[str, Any] | Exception
    ) -> tuple[Attempt, int] | None:
        """The attempt and its milliseconds; None when its turn came too late."""
        turns = self._turns_at.setdefault(
            due.webhook_id, asyncio.Semaphore(self._limits.webhook_posts_each)
        )
        async with turns, self._turns:
            started_s = time.monotonic()
            if started_s > due.until_s or self._stopping:
                return None
            attempt = await self._attempt(due, data)
            return attempt, int((time.monotonic() - started_s) * 1000)

    async def _attempt(self, due: Due, data: dict[str, Any] | Exception) -> Attempt:
        if due.event is None:
            return Attempt(None, "the event is no longer kept", was_made=False)
        if isinstance(data, Exception):
            return Attempt(None, "the data of the event could not be read", was_made=False)
        try:
            keys = [self._sealer.unseal(due.webhook_id, each) for each in due.sealed]
        except SealError as error:
            return Attempt(None, str(error), was_made=False)
        body = msgspec.json.encode(body_of(due.event, data))
        at_s = self._clock() // 1000
        headers = {
            "content-type": "application/json",
            "user-agent": self._agent,
            "webhook-id": due.event_id,
            "webhook-timestamp": str(at_s),
            "webhook-signature": sign(keys, due.event_id, at_s, body),
        }
        try:
            reply = await self._client.send(
                "POST",
                due.url,
                headers=headers,
                body=body,
                timeout_s=self._limits.webhook_timeout_s,
                limit_bytes=self._limits.webhook_answer_bytes,
            )
        except HttpError as error:
            return Attempt(None, str(error))
        return judge(reply.status, reply.body, reply.headers.get("retry-after", ""))

    def _outcome(self, due: Due, attempt: Attempt, duration_ms: int) -> Outcome:
        now_ms = self._clock()
        next_ms = None
        if not attempt.is_success and due.event is not None and not due.is_test:
            next_ms = next_attempt_ms(
                now_ms=now_ms,
                since_ms=due.since_ms,
                attempts=due.attempts + 1,
                chance=self._chance(),
                retry_hours=self._limits.webhook_retry_hours,
                wait_ms=attempt.wait_ms,
            )
        return Outcome(
            webhook_id=due.webhook_id,
            lane=due.lane,
            version=due.version,
            delivery_id=due.delivery_id,
            event_id=due.event_id,
            type=due.type,
            attempt=attempt,
            tried_at_ms=now_ms,
            duration_ms=duration_ms,
            next_at_ms=next_ms,
            was_failing=due.was_failing,
        )

    def _free(self, due: Sequence[Due]) -> None:
        for each in due:
            self._busy[each.webhook_id] -= 1
            # Before that, no more would be taken.
            if 2 * self._busy[each.webhook_id] <= AHEAD * self._limits.webhook_posts_each:
                self._wake.set()
            if not self._busy[each.webhook_id]:
                del self._busy[each.webhook_id]
                self._turns_at.pop(each.webhook_id, None)

    @unavailable_on_failure()
    async def _put_back(self, due: Sequence[Due]) -> None:
        at_ms = self._clock() + PUT_BACK_MS
        lanes = ([each.webhook_id for each in due], [each.lane for each in due])
        await self._pool.execute(sql.PUT_BACK, *lanes, [each.version for each in due], at_ms)


def _due(row: Record, until_s: float) -> Due:
    sealed = (row["secret"], row["previous_secret"])
    return Due(
        webhook_id=row["webhook_id"],
        lane=row["lane"],
        version=row["version"],
        url=row["url"],
        include_content=row["include_content"],
        sealed=tuple(each for each in sealed if each is not None),
        since_ms=row["since"],
        was_failing=row["failing_since"] is not None,
        delivery_id=row["delivery_id"],
        event_id=row["delivered_id"],
        type=row["delivered_type"],
        attempts=row["attempts"],
        event=_event(row),
        until_s=until_s,
    )


def _event(row: Record) -> LoggedEvent | None:
    if row["event_id"] is not None:
        return read_event(row)
    if row["delivered_type"] != TEST_EVENT:
        return None
    return LoggedEvent(
        position=0,
        event_id=row["delivered_id"],
        type=TEST_EVENT,
        at_ms=row["queued_at"],
        actor=None,
        thread_id=None,
        thread_number=None,
        message_id=None,
        group_id=None,
        leg_id=None,
        card_id=None,
        money=None,
        data=None,
    )
