"""Steps of the sample that are done once, also when a load is interrupted and continued."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from greenroom.platform.idempotency import Kept, Once

T = TypeVar("T")

CALLER = "sample"


async def do_once(
    where: str,
    key: str,
    work: Callable[[Once], Awaitable[T | Kept]],
    id_of: Callable[[T], str],
) -> str:
    """The id of what the work has created, now or in an interrupted load before. `where` is the
    name of the conversation store, so that samples of two stores do not collide."""

    def keep(made: T) -> Kept:
        return Kept(200, id_of(made).encode())

    made = await work(Once(CALLER, where, key, key.encode(), keep))
    return made.body.decode() if isinstance(made, Kept) else id_of(made)
