"""The standing of a thread's contract: its stage, its open cards, and whom they wait for."""

from collections.abc import Sequence

from greenroom.bookings.legs import stage_of_states
from greenroom.bookings.model import LegState
from greenroom.bookings.transactions import ContractTransaction
from greenroom.conversations.thread_updates import Standing
from greenroom.platform.postgres.pool import Session

# Of each thread: the legs of its current booking, and its open cards. This is the only statement of
# this room that looks at cards.
STANDINGS = """
select t.thread_id,
    (select coalesce(array_agg(l.state), '{}') from booking_group g join leg l using (group_id)
        where g.thread_id = t.thread_id and g.followed_by is null) as states,
    (select count(*) from card c where c.thread_id = t.thread_id and c.is_open) as open_cards,
    (select coalesce(array_agg(distinct w.user_id), '{}')
        from card c, unnest(c.waits_for) as w (user_id)
        where c.thread_id = t.thread_id and c.is_open) as waits_for
from unnest($1::text[]) as t (thread_id)
"""


async def standing_of(tx: ContractTransaction, thread_id: str) -> Standing:
    """The standing after the changes of this transaction."""
    return (await standings_of(tx.conn, [thread_id]))[thread_id]


async def standings_of(conn: Session, thread_ids: Sequence[str]) -> dict[str, Standing]:
    """By thread; also of those that have no contract."""
    return {
        row["thread_id"]: Standing(
            stage_of_states(LegState(state) for state in row["states"]),
            row["open_cards"],
            frozenset(row["waits_for"]),
        )
        for row in await conn.fetch(STANDINGS, thread_ids)
    }
