"""`make screenshots`: takes all pictures again, or those whose scenes are named."""

import argparse
import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from playwright.async_api import Browser, Locator, Page, ViewportSize

from tools.chromium import find_chromium, open_chromium
from tools.demo import Demo, run_demo
from tools.screenshots.camera import take
from tools.screenshots.scenes import DARK, DESKTOP, NOBODY, PHONE, SCENES, Look, Scene
from tools.webapp import REPOSITORY, build_web_app

IMAGES = REPOSITORY / "docs" / "images"
MOST_BYTES = 3_000_000
PATIENCE_MS = 20_000
WINDOWS = {
    DESKTOP: ViewportSize(width=1280, height=800),
    PHONE: ViewportSize(width=390, height=844),
}
PIXELS = 1.5
"""Device pixels per CSS pixel: sharp on good screens, and still small files."""


def main() -> None:
    names = [scene.name for scene in SCENES]
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join(names))
    wanted = parser.parse_args().scenes or names
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        parser.error(f"there is no scene {', '.join(unknown)}")
    build_web_app()
    IMAGES.mkdir(parents=True, exist_ok=True)
    with run_demo() as demo:
        asyncio.run(take_all(demo, [scene for scene in SCENES if scene.name in wanted]))
    for path in set(IMAGES.glob("*.webp")) - set(_paths(SCENES)):
        path.unlink()
    sizes = [path.stat().st_size for path in IMAGES.glob("*.webp")]
    print(f"{len(sizes)} pictures, {sum(sizes) / 1e6:.2f} MB of {MOST_BYTES / 1e6:g} MB")


async def take_all(demo: Demo, scenes: list[Scene]) -> None:
    async with open_chromium(await find_chromium()) as browser:
        for number, scene in enumerate(scenes, start=1):
            print(f"· {number} of {len(scenes)}: {scene.name}", flush=True)
            for look in scene.looks:
                _path(scene, look).write_bytes(await _take_one(browser, demo, scene, look))


async def _take_one(browser: Browser, demo: Demo, scene: Scene, look: Look) -> bytes:
    device, theme = look
    context = await browser.new_context(
        viewport=WINDOWS[device],
        device_scale_factor=PIXELS,
        has_touch=device == PHONE,
        is_mobile=device == PHONE,
        color_scheme="dark" if theme == DARK else "light",
        reduced_motion="reduce",
        locale=scene.locale,
        timezone_id="Europe/London",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    thread_id = None if scene.subject is None else _thread_of(demo, scene.who, scene.subject)
    await page.goto(_address(demo, scene, thread_id))
    await scene.pose(page)
    picture = await take(page, _part(page, demo, scene, thread_id))
    await context.close()
    return picture


def _address(demo: Demo, scene: Scene, thread_id: str | None) -> str:
    if scene.page == "host":
        return f"{demo.host_url}/"
    token = "" if scene.who == NOBODY else f"#token={demo.token(scene.who)}"
    return f"{demo.url}{scene.path(thread_id)}?{urlencode(scene.query)}{token}"


def _thread_of(demo: Demo, who: str, subject: str) -> str:
    items = demo.call(who, "GET", "/v1/inbox")["items"]
    found: str = next(
        each["thread"]["id"] for each in items if each["thread"]["subject"] == subject
    )
    return found


def _part(page: Page, demo: Demo, scene: Scene, thread_id: str | None) -> Locator | None:
    """The last card of the scene's type, if the picture shows a card."""
    if scene.card is None:
        return None
    messages = demo.call(scene.who, "GET", f"/v1/threads/{thread_id}/messages")["items"]
    message_id = next(
        each["id"]
        for each in reversed(messages)
        if each["card"] is not None and each["card"]["type"] == scene.card
    )
    return page.locator(f'[data-id="{message_id}"] greenroom-card')


def _paths(scenes: list[Scene]) -> Iterator[Path]:
    return (_path(scene, look) for scene in scenes for look in scene.looks)


def _path(scene: Scene, look: Look) -> Path:
    return IMAGES / f"{'-'.join((scene.name, *look))}.webp"


if __name__ == "__main__":
    main()
