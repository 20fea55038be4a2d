"""Applies the ledger's decisions to threads on DynamoDB, each exactly once.

1. The ledger commits the decision in PostgreSQL.
2. The thread changes in one transaction with a marker item for the decision. If the marker exists,
   the decision was applied before and nothing changes.
3. The ledger records that the decision is done.

If a process crashes in between, the decision stays pending. It is applied before the next decision
of the same thread, or by `settle`.
"""

import logging
from collections.abc import Iterable

import msgspec

from greenroom.conversations.decisions import Decision, DecisionKind, DecisionLog, Params
from greenroom.conversations.dynamodb.changes.cards import CardUpdates
from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.membership import Membership
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import decision_key
from greenroom.conversations.model import DAY_MS, BookingRef, Thread, ThreadKind
from greenroom.conversations.thread_updates import ThreadUpdate
from greenroom.kernel.errors import ActionInvalidState, Problem, ThreadNotFound, Unavailable
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put
from greenroom.platform.idempotency import Kept, Once

DECISIONS_AT_ONCE = 100
MARK_KEPT_DAYS = 30
"""A marker is needed only while its decision is pending, which is seconds after a crash."""

NEVER = (ThreadNotFound, ActionInvalidState)
"""Errors that no retry can fix: the thread is gone, or its kind cannot become a project."""

log = logging.getLogger(__name__)


class Decisions:
    def __init__(self, threads: Threads, membership: Membership, ledger: DecisionLog) -> None:
        self._threads = threads
        self._membership = membership
        self._cards = CardUpdates(threads.table, membership)
        self._ledger = ledger

    async def promote(
        self, thread_id: str, group_id: str | None, leg_id: str | None, once: Once | None
    ) -> Thread | Kept:
        """See `ConversationStore.promote`."""
        kept = None if once is None else await self._threads.recall(once)
        if kept is not None:
            return kept
        state = await self._threads.read(thread_id)
        if state is None:
            raise ThreadNotFound
        booking, before = BookingRef(group_id, leg_id), BookingRef(state.group_id, state.leg_id)
        # Checked before the ledger decides: a refused promotion must not be recorded there.
        self._membership.add_promotion(self._threads.new_change(state), booking)
        is_other = state.kind == ThreadKind.PROJECT and before != booking
        await self._ledger.decide_promotion(thread_id, booking, before if is_other else None)

        waiting = await self._ledger.pending_in(thread_id, DECISIONS_AT_ONCE)
        for decision in waiting:
            if decision.kind == DecisionKind.PROMOTE and _booking_of(decision) == booking:
                # The decision just made, or the same one made earlier.
                return await self._apply(decision, once)
            await self._apply(decision)
        if len(waiting) == DECISIONS_AT_ONCE:
            raise Unavailable("Other changes of this thread come first.")

        async def decide(change: Change) -> Thread:
            """Another process has applied the decision. The thread may even be bound to its next
            booking by now, so only an unbound thread is changed."""
            if change.state.kind != ThreadKind.PROJECT:
                self._membership.add_promotion(change, booking)
            return await self._threads.view_after(None, change)

        return await self._threads.change(thread_id, decide, once)

    async def say(self, thread_id: str, code: str, params: Params) -> None:
        """Append a system message. When this returns it is decided, and applied unless the table
        cannot be reached; then it is applied later. Repeating the call appends it twice. Raises
        ThreadNotFound."""
        if await self._threads.read(thread_id) is None:
            raise ThreadNotFound
        await self._ledger.decide_notice(thread_id, code, params)
        await self.apply_pending(thread_id)

    async def apply_pending(self, thread_id: str) -> None:
        """Apply what is pending in this thread, if the table and the ledger can be reached."""
        try:
            waiting = await self._ledger.pending_in(thread_id, DECISIONS_AT_ONCE)
        except Unavailable:
            log.warning("pending decisions will be applied later", extra={"event": thread_id})
            return
        await self._apply_all(waiting)

    async def settle(self) -> int:
        """Apply decisions older than `unsettled_s`, which no living process would leave pending."""
        older_than_ms = self._threads.clock() - self._threads.limits.unsettled_s * 1000
        return await self._apply_all(await self._ledger.pending(DECISIONS_AT_ONCE, older_than_ms))

    async def prune(self) -> int:
        limits = self._threads.limits
        older_than_ms = self._threads.clock() - limits.event_log_kept_days * DAY_MS
        return await self._ledger.prune(older_than_ms, limits.maintenance_batch)

    async def _apply_all(self, decisions: Iterable[Decision]) -> int:
        """In order per thread. One that fails holds back only the later ones of its thread."""
        settled, behind = 0, set()
        for decision in decisions:
            if decision.thread_id in behind:
                continue
            try:
                await self._apply(decision)
            except NEVER:
                continue
            except Unavailable:
                log.warning("a decision will be applied later", extra={"event": decision.id})
                behind.add(decision.thread_id)
            except Exception:
                log.exception(
                    "a decision could not be applied; it will be tried again",
                    extra={"event": decision.id},
                )
                behind.add(decision.thread_id)
            else:
                settled += 1
        return settled

    async def _apply(self, decision: Decision, once: Once | None = None) -> Thread | Kept:
        async def decide(change: Change) -> Thread:
            if await self._threads.table.get(decision_key(decision.id)) is None:
                change.writes.append(self._mark(decision))
                await self._add_to_change(change, decision)
            return await self._threads.view_after(None, change)

        try:
            outcome = await self._threads.change(decision.thread_id, decide, once)
        except NEVER as problem:
            await self._park(decision, problem)
            raise
        try:
            await self._ledger.done([decision.id])
        except Unavailable:
            # It is applied, and `settle` will see that by the marker.
            log.warning(
                "a decision is applied, but the ledger could not record it yet",
                extra={"event": decision.id},
            )
        return outcome

    def _mark(self, decision: Decision) -> Put:
        pk, sk = decision_key(decision.id)
        now_ms = self._threads.clock()
        ttl = (now_ms + MARK_KEPT_DAYS * DAY_MS) // 1000
        return Put({"pk": pk, "sk": sk, "at": now_ms, "ttl": ttl}, UNLESS_THERE)

    async def _add_to_change(self, change: Change, decision: Decision) -> None:
        data = decision.data
        if decision.kind == DecisionKind.PROMOTE:
            follows = data.get("follows", False)
            self._membership.add_promotion(change, _booking_of(decision), follows=follows)
        elif decision.kind == DecisionKind.POST:
            await self._cards.add_to_change(change, msgspec.convert(data, ThreadUpdate))
        else:
            change.append(None, kind="system", system=data)

    async def _park(self, decision: Decision, problem: Problem) -> None:
        await self._ledger.park(decision.id, problem.code)
        log.error(
            "a decision cannot be applied and is parked; see `failure` in table decision, and"
            " set it to null there to have it tried again",
            extra={"event": decision.id, "code": problem.code},
        )


def _booking_of(decision: Decision) -> BookingRef:
    return BookingRef(decision.data["group_id"], decision.data["leg_id"])
