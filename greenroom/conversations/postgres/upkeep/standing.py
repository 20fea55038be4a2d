"""Checking what threads show of their contract: the stage, the open cards, and who has to act."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from asyncpg import Record

from greenroom.conversations.model import OVER, ThreadKind
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.thread_updates import PostgresThreadUpdates
from greenroom.conversations.thread_updates import Standing, ThreadUpdate
from greenroom.conversations.upkeep import Fault
from greenroom.platform.postgres.pool import Session

StandingsOf = Callable[[Session, Sequence[str]], Awaitable[Mapping[str, Standing]]]
"""The standing of each of these threads, worked out from bookings and cards."""

# Of each thread: what it shows, the people whose inbox has it, and those of them who have to act.
SHOWN = """
select t.thread_id, t.kind, t.stage, t.open_cards,
    coalesce(array_agg(i.user_id order by i.user_id) filter (where i.user_id is not null), '{}')
        as viewers,
    coalesce(array_agg(i.user_id) filter (where i.needs_action), '{}') as waiting
from thread t
left join thread_participant p on p.thread_id = t.thread_id and p.status = 'active'
left join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where t.thread_id = any ($1::text[])
group by t.thread_id order by t.thread_id
"""


class StandingCheck:
    def __init__(self, standings_of: StandingsOf, thread_updates: PostgresThreadUpdates) -> None:
        self._standings_of = standings_of
        self._thread_updates = thread_updates

    async def faults(self, conn: Session, thread_ids: Sequence[str]) -> list[Fault]:
        """What differs, all as of the caller's transaction."""
        shown = await conn.fetch(SHOWN, thread_ids)
        right = await self._standings_of(conn, thread_ids)
        return [fault for row in shown for fault in _differences(row, right[row["thread_id"]])]

    async def mend(self, change: Change, thread_id: str) -> None:
        """Set it right as the contract itself would: everyone who sees a difference is told."""
        right = await self._standings_of(change.conn, [thread_id])
        update = ThreadUpdate(thread_id, standing=right[thread_id])
        applied = await self._thread_updates.apply(change.conn, update)
        change.told.update(applied.told)


def _differences(row: Record, right: Standing) -> Iterator[Fault]:
    thread_id = row["thread_id"]
    if not _may_show(row["kind"], row["stage"], right.stage):
        yield Fault("stage", thread_id, None, str(row["stage"]), str(right.stage))
    if row["open_cards"] != right.open_cards:
        found, should = str(row["open_cards"]), str(right.open_cards)
        yield Fault("open_cards", thread_id, None, found, should)
    for user_id in row["viewers"]:
        waits, should_wait = user_id in row["waiting"], user_id in right.waits_for
        if waits != should_wait:
            yield Fault("needs_action", thread_id, user_id, str(waits), str(should_wait))


def _may_show(kind: str, shown: str | None, right: str | None) -> bool:
    """Whether a thread may show this stage. Two stages are shown late or not at all: a proposal in
    a thread that is not a project yet shows with its first card; and a project that the marketplace
    has bound to a booking of its own does not show the one before, which is over."""
    if shown == right:
        return True
    if kind != ThreadKind.PROJECT:
        return right == "proposed" and shown in (None, "cancelled")
    return shown is None and right in OVER
