"""How the contract stands in a thread, worked out anew after every change."""

from greenroom.bookings.deeds import Deed
from greenroom.bookings.legs import stage_of
from greenroom.bookings.model import Group
from greenroom.conversations.postings import Standing

# The one place here that looks at cards: a thread's standing counts those that are open.
OPEN_CARDS = """
select count(*) as open_cards,
    coalesce((select array_agg(distinct w.user_id) from card c, unnest(c.waits_for) as w (user_id)
              where c.thread_id = $1 and c.is_open), '{}') as waits_for
from card where thread_id = $1 and is_open
"""


async def standing_of(deed: Deed, group: Group | None, thread_id: str) -> Standing:
    """`group` is the thread's booking as the deed leaves it; None where it has none."""
    [row] = await deed.conn.fetch(OPEN_CARDS, thread_id)
    stage = None if group is None else stage_of(group)
    return Standing(stage, row["open_cards"], frozenset(row["waits_for"]))
