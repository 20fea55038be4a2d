"""A feed with transports that do as a test tells them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

import httpx

from greenroom_client.activity import Activity
from greenroom_client.backoff import RetryBudget
from greenroom_client.calls import Calls
from greenroom_client.choice import KINDS, Choice, Kind
from greenroom_client.feed import Feed
from greenroom_client.handover import Handover
from greenroom_client.limits import ClientLimits
from greenroom_client.link import Link
from greenroom_client.queue_file import NoQueueFile
from greenroom_client.sending import SendQueue
from greenroom_client.state import State
from greenroom_client.timing import Signal, end
from greenroom_client.tokens import Tokens, TokenSource
from greenroom_client.transport import Sink

from .fake_server import FakeServer
from .virtual_time import virtual_timing

Json = dict[str, Any]
Behaviour = Callable[[str | None, Sink], Awaitable[NoReturn]]


class Log:
    """A person's feed, as the server has it."""

    def __init__(self) -> None:
        self.events: list[Json] = []
        self.grew = Signal()

    def write(self) -> None:
        number = len(self.events) + 1
        self.events.append({"type": "something", "cursor": f"e-{number}", "number": number})
        self.grew.fire()

    async def until_longer_than(self, count: int) -> None:
        await self.grew.wait_for(lambda: len(self.events) > count)

    def start(self, since: str | None) -> int:
        return 0 if since is None else int(since.removeprefix("e-"))


class FakeTransport:
    """Does what is next in `plan`, then what it does `otherwise`; notes where it began."""

    def __init__(self, otherwise: Behaviour) -> None:
        self.plan: list[Behaviour] = []
        self.otherwise = otherwise
        self.began: list[str | None] = []
        self.has_begun = Signal()

    async def run(self, since: str | None, sink: Sink) -> NoReturn:
        self.began.append(since)
        self.has_begun.fire()
        behave = self.plan.pop(0) if self.plan else self.otherwise
        await behave(since, sink)


def failing(error: Exception) -> Behaviour:
    """Does not open."""

    async def fail(_since: str | None, _sink: Sink) -> NoReturn:
        raise error

    return fail


def ending(error: Exception, *, after_s: float = 60) -> Behaviour:
    """Opens, and ends some time later."""

    async def end_later(_since: str | None, sink: Sink) -> NoReturn:
        sink.opened(None)
        await asyncio.sleep(after_s)
        raise error

    return end_later


async def stay(_since: str | None, sink: Sink) -> NoReturn:
    """Opens, and has nothing to tell."""
    sink.opened(None)
    await asyncio.get_running_loop().create_future()
    raise AssertionError


class Rig:
    """Ends with `async with`."""

    def __init__(
        self,
        *,
        kinds: Sequence[Kind] = KINDS,
        otherwise: Behaviour = stay,
        token: TokenSource = lambda: "a token",
        limits: ClientLimits | None = None,
        chance: Callable[[], float] = lambda: 0.5,
    ) -> None:
        limits = limits or ClientLimits()
        timing = virtual_timing(chance)
        self.server = FakeServer()
        self.transports = {kind: FakeTransport(otherwise) for kind in KINDS}
        self.state = State()
        self.handover = Handover(None, self.state, limits)
        self.link = Link(timing)
        self.activity = Activity("open", timing, limits)
        self.tokens = Tokens(token, timing, limits)
        self.choice = Choice(kinds, limits)
        self._http = httpx.AsyncClient(
            base_url="http://greenroom.test", transport=self.server.transport
        )
        self._budget = RetryBudget(timing, limits)
        self._calls = Calls(self._http, self.tokens, limits)
        self._timing, self._limits = timing, limits
        self.feed = Feed(
            self.transports,
            self.choice,
            self.handover,
            self.link,
            self.activity,
            self._budget,
            self.tokens,
            self._calls,
            timing,
            limits,
        )

    def queue(self, frames: Callable[[], Any]) -> SendQueue:
        """A queue of sends beside this feed."""
        return SendQueue(
            *(NoQueueFile(), frames, self._calls, self.link, self.tokens, self._budget),
            *(self.state, self._timing, self._limits),
        )

    def open_transport(self) -> Kind | None:
        return self.feed.transport

    def attempts(self) -> dict[str, int]:
        return {kind: len(each.began) for kind, each in self.transports.items() if each.began}

    async def __aenter__(self) -> "Rig":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.feed.stop()
        await self._http.aclose()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left


async def during(work: Awaitable[Any], *others: Awaitable[Any]) -> None:
    """`work`, with the others beside it for as long; if one of them fails, that is the end."""
    main, *tasks = (asyncio.ensure_future(each) for each in (work, *others))
    waiting = {main, *tasks}
    try:
        while main in waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        await end(main, *tasks)
