"""The web app in Chromium: scrolling an inbox of ten thousand threads, and the size of the embed.

It counts long tasks: browsers call so what blocks a page for more than 50 ms, which people notice.
"""

import asyncio
import re
from dataclasses import dataclass

from playwright.async_api import expect

from bench import fill
from bench.product import Product
from bench.report import Row, at_most, noted, say
from greenroom.webapp.files import BUILT, read_files
from tools.chromium import find_chromium, open_chromium

MANY = "many"
LONG_TASK_MS = 50
EMBED_BYTES = 80_000
FULL, QUICK = 10_000, 1000
_NAME = r"""["'`](?:\./|\.\./|/)*((?:app/assets/)?[\w-]+\.js)["'`]"""
NAMED = re.compile(_NAME)
LOADED = re.compile(r"(?:from|import)\s*" + _NAME)
"""Static imports only: dynamic ones are loaded when something is opened."""

WATCH = """
globalThis.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((task) => task.duration)))
  .observe({ type: 'longtask', buffered: true });
"""
SCROLL = """
async (list) => {
  longTasks.length = 0;
  let frames = 0;
  for (let still = 0; still < 60; frames += 1) {
    const before = list.scrollTop;
    list.scrollTop += 250;
    await new Promise(requestAnimationFrame);
    still = list.scrollTop === before ? still + 1 : 0;
  }
  return frames;
}
"""
"""Fast scrolling, run inside the page: driving it from outside would itself be measured."""


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
        *embed_rows(),
    ]


def embed_rows() -> list[Row]:
    first, whole = _bytes_of(LOADED), _bytes_of(NAMED)
    return [
        at_most("embed, gzipped", f"{first / 1000:.1f} kB", first / EMBED_BYTES, 1.0, "80 kB"),
        noted(
            "embed with all that opens later, every language",
            f"{whole / 1000:.1f} kB",
            whole / EMBED_BYTES,
        ),
    ]


def _bytes_of(naming: re.Pattern[str]) -> int:
    """The bytes of the embed and of all scripts reachable from it by imports like `naming`."""
    files = read_files(BUILT)
    found: set[str] = set()
    waiting = ["embed.js"]
    while waiting:
        name = waiting.pop()
        if name not in found and name in files:
            found.add(name)
            # Chunks refer to each other without their folder.
            names = naming.findall(files[name].plain.body.decode())
            waiting += [each if "/" in each else f"app/assets/{each}" for each in names]
    return sum(len(files[name].form_for("gzip").body) for name in found)


async def _scroll(server: Product, threads: int) -> Scrolled:
    async with open_chromium(await find_chromium()) as browser:
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.add_init_script(WATCH)
        await page.goto(f"http://127.0.0.1:{server.port}/app#token={server.token(MANY)}")
        await expect(page.get_by_text("Person 1", exact=True).first).to_be_visible()
        frames = await page.locator("greenroom-inbox-rows .scroll").evaluate(SCROLL)
        long_tasks_ms = await page.evaluate("longTasks")
        await expect(page.get_by_text(f"Person {threads}", exact=True)).to_be_visible()
        return Scrolled(frames, long_tasks_ms)
