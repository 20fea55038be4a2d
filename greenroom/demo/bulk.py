"""Generated people, threads and messages in bulk: `demo --messages 1000000`."""

from greenroom.demo.crowd import Bulk
from greenroom.demo.opening import loading_alone, open_loading
from greenroom.kernel.clock import Clock, system_clock
from greenroom.settings import Settings


async def load_bulk(
    settings: Settings, database_url: str, bulk: Bulk, *, clock: Clock = system_clock
) -> bool:
    """Load the generated messages. False if those of this random seed are loaded already."""
    async with open_loading(settings, database_url) as loading, loading_alone(loading.accounts):
        return await loading.load_bulk(bulk, clock())
