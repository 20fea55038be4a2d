"""What the ledger decides, carried out in a conversation on DynamoDB: once, whoever dies meanwhile.

1. The ledger's commit decides.
2. The thread changes in one transaction with a mark that names the decision: whoever finds the mark
   changes nothing.
3. The ledger hears that it is done.

A process that dies on the way leaves a decision that waits, marked or not. Whoever comes to the
thread with another decision carries it out first, and `settle` those that nobody comes upon.
"""

import logging
from collections.abc import Iterable

import msgspec

from greenroom.conversations.cards_dynamodb import Cards
from greenroom.conversations.decisions import Decision, DecisionKind, DecisionLog, Params
from greenroom.conversations.keys_dynamodb import decision_key
from greenroom.conversations.membership_dynamodb import Membership
from greenroom.conversations.model import DAY_MS, Thread
from greenroom.conversations.postings import Posting
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.kernel.errors import ActionInvalidState, Problem, ThreadNotFound, Unavailable
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put
from greenroom.platform.idempotency import Kept, Once

DECISIONS_AT_ONCE = 100
MARK_KEPT_DAYS = 30
"""A mark counts only while its decision waits, which is seconds after a crash."""

NEVER = (ThreadNotFound, ActionInvalidState)
"""What no waiting mends: the thread has vanished, or is none that becomes a project."""

log = logging.getLogger(__name__)


class Decisions:
    def __init__(self, threads: Threads, membership: Membership, ledger: DecisionLog) -> None:
        self._threads = threads
        self._membership = membership
        self._cards = Cards(threads.table, membership)
        self._ledger = ledger

    async def promote(
        self, thread_id: str, group_id: str | None, leg_id: str | None, once: Once | None
    ) -> Thread | Kept:
        """Promises what `ConversationStore.promote` does."""
        kept = None if once is None else await self._threads.recall(once)
        if kept is not None:
            return kept
        state = await self._threads.read(thread_id)
        if state is None:
            raise ThreadNotFound
        # Tried before it is decided: what is refused here must not stand in the ledger.
        self._membership.promotion(self._threads.begin(state), group_id, leg_id)
        await self._ledger.decide_promotion(thread_id, group_id, leg_id)

        waiting = await self._ledger.pending_in(thread_id, DECISIONS_AT_ONCE)
        for decision in waiting:
            if decision.kind == DecisionKind.PROMOTE:
                # A thread has one promotion: it is this one, or the same by someone before.
                return await self._carry_out(decision, once)
            await self._carry_out(decision)
        if len(waiting) == DECISIONS_AT_ONCE:
            raise Unavailable("Other decisions come first in this thread.")

        async def decide(change: Change) -> Thread:
            """Somebody else was faster. What the ledger says holds, whoever was to make it so."""
            self._membership.promotion(change, group_id, leg_id)
            return await self._threads.shown_after(None, change)

        return await self._threads.change(thread_id, decide, once)

    async def say(self, thread_id: str, code: str, params: Params) -> None:
        """Decided when this returns; in the thread by then, or soon after if its database is away:
        to repeat it would say it twice. Raises ThreadNotFound."""
        if await self._threads.read(thread_id) is None:
            raise ThreadNotFound
        await self._ledger.decide_notice(thread_id, code, params)
        await self.carry_out_in(thread_id)

    async def carry_out_in(self, thread_id: str) -> None:
        """What waits in this thread, if its database and the ledger can be reached."""
        try:
            waiting = await self._ledger.pending_in(thread_id, DECISIONS_AT_ONCE)
        except Unavailable:
            log.warning("a decision is carried out later", extra={"event": thread_id})
            return
        await self._carry_out_all(waiting)

    async def settle(self) -> int:
        """Carry out what has waited for longer than a living process would let it."""
        older_than_ms = self._threads.clock() - self._threads.limits.unsettled_s * 1000
        return await self._carry_out_all(
            await self._ledger.pending(DECISIONS_AT_ONCE, older_than_ms)
        )

    async def prune(self) -> int:
        limits = self._threads.limits
        older_than_ms = self._threads.clock() - limits.outbox_kept_days * DAY_MS
        return await self._ledger.prune(older_than_ms, limits.maintenance_batch)

    async def _carry_out_all(self, decisions: Iterable[Decision]) -> int:
        """Each thread's in their order. One that fails keeps up its own thread and no other."""
        settled, behind = 0, set()
        for decision in decisions:
            if decision.thread_id in behind:
                continue
            try:
                await self._carry_out(decision)
            except NEVER:
                continue
            except Unavailable:
                log.warning("a decision is carried out later", extra={"event": decision.id})
                behind.add(decision.thread_id)
            except Exception:
                log.exception(
                    "a decision could not be carried out; it will be tried again",
                    extra={"event": decision.id},
                )
                behind.add(decision.thread_id)
            else:
                settled += 1
        return settled

    async def _carry_out(self, decision: Decision, once: Once | None = None) -> Thread | Kept:
        async def decide(change: Change) -> Thread:
            if await self._threads.table.get(decision_key(decision.id)) is None:
                change.writes.append(self._mark(decision))
                await self._make_part_of(change, decision)
            return await self._threads.shown_after(None, change)

        try:
            outcome = await self._threads.change(decision.thread_id, decide, once)
        except NEVER as problem:
            await self._park(decision, problem)
            raise
        try:
            await self._ledger.done([decision.id])
        except Unavailable:
            # It has happened, and the mark says so to whoever settles it.
            log.warning("a decision that is done waits to be settled", extra={"event": decision.id})
        return outcome

    def _mark(self, decision: Decision) -> Put:
        pk, sk = decision_key(decision.id)
        now_ms = self._threads.clock()
        ttl = (now_ms + MARK_KEPT_DAYS * DAY_MS) // 1000
        return Put({"pk": pk, "sk": sk, "at": now_ms, "ttl": ttl}, UNLESS_THERE)

    async def _make_part_of(self, change: Change, decision: Decision) -> None:
        data = decision.data
        if decision.kind == DecisionKind.PROMOTE:
            self._membership.promotion(change, data["group_id"], data["leg_id"])
        elif decision.kind == DecisionKind.POST:
            await self._cards.make_part_of(change, msgspec.convert(data, Posting))
        else:
            change.append(None, kind="system", system=data)

    async def _park(self, decision: Decision, problem: Problem) -> None:
        await self._ledger.park(decision.id, problem.code)
        log.error(
            "a decision cannot be carried out and is parked; see `failure` in table decision, and"
            " set it to null there to have it tried again",
            extra={"event": decision.id, "code": problem.code},
        )
