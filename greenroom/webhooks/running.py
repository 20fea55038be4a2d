"""Runs the dispatcher and the sender in a worker."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from greenroom.events.log import EventLog
from greenroom.kernel.errors import Unavailable
from greenroom.platform.bus.port import Bus
from greenroom.platform.metrics import BACKGROUND_FAILURES
from greenroom.platform.postgres.pool import PASSING_FAILURES
from greenroom.webhooks.dispatching import Dispatcher
from greenroom.webhooks.sending import Sender

TOPIC = "webhooks"
"""Published when something is due, or the webhooks have changed."""
LOOK_S = 5.0
FAILED_PAUSE_S = 2.0
BEHIND_PAUSE_S = 0.2

log = logging.getLogger(__name__)


class WebhookRunner:
    def __init__(self, events: EventLog, dispatcher: Dispatcher, sender: Sender, bus: Bus) -> None:
        self._events = events
        self._dispatcher = dispatcher
        self._sender = sender
        self._bus = bus
        self._changed = asyncio.Event()
        self._stopping = False
        bus.subscribe(TOPIC, self._hear)
        bus.on_gap(self._sender.wake)

    def _hear(self, _items: Sequence[str]) -> None:
        self._changed.set()
        self._sender.wake()

    def publish(self) -> None:
        """Something is due: tell the senders of every process."""
        self._bus.publish(TOPIC, ["due"])

    async def run(self) -> None:
        await asyncio.gather(self._dispatch(), self._sender.run())

    def stop(self) -> None:
        self._stopping = True
        self._changed.set()
        self._sender.stop()

    async def drain(self) -> int:
        """Queue and post everything that there is at the clock's time."""
        total = 0
        while count := await self._dispatcher.step():
            total += count
        return total + await self._sender.drain()

    async def _dispatch(self) -> None:
        while not self._stopping:
            try:
                self._changed.clear()
                if await self._dispatcher.step():
                    self.publish()
                else:
                    await self._wait()
            except (Unavailable, *PASSING_FAILURES):
                log.warning("events cannot be queued for webhooks just now; they will be later")
                await self._pause(FAILED_PAUSE_S)
            except Exception:
                BACKGROUND_FAILURES.labels("webhooks").inc()
                log.exception("events could not be queued for webhooks; they will be later")
                await self._pause(FAILED_PAUSE_S)

    async def _wait(self) -> None:
        """For new events. Where there are no webhooks, for one."""
        if self._dispatcher.is_behind or not self._dispatcher.has_webhooks:
            await self._pause(BEHIND_PAUSE_S if self._dispatcher.is_behind else LOOK_S)
            return
        growth = asyncio.create_task(self._events.wait_for_new(self._dispatcher.head, LOOK_S))
        change = asyncio.create_task(self._changed.wait())
        await asyncio.wait((growth, change), return_when=asyncio.FIRST_COMPLETED)
        for task in (growth, change):
            task.cancel()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
