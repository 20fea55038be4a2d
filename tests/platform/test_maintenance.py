"""Background loops continue after errors."""

import asyncio

from greenroom.maintenance import Maintenance
from tests.support.waiting import PATIENCE_S


async def test_one_kind_of_work_that_fails_keeps_no_other_from_its_turn() -> None:
    turns = asyncio.Semaphore(0)

    async def fail() -> dict[str, int]:
        raise ValueError("a row that cannot be read")

    async def work() -> dict[str, int]:
        turns.release()
        return {"rows": 1}

    maintenance = Maintenance([fail, work], interval_s=0.001)
    maintenance.start()
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(3):
            await turns.acquire()
        await maintenance.stop()
