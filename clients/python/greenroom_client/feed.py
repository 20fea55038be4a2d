"""Keeps one transport running, the best that works, and comes back when it ends."""

import asyncio
import logging
from collections.abc import Mapping

from greenroom_client.activity import Activity
from greenroom_client.backoff import Backoff, RetryBudget
from greenroom_client.calls import Calls
from greenroom_client.choice import Choice, Kind
from greenroom_client.endings import TOKEN_ENDED, Return, is_away_after, return_after
from greenroom_client.errors import (
    BrokenOffError,
    ClosedError,
    GreenroomError,
    NotOpenedError,
    Problem,
    UnreachableError,
)
from greenroom_client.handover import Handover, Intake
from greenroom_client.limits import ClientLimits
from greenroom_client.link import Link
from greenroom_client.timing import Signal, Timing, end
from greenroom_client.tokens import Token, Tokens
from greenroom_client.transport import BROKE_OFF, Line, StreamEndedError, Transport
from greenroom_client.trial import opens

log = logging.getLogger("greenroom_client")


class Feed:
    """`transport` and `line` are those that are open just now."""

    def __init__(
        self,
        transports: Mapping[Kind, Transport],
        choice: Choice,
        handover: Handover,
        link: Link,
        activity: Activity,
        budget: RetryBudget,
        tokens: Tokens,
        calls: Calls,
        timing: Timing,
        limits: ClientLimits,
    ) -> None:
        self._transports = transports
        self._choice = choice
        self._handover = handover
        self._link = link
        self._activity = activity
        self._budget = budget
        self._tokens = tokens
        self._calls = calls
        self._timing = timing
        self._limits = limits
        self._backoff = Backoff(timing, limits)
        self._not_before_s = timing.now_s()
        self._runner: asyncio.Task[None] | None = None
        self._session: asyncio.Task[None] | None = None
        self._intake: Intake | None = None
        self._companions: list[asyncio.Task[None]] = []
        self._serving: Kind = choice.kind
        self._opened_s: float | None = None
        self._doubted: Kind | None = None
        self._is_displaced = False
        self._touches = 0
        self._refusals = self._unavailable = 0
        self._switches = self._switches_served = self._switches_opened = 0
        self.changed = Signal()
        self.transport: Kind | None = None
        self.line: Line | None = None
        self.failure: Exception | None = None

    def start(self) -> None:
        if self._runner is None:
            self._runner = asyncio.create_task(self._run())

    @property
    def is_started(self) -> bool:
        return self._runner is not None

    async def stop(self) -> None:
        self._fail(ClosedError("the client is closed"))
        if self._runner is not None:
            await end(self._runner)

    async def use(self, kind: Kind | None) -> None:
        """Switch to `kind`, None for the best; returns when that is open."""
        self._choice.force(kind)
        self._switches += 1
        switch = self._switches
        self._activity.touch()
        self.start()
        self.interrupt()
        self._handover.changed.fire()
        await self.changed.wait_for(lambda: self._switches_opened >= switch or bool(self.failure))
        if self.failure is not None:
            raise self.failure

    def interrupt(self) -> None:
        """End what runs, and begin anew from the position."""
        if self._session is not None:
            self._session.cancel()

    async def _run(self) -> None:
        try:
            while True:
                await self._until_wanted()
                self._link.lead(is_leading=True)
                await self._until_due()
                if self._is_wanted():
                    await self._attempt()
        except Exception as error:  # noqa: BLE001 (the application gets it from `events`)
            self._fail(error)
        finally:
            self._link.lead(is_leading=False)

    def _fail(self, failure: Exception) -> None:
        if self.failure is None:
            self.failure = failure
            self._handover.fail(failure)
            self.changed.fire()

    def _is_wanted(self) -> bool:
        if self._is_displaced and self._activity.touches > self._touches:
            self._is_displaced = False
        return not self._activity.is_closed and not self._is_displaced

    async def _until_wanted(self) -> None:
        if not self._is_wanted():
            self._link.lead(is_leading=False)
            await self._activity.changed.wait_for(self._is_wanted)

    async def _until_due(self) -> None:
        at_s = self._not_before_s
        if not self._link.is_up:
            at_s = max(at_s, self._link.not_before_s)
        await self._timing.sleep_until(at_s)

    async def _attempt(self) -> None:
        if self._doubted == self._choice.kind and not await self._check(self._doubted):
            return
        self._doubted = None
        kind = self._serving = self._choice.kind
        self._intake = self._opened_s = None
        session = self._session = asyncio.create_task(self._serve(kind))
        try:
            await asyncio.wait({session})
        finally:
            self._session = None
            await end(session)
        error = None if session.cancelled() else session.exception()
        if self._is_proved() and not isinstance(error, NotOpenedError):
            self._choice.note_proof(kind)
        if error is not None:
            self._react(kind, error)
        elif self._is_behind():
            self._link.lead(is_leading=False)
            await self._handover.changed.wait_for(self._may_go_on)

    async def _serve(self, kind: Kind) -> None:
        self._switches_served = self._switches
        intake = self._intake = self._handover.begin(self)
        try:
            await self._transports[kind].run(self._handover.position, intake)
        finally:
            intake.closing()
            self._handover.finish()
            companions, self._companions = self._companions, []
            await end(*companions)

    def note_open(self, line: Line | None) -> None:
        self.transport, self.line = self._serving, line
        self._opened_s = self._timing.now_s()
        self._switches_opened = self._switches_served
        self._refusals = self._unavailable = 0
        self._backoff.reset()
        self._budget.note_success()
        self._link.up()
        self._link.lead(is_leading=False)
        self._companions = [asyncio.create_task(self._climb())]
        if line is not None:
            self._companions.append(asyncio.create_task(self._renew(line)))
        self.changed.fire()

    def note_closing(self) -> None:
        self.transport = self.line = None
        self._touches = self._activity.touches
        self._link.lead(is_leading=True)
        self.changed.fire()

    def note_behind(self) -> None:
        self.interrupt()

    def _is_behind(self) -> bool:
        return self._intake is not None and self._intake.is_behind

    def _may_go_on(self) -> bool:
        """The application has taken everything, or waits itself for another transport."""
        return self._handover.is_empty or self._switches != self._switches_served

    def _is_proved(self) -> bool:
        """Whether the transport did anything worth the name, once it was open."""
        if self._opened_s is None:
            return False
        lived_s = self._timing.now_s() - self._opened_s
        has_delivered = self._intake is not None and self._intake.has_delivered
        # A long-poll is open with its first answer, but has shown nothing before a whole wait.
        long_poll_s = 2 * self._limits.long_poll_s
        proof_s = long_poll_s if self._serving == "long-poll" else self._limits.proves_after_s
        return has_delivered or lived_s >= proof_s

    async def _climb(self) -> None:
        """Beside a lesser transport, try whether a better one opens by now."""
        while better := self._choice.better():
            await self._timing.sleep(self._choice.climb_wait_s)
            for kind in better:
                if await opens(self._transports[kind], self._handover.position):
                    self._choice.climb(kind)
                    self.interrupt()
                    return
            self._choice.note_vain_climb()

    async def _renew(self, line: Line) -> None:
        """Tell an open stream of the next token before its own ends."""
        backoff = Backoff(self._timing, self._limits)
        while True:
            await self._tokens.until_due(line.token)
            try:
                await self._renew_once(line, await self._tokens.get())
            except GreenroomError as error:
                log.warning("the stream's token was not renewed: %s", error)
                await self._timing.sleep(backoff.next_s())
            else:
                backoff.reset()

    @staticmethod
    async def _renew_once(line: Line, token: Token) -> None:
        if token.text == line.token.text:
            line.token = token
        else:
            await line.renew(token)

    def _react(self, kind: Kind, error: BaseException) -> None:
        """Decide what comes next; raises what ends the feed for good."""
        log.info("%s ended: %s", kind, error)
        if isinstance(error, StreamEndedError):
            self._after_ending(kind, error)
        elif isinstance(error, Problem):
            self._after_problem(kind, error)
        elif isinstance(error, NotOpenedError):
            self._after_refusal_to_open(kind)
        elif isinstance(error, UnreachableError):
            self._go_away(kind, None, is_unclear=isinstance(error, BrokenOffError))
        else:
            raise error

    def _after_ending(self, kind: Kind, ending: StreamEndedError) -> None:
        when, wait_s = return_after(ending), 0.0
        if when is Return.NEVER:
            raise ClosedError(ending.reason, ending.code)
        if when is Return.WHEN_TOUCHED:
            self._is_displaced = True
        elif when is Return.AFTER_RESTART:
            wait_s = self._timing.random() * self._limits.restart_spread_s
        elif when is Return.AFTER_MANY_FRAMES:
            wait_s = self._limits.many_frames_wait_s
        elif when is Return.WHEN_MENDED:
            wait_s = self._timing.random() * self._limits.unreadable_spread_s
        elif when is Return.WITH_BACKOFF:
            wait_s = self._backoff.next_s()
        if ending.code == BROKE_OFF and not self._is_proved() and kind != "poll":
            self._doubted = kind
        if ending.code == TOKEN_ENDED:
            self._tokens.refuse_current()
        wait_s = self._wait(kind, max(wait_s, ending.retry_after_s or 0))
        if is_away_after(ending):
            self._link.down(wait_s)

    def _after_problem(self, kind: Kind, problem: Problem) -> None:
        if problem.status == 401:
            self._refusals += 1
            if self._tokens.is_fixed or self._refusals >= self._limits.token_refusals:
                raise problem
            self._wait(kind, self._backoff.next_s())
        elif problem.status == 429 or problem.status >= 500:
            # Our own server that says so means it; falling to polls would only add to its load.
            self._unavailable += 1
            is_long = self._unavailable >= self._limits.falls_after_unavailable
            self._go_away(kind, problem.retry_after_s, is_unclear=is_long or not problem.code)
        elif problem.is_final and (kind == "poll" or (problem.status == 403 and problem.code)):
            raise problem
        else:
            self._after_refusal_to_open(kind)

    def _after_refusal_to_open(self, kind: Kind) -> None:
        self._choice.note_failure(kind)
        self._link.up()
        self._wait(kind, self._backoff.next_s())

    def _go_away(self, kind: Kind, retry_after_s: float | None, *, is_unclear: bool) -> None:
        """Nothing answers, or so it seems: then the next attempt looks at that first."""
        if is_unclear and kind != "poll":
            self._doubted = kind
        self._link.down(self._wait(kind, self._backoff.next_s(retry_after_s)))

    def _wait(self, kind: Kind, wait_s: float) -> float:
        """Not earlier than a poll would be due, once the budget for that is spent."""
        interval_s = self._activity.interval_s()
        at_least = 0 if kind == "poll" else self._limits.stream_retries
        if wait_s < interval_s and not self._budget.spend(at_least=at_least):
            wait_s = interval_s
        self._not_before_s = self._timing.now_s() + wait_s
        return wait_s

    async def _check(self, kind: Kind) -> bool:
        """Whether anything answers. If so, it is `kind` that does not open."""
        try:
            await self._calls.call("GET", "/v1/me")
        except Problem as problem:
            if problem.status == 429 or problem.status >= 500:
                self._go_away(kind, problem.retry_after_s, is_unclear=True)
                return False
        except UnreachableError:
            self._go_away(kind, None, is_unclear=True)
            return False
        self._choice.note_failure(kind)
        self._link.up()
        return True
