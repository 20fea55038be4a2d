"""The web app in Chromium: an inbox of ten thousand threads scrolled through, and the embed's size.

What blocks a page for longer than 50 ms is felt: browsers call it a long task.
"""

import asyncio
import re
from dataclasses import dataclass

from playwright.async_api import Page, expect

from bench import fill
from bench.product import Product
from bench.report import Row, at_most, noted, say
from greenroom.webapp.files import BUILT, read_files
from tools.chromium import find_chromium, open_chromium

MANY = "many"
LONG_TASK_MS = 50
EMBED_BYTES = 80_000
WHEEL_PX = 900
FULL, QUICK = 10_000, 1000
IMPORT = re.compile(r"""["'`](?:\./|\.\./|/)*((?:app/assets/)?[\w-]+\.js)["'`]""")

WATCH = """
globalThis.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((task) => task.duration)))
  .observe({ type: 'longtask', buffered: true });
"""
COUNT_FRAMES = """
globalThis.frameCount = 0;
const count = () => { frameCount += 1; requestAnimationFrame(count); };
requestAnimationFrame(count);
longTasks.length = 0;
"""


@dataclass(frozen=True, slots=True)
class Scrolled:
    frames: int
    long_tasks_ms: list[float]


def measure(server: Product, threads: int) -> list[Row]:
    say(f"filling an inbox with {threads:,} threads")
    asyncio.run(fill.fill_inbox(server.database_url, MANY, threads))
    say("scrolling through it in Chromium")
    scrolled = asyncio.run(_scroll(server, threads))
    count, longest_ms = len(scrolled.long_tasks_ms), max(scrolled.long_tasks_ms, default=0)
    label = f"scrolling {threads:,} threads"
    return [
        noted(
            f"long tasks / frames, {label}",
            f"{count} of {scrolled.frames:,}",
            count / scrolled.frames,
        ),
        noted(
            f"longest task / {LONG_TASK_MS} ms, {label}",
            f"{longest_ms:.0f} ms",
            longest_ms / LONG_TASK_MS,
        ),
        embed_row(),
    ]


def embed_row() -> Row:
    size = embed_bytes()
    return at_most("embed, gzipped", f"{size / 1000:.1f} kB", size / EMBED_BYTES, 1.0, "80 kB")


def embed_bytes() -> int:
    """Of all scripts that a page may load for the embed, every language among them."""
    files = read_files(BUILT)
    found: set[str] = set()
    waiting = ["embed.js"]
    while waiting:
        name = waiting.pop()
        if name not in found and name in files:
            found.add(name)
            waiting += _imported_by(files[name].plain.body.decode())
    return sum(len(files[name].form_for("gzip").body) for name in found)


def _imported_by(script: str) -> list[str]:
    """Chunks name each other without their folder."""
    names = IMPORT.findall(script)
    return [name if "/" in name else f"app/assets/{name}" for name in names]


async def _scroll(server: Product, threads: int) -> Scrolled:
    async with open_chromium(await find_chromium()) as browser:
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.add_init_script(WATCH)
        await page.goto(f"http://127.0.0.1:{server.port}/app#token={server.token(MANY)}")
        await expect(page.get_by_text("Person 1", exact=True).first).to_be_visible()
        await _wheel_to(page, f"Person {threads}")
        frames, long_tasks_ms = await page.evaluate("[frameCount, longTasks]")
        return Scrolled(frames, long_tasks_ms)


async def _wheel_to(page: Page, name: str) -> None:
    """Down the inbox as a hand does it, until the last thread is there."""
    row = page.get_by_text(name, exact=True).first
    box = await page.locator("greenroom-inbox").bounding_box()
    if box is None:
        raise RuntimeError("the inbox is not visible")
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.evaluate(COUNT_FRAMES)
    while not await row.is_visible():
        await page.mouse.wheel(0, WHEEL_PX)
        await page.evaluate("new Promise(requestAnimationFrame)")
