"""Hints between the processes of one installation, and the bus of a process that is alone."""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

Handler = Callable[[Sequence[str]], None]
GapHandler = Callable[[], None]

TOPIC = re.compile(r"[a-z][a-z0-9_-]{0,47}")
ITEM = re.compile(r"[!-+\--~]{1,200}")

log = logging.getLogger(__name__)


class Bus(Protocol):
    """Tells every process of something that has happened already.

    - *Content.* Topics match `TOPIC`. Items are ids that match `ITEM`: printable ASCII without
      commas or spaces, never what people wrote.
    - *Delivery.* At most once. Handlers of the same process are called before `publish` returns;
      those of others soon after, or, when a connection is lost, never. Who needs certainty looks
      at the truth from time to time, and at once when `on_gap` says that hints may be missing.
    - *Publishing* neither waits nor raises. What is published while a round is on its way goes
      with the next one, each item once. When too much waits the rest is dropped, and every process
      learns of a gap.
    - *Handlers* are plain functions, quick, and do not raise; one that does is logged, and the
      others are called all the same.
    """

    def publish(self, topic: str, items: Iterable[str]) -> None: ...

    def subscribe(self, topic: str, handler: Handler) -> None: ...

    def on_gap(self, handler: GapHandler) -> None:
        """Called when hints of other processes may have been lost, as after a reconnection."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether hints of other processes come through just now."""
        ...

    async def start(self) -> None:
        """Begin to connect; returns without waiting for it, so that a bus away stops nobody."""
        ...

    async def stop(self) -> None:
        """Send what waits if that is quick, then disconnect."""
        ...


class LocalBus:
    """The bus of a process that is alone, and the in-process half of the others."""

    def __init__(self) -> None:
        self._handlers: defaultdict[str, list[Handler]] = defaultdict(list)
        self._gap_handlers: list[GapHandler] = []

    def publish(self, topic: str, items: Iterable[str]) -> None:
        self._hear(topic, list(items))

    def subscribe(self, topic: str, handler: Handler) -> None:
        if TOPIC.fullmatch(topic) is None:
            raise ValueError(f"no name for a topic: {topic!r}")
        self._handlers[topic].append(handler)

    def on_gap(self, handler: GapHandler) -> None:
        self._gap_handlers.append(handler)

    @property
    def is_connected(self) -> bool:
        return True

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def _hear(self, topic: str, items: Sequence[str]) -> None:
        if not items:
            return
        for handler in self._handlers.get(topic, ()):
            try:
                handler(items)
            except Exception:
                log.exception("a handler of hints failed", extra={"event": topic})

    def _tell_of_gap(self) -> None:
        for handler in self._gap_handlers:
            try:
                handler()
            except Exception:
                log.exception("a handler of gaps failed")


class LonelyBus(LocalBus):
    """The bus of a process beside which there may be others that it cannot hear: they look at the
    truth from time to time, and so does this one."""

    @property
    def is_connected(self) -> bool:
        return False
