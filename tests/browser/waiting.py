"""What is not so yet may be so with the next frame: looking again, as `expect` does."""

import asyncio
from collections.abc import Awaitable, Callable

from playwright.async_api import Page

from .people import PATIENCE_MS


async def becomes(page: Page, wanted: object, look: Callable[[], Awaitable[object]]) -> None:
    """Looks again after each frame that the page draws, until it sees what is wanted."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + PATIENCE_MS / 1000
    while (seen := await look()) != wanted and loop.time() < end_s:
        await page.evaluate("new Promise(requestAnimationFrame)")
    assert seen == wanted
