"""Finds, installs and starts a headless Chromium for Playwright. `make browser` installs one."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""The names of the program in distributions, in the order in which they are tried."""


class ChromiumError(Exception):
    """There is no Chromium here: run `make browser`, or set GREENROOM_CHROMIUM to its path."""

    def __str__(self) -> str:
        return type(self).__doc__ or ""


def main() -> None:
    try:
        path = asyncio.run(find_chromium())
    except ChromiumError:
        print("installing Chromium (once)", flush=True)
        install_chromium()
        path = asyncio.run(find_chromium())
    print(f"Chromium is {path}")


def install_chromium() -> None:
    """Install it with apt if possible, else Playwright's own."""
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
        for command in (install, ["apt-get", "update", "-qq"], install):
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
            if shutil.which("chromium") is not None:
                return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


async def find_chromium() -> str:
    """The path in GREENROOM_CHROMIUM, the system's, or Playwright's. Raises ChromiumError."""
    given = os.environ.get("GREENROOM_CHROMIUM")
    systems = (shutil.which(name) for name in NAMES)
    return given or next(filter(None, systems), None) or await _of_playwright()


async def _of_playwright() -> str:
    async with async_playwright() as playwright:
        path = playwright.chromium.executable_path
    if shutil.which(path) is None:
        raise ChromiumError
    return path


def flags() -> list[str]:
    """Flags that stop Chromium's own network traffic."""
    calm = [
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    # As root Chromium refuses to start with its sandbox.
    return ["--no-sandbox", *calm] if os.geteuid() == 0 else calm


@asynccontextmanager
async def open_chromium(path: str, more: Sequence[str] = ()) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=[*flags(), *more])
        try:
            yield browser
        finally:
            await browser.close()


if __name__ == "__main__":
    main()
