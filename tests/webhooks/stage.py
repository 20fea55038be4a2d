"""Webhooks over a real database, with events, receivers and a clock that tests move."""

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import asyncpg

from greenroom.events.log import EventLog
from greenroom.events.model import LoggedEvent
from greenroom.kernel.ids import encode_random
from greenroom.kernel.limits import Limits
from greenroom.platform.bus.port import LonelyBus
from greenroom.platform.egress import Egress
from greenroom.platform.http_client import HttpError, Reply
from greenroom.webhooks.actions import Webhooks
from greenroom.webhooks.dispatching import Dispatcher
from greenroom.webhooks.model import Delivery, Webhook
from greenroom.webhooks.running import WebhookRunner
from greenroom.webhooks.sending import Posts, Sender
from greenroom.webhooks.signing import Sealer
from tests.support.clock import FakeClock

EMPTY = """
truncate webhook, webhook_delivery, webhook_lane, event_cursor, event_log, event_log_head
"""
LOG = """
with head as (
    insert into event_log_head as h (position) values (1)
    on conflict (is_only_row) do update set position = h.position + 1 returning position
)
insert into event_log (position, event_id, type, occurred_at, logged_at, thread_id, thread_number)
select position, $1, $2, $3, $3, $4, $5 from head
"""
KEY = b"a key for the secrets of webhooks in tests"


class Ids:
    """The data of an event: its ids."""

    async def fill(
        self,
        events: Sequence[LoggedEvent],
        *,
        include_content: bool,  # noqa: ARG002
    ) -> list[dict[str, Any]]:
        return [
            {"thread_id": each.thread_id, "thread_number": each.thread_number, "n": each.position}
            for each in events
        ]


@dataclass(frozen=True)
class Post:
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


Answer = Callable[[Post], int]
"""The status of the answer; 0: there is none."""


class Receiver:
    """Takes what is posted. `answer` decides; what it took with 200 is in `accepted`."""

    def __init__(self) -> None:
        self.answer: Answer = lambda _: 200
        self.posts: list[Post] = []
        self.accepted: list[Post] = []

    async def send(
        self,
        method: str,  # noqa: ARG002
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float,  # noqa: ARG002
        limit_bytes: int,  # noqa: ARG002
    ) -> Reply:
        post = Post(url, headers or {}, body or b"")
        self.posts.append(post)
        await asyncio.sleep(0)
        status = self.answer(post)
        if status == 0:
            raise HttpError("the connection failed (ClientConnectorError)")
        if status == 200:
            self.accepted.append(post)
        return Reply(status, b"<h1>as I said</h1>\n\x00")

    def ids(self, thread_id: str | None = None) -> list[str]:
        """What was taken, of a thread or of all."""
        return [
            each.id
            for each in self.accepted
            if thread_id is None or each.json["data"].get("thread_id") == thread_id
        ]


class Stage:
    def __init__(self, pool: asyncpg.Pool, limits: Limits | None = None) -> None:
        self.pool = pool
        self.clock = FakeClock()
        self.limits = limits or Limits()
        self.receiver = Receiver()
        self.sealer = Sealer(KEY)
        self.log = EventLog(pool, LonelyBus())
        self.webhooks = Webhooks(
            *(pool, self.log, self.sealer, Egress()),
            clock=self.clock,
            randomness=self._randomness,
            limits=self.limits,
            wake=lambda: None,
        )
        self._numbers = itertools.count(1)
        self._in_thread: dict[str, int] = {}
        self.runner = self.new_runner()

    def _randomness(self) -> str:
        return encode_random(next(self._numbers))

    def new_runner(
        self, client: Posts | None = None, *, sealer: Sealer | None = None, margin_s: float = 10.0
    ) -> WebhookRunner:
        """As a worker has it. Several may run at the same time."""
        sender = Sender(
            *(self.pool, Ids(), client or self.receiver, sealer or self.sealer),
            clock=self.clock,
            limits=self.limits,
            chance=lambda: 0.5,
            margin_s=margin_s,
        )
        dispatcher = Dispatcher(self.pool, clock=self.clock, limits=self.limits)
        return WebhookRunner(self.log, dispatcher, sender, LonelyBus())

    async def add(self, host: str = "shop", *events: str) -> Webhook:
        made = await self.webhooks.add(
            f"https://{host}.example/hook", events or ("*",), include_content=False, description=""
        )
        assert isinstance(made, Webhook)
        return made

    async def happen(self, thread_id: str | None = None, name: str = "message.send") -> str:
        """Something is logged; returns its id."""
        number = None
        if thread_id is not None:
            number = self._in_thread[thread_id] = self._in_thread.get(thread_id, 0) + 1
        event_id = f"evt_{self.clock():012x}{self._randomness()}"
        await self.pool.execute(LOG, event_id, name, self.clock(), thread_id, number)
        return event_id

    async def drain(self) -> int:
        return await self.runner.drain()

    async def advance(self, *, step_minutes: float = 30, **span: float) -> None:
        """Let time pass, with a worker that does what is due."""
        end = FakeClock()
        end.advance(**span)
        until_ms = self.clock() + end() - FakeClock()()
        while self.clock() < until_ms:
            self.clock.now_ms = min(until_ms, self.clock() + int(step_minutes * 60_000))
            await self.drain()

    async def listed(self, webhook: Webhook, state: str | None = None) -> list[Delivery]:
        return await self.webhooks.deliveries(webhook.webhook_id, state, None, 1000)

    async def now(self, webhook: Webhook) -> Webhook:
        return await self.webhooks.access(webhook.webhook_id)


async def new_stage(pool: asyncpg.Pool, **limits: int) -> Stage:
    await pool.execute(EMPTY)
    return Stage(pool, replace(Limits(), **limits))
