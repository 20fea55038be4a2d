"""Takes a picture as WebP, which Chromium can write and GitHub shows."""

import base64
from typing import Any

from playwright.async_api import Locator, Page

QUALITY = 72
MARGIN_PX = 2

# Waits until fonts and portraits are loaded.
SETTLED = """
async () => {
  await document.fonts.ready;
  const images = [];
  const look = (root) => {
    images.push(...root.querySelectorAll('img'));
    for (const each of root.querySelectorAll('*')) if (each.shadowRoot) look(each.shadowRoot);
  };
  look(document);
  const shown = images.filter(({ loading }) => loading !== 'lazy');
  await Promise.all(shown.map((image) => image.decode().catch(() => {})));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}
"""


async def take(page: Page, only: Locator | None = None) -> bytes:
    """A picture of the window, or of one element with a margin."""
    await page.evaluate(SETTLED)
    options: dict[str, Any] = {"format": "webp", "quality": QUALITY}
    if only is not None:
        options["clip"] = await _around(page, only)
    session = await page.context.new_cdp_session(page)
    answer = await session.send("Page.captureScreenshot", options)
    await session.detach()
    return base64.b64decode(answer["data"])


async def _around(page: Page, element: Locator) -> dict[str, float]:
    await element.scroll_into_view_if_needed()
    box, window = await element.bounding_box(), page.viewport_size
    if box is None or window is None:
        raise RuntimeError(f"{element} is not visible")
    left, top = max(0, box["x"] - MARGIN_PX), max(0, box["y"] - MARGIN_PX)
    right = min(window["width"], box["x"] + box["width"] + MARGIN_PX)
    bottom = min(window["height"], box["y"] + box["height"] + MARGIN_PX)
    return {"x": left, "y": top, "width": right - left, "height": bottom - top, "scale": 1}
