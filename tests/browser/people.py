"""People in front of their browsers: each has a context, so that nothing is shared between them."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Route,
    ViewportSize,
)

from tools.demo import Demo

PATIENCE_MS = 20_000
DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)

Way = Literal["websocket", "sse", "long-poll"]
WAYS: tuple[Way, ...] = ("websocket", "sse", "long-poll")
"""By which news come from the server, the best first; behind all of them is polling."""
LONG_POLL = re.compile(r"/v1/sync\?.*wait=")

# The console tells of a violation too, but not where it is.
TELL_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', (event) => {
  const { violatedDirective, blockedURI, sourceFile, lineNumber, sample } = event;
  console.error('policy violation', violatedDirective, blockedURI, sourceFile, lineNumber, sample);
});
"""
# As behind a proxy that does not let the upgrade through.
BLOCK_WEBSOCKETS = """
const Real = WebSocket;
globalThis.WebSocket = class extends Real {
  constructor(url, protocols) {
    super(new URL('/not-let-through', url), protocols);
  }
};
"""
REFUSED = {
    "websocket": r"WebSocket connection to '.*/not-let-through' failed",
    "sse": r"Failed to load resource: net::ERR_FAILED .*/v1/stream",
    "long-poll": r"Failed to load resource: net::ERR_FAILED .*/v1/sync\?.*wait=",
}


class Person:
    """One of the sample's people in a page."""

    def __init__(self, user_id: str, context: BrowserContext, page: Page) -> None:
        self.user_id = user_id
        self.context = context
        self.page = page
        self._tried: set[Way] = set()
        self._errors: list[str] = []
        # The page gives up a connection that is still opening, for example when somebody signs out.
        self._expected: list[str] = ["WebSocket is closed before the connection is established"]
        page.on("console", self._listen)
        page.on("request", self._follow)
        page.on("websocket", lambda _socket: self._tried.add("websocket"))
        page.on("pageerror", lambda error: self._errors.append(f"{error.name}: {error.message}"))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._errors.append(f"{message.text} {message.location.get('url', '')}".strip())

    def _follow(self, request: Request) -> None:
        if "/v1/stream" in request.url:
            self._tried.add("sse")
        elif LONG_POLL.search(request.url):
            self._tried.add("long-poll")

    async def ways_tried(self) -> set[Way]:
        """By which the page has asked for news so far."""
        return set(self._tried)

    def expect_error(self, pattern: str) -> None:
        """What the browser will complain of is part of the test."""
        self._expected.append(pattern)

    def complaints(self) -> list[str]:
        """Errors of the page, refused by its policy or not, that nobody expected."""
        return [
            f"{self.user_id}: {error}"
            for error in self._errors
            if not any(re.search(pattern, error) for pattern in self._expected)
        ]

    async def block(self, ways: Sequence[Way]) -> None:
        """Before the page is opened."""
        for way in ways:
            self.expect_error(REFUSED[way])
        if "websocket" in ways:
            await self.context.add_init_script(BLOCK_WEBSOCKETS)
        if "sse" in ways:
            await self.context.route("**/v1/stream*", _refuse)
        if "long-poll" in ways:
            await self.context.route(LONG_POLL, _refuse)

    async def go_offline(self) -> None:
        self.expect_error("net::ERR_INTERNET_DISCONNECTED")
        await self.context.set_offline(True)

    async def go_online(self) -> None:
        await self.context.set_offline(False)


async def _refuse(route: Route) -> None:
    await route.abort()


class People:
    """Everybody whom a test puts in front of a browser."""

    def __init__(self, browser: Browser, demo: Demo) -> None:
        self._browser = browser
        self._demo = demo
        self._opened: list[Person] = []

    async def open(
        self,
        user_id: str,
        path: str = "/app",
        *,
        viewport: ViewportSize = DESKTOP,
        blocked: Sequence[Way] = (),
        **options: Any,
    ) -> Person:
        """Signed in, at `path` of the web app. `options` are those of a browser context."""
        person = await self.meet(user_id, viewport=viewport, **options)
        await person.block(blocked)
        await person.page.goto(f"{self._demo.url}{path}#token={self._demo.token(user_id)}")
        # The page has taken the token, so that the person stays signed in wherever they go next.
        await person.page.wait_for_function("() => !location.hash.includes('token=')")
        return person

    async def meet(self, name: str, **options: Any) -> Person:
        """With an empty page, signed in nowhere."""
        options = {
            "viewport": DESKTOP,
            "locale": "en-GB",
            "timezone_id": "Europe/London",
            **options,
        }
        context = await self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        await context.add_init_script(TELL_VIOLATIONS)
        person = Person(name, context, await context.new_page())
        self._opened.append(person)
        return person

    def complaints(self) -> list[str]:
        return [each for person in self._opened for each in person.complaints()]

    async def close(self) -> None:
        for person in self._opened:
            await person.context.close()
