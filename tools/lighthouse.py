"""`make lighthouse`: performance and accessibility of the web app's pages, as Lighthouse sees them.

It only prints the scores and never fails because of them: performance depends on the machine. As
scores differ between runs, each page is measured several times and the median run counts.
"""

import asyncio
import json
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.chromium import find_chromium, open_chromium
from tools.demo import Demo, run_demo
from tools.webapp import REPOSITORY, with_node

FOLDER = REPOSITORY / "web" / "lighthouse"
SCRIPT = FOLDER / "node_modules" / "lighthouse" / "cli" / "index.js"
PRESETS: dict[str, list[str]] = {"phone": [], "desktop": ["--preset=desktop"]}
CATEGORIES = ("performance", "accessibility")
AIM = 95
RUNS = 3
LOAD_MS = 30_000
PATIENCE_S = 120


class LighthouseError(Exception):
    """Lighthouse could not measure a page."""


@dataclass(frozen=True, slots=True)
class Score:
    page: str
    preset: str
    by_category: dict[str, int]
    first_paint: str
    largest_paint: str
    blocked: str


def main() -> None:
    with run_demo() as demo:
        scores = asyncio.run(measure(pages_of(demo)))
    show(scores)


def pages_of(demo: Demo) -> dict[str, str]:
    signed_in = f"#token={demo.token('maya')}"
    thread_id = demo.call("maya", "GET", "/v1/inbox")["items"][0]["thread"]["id"]
    return {
        "sign-in": f"{demo.url}/app/sign-in",
        "inbox": f"{demo.url}/app{signed_in}",
        "thread": f"{demo.url}/app/threads/{thread_id}{signed_in}",
    }


async def measure(pages: dict[str, str]) -> list[Score]:
    port = _free_port()
    scores = []
    async with open_chromium(await find_chromium(), [f"--remote-debugging-port={port}"]):
        for page, url in pages.items():
            for preset, options in PRESETS.items():
                print(f"· {page}, {preset}", flush=True)
                runs = [
                    _score(page, preset, await _audit(url, [f"--port={port}", *options]))
                    for _ in range(RUNS)
                ]
                scores.append(
                    sorted(runs, key=lambda run: run.by_category["performance"])[RUNS // 2]
                )
    return scores


async def _audit(url: str, more: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        await _run_lighthouse(url, [*more, f"--output-path={path}"])
        report: dict[str, Any] = json.loads(path.read_text())
    if "runtimeError" in report:
        raise LighthouseError(report["runtimeError"]["message"])
    return report


async def _run_lighthouse(url: str, more: list[str]) -> None:
    options = [
        f"--only-categories={','.join(CATEGORIES)}",
        f"--max-wait-for-load={LOAD_MS}",
        "--output=json",
        "--quiet",
        "--no-enable-error-reporting",
        *more,
    ]
    process = await asyncio.create_subprocess_exec(
        *("node", str(SCRIPT), url, *options),
        env=with_node(),
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise


def _score(page: str, preset: str, report: dict[str, Any]) -> Score:
    audits = report["audits"]
    return Score(
        page,
        preset,
        {name: round(100 * (report["categories"][name]["score"] or 0)) for name in CATEGORIES},
        audits["first-contentful-paint"]["displayValue"],
        audits["largest-contentful-paint"]["displayValue"],
        audits["total-blocking-time"]["displayValue"],
    )


def show(scores: list[Score]) -> None:
    print(f"\n{'page':8}  {'as':8}  {'performance':>11}  {'accessibility':>13}  paints, blocked")
    for each in scores:
        performance, accessibility = (each.by_category[name] for name in CATEGORIES)
        print(
            f"{each.page:8}  {each.preset:8}  {performance:11}  {accessibility:13}  "
            f"{each.first_paint}, {each.largest_paint}, {each.blocked}"
        )
    met = sum(score >= AIM for each in scores for score in each.by_category.values())
    print(f"\n{met} of {len(scores) * len(CATEGORIES)} are at the aim of {AIM} or above")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
