"""Every program of the suite tells the same time, also when `make test-clock` shifts it."""

import subprocess
import sys
import time
from pathlib import Path

import asyncpg
from playwright.async_api import Browser

NODE = Path(sys.executable).with_name("node")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def test_postgresql_tells_the_time_of_python(pool: asyncpg.Pool) -> None:
    before_ms = now_ms()
    told_ms = await pool.fetchval("select floor(extract(epoch from clock_timestamp()) * 1000)")
    assert before_ms <= told_ms <= now_ms()


def test_node_tells_the_time_of_python() -> None:
    before_ms = now_ms()
    told = subprocess.run([NODE, "-p", "Date.now()"], capture_output=True, text=True, check=True)
    assert before_ms <= int(told.stdout) <= now_ms()


async def test_chromium_tells_the_time_of_python(browser: Browser) -> None:
    page = await browser.new_page()
    before_ms = now_ms()
    told_ms = await page.evaluate("Date.now()")
    assert before_ms <= told_ms <= now_ms()
    await page.close()
