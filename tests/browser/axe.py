"""axe-core on a page as it is: what WCAG 2.2 AA asks for and a machine can see."""

import json
from collections.abc import Sequence
from typing import Any

from playwright.async_api import Page

from tools.webapp import REPOSITORY

SOURCE = REPOSITORY / "web" / "app" / "node_modules" / "axe-core" / "axe.min.js"
EVERYTHING = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
COLOURS = ("color-contrast", "link-in-text-block")
"""All that differs between a page in light and the same page in dark."""
RUN = """
axe.run(document, { runOnly: %s, resultTypes: ['violations'] }).then(
  ({ violations }) => violations.flatMap(({ id, help, nodes }) => nodes.map(
    ({ target, failureSummary }) =>
      `${id}: ${help}: ${target.flat().join(' ')}: ${failureSummary}`
  ))
)
"""


async def axe(page: Page, rules: Sequence[str] = EVERYTHING) -> list[str]:
    """Violations, each with the element that has it. Shadow roots are looked into."""
    session = await page.context.new_cdp_session(page)
    # A world of its own: the page's policy does not apply there, and the page does not see axe.
    tree = await session.send("Page.getFrameTree")
    frame = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "axe"}
    world = (await session.send("Page.createIsolatedWorld", frame))["executionContextId"]
    if await _evaluate(session, world, "typeof axe") == "undefined":
        await _evaluate(session, world, f"{SOURCE.read_text()}; undefined")
    found: list[str] = await _evaluate(session, world, RUN % json.dumps(rules))
    await session.detach()
    return found


async def _evaluate(session: Any, world: int, expression: str) -> Any:
    answer = await session.send(
        "Runtime.evaluate",
        {
            "contextId": world,
            "expression": expression,
            "awaitPromise": True,
            "returnByValue": True,
        },
    )
    assert "exceptionDetails" not in answer, answer["exceptionDetails"]
    return answer["result"].get("value")
