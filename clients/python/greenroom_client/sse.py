"""The SSE transport."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import NoReturn

import httpx

from greenroom_client.calls import Calls, failure_of
from greenroom_client.errors import BrokenOffError, NotOpenedError, Problem
from greenroom_client.limits import ClientLimits
from greenroom_client.sse_lines import SseEvent, SseReader
from greenroom_client.tokens import Token, Tokens
from greenroom_client.transport import BROKE_OFF, Sink, StreamEndedError, Watched

THREAD_NOT_FOUND = "THREAD_NOT_FOUND"

log = logging.getLogger("greenroom_client")


class SseTransport:
    def __init__(
        self,
        calls: Calls,
        tokens: Tokens,
        limits: ClientLimits,
        watched: Watched,
    ) -> None:
        self._calls = calls
        self._tokens = tokens
        self._limits = limits
        self._watched = watched

    async def run(self, since: str | None, sink: Sink) -> NoReturn:
        while True:
            try:
                await self._run_once(since, sink)
            except Problem as problem:
                if problem.code != THREAD_NOT_FOUND or not self._watched.threads:
                    raise
                log.warning("a watched thread is not there; watching none")
                self._watched.threads = []

    async def _run_once(self, since: str | None, sink: Sink) -> NoReturn:
        token = await self._tokens.get()
        reading = _Reading(self._calls, token, sink)
        try:
            # A proxy that collects the answer never lets us have the greeting.
            async with asyncio.timeout(self._limits.open_timeout_s) as patience:
                reading.on_open = lambda: patience.reschedule(None)
                async with self._answer(since, token) as answer:
                    await self._read(answer, reading)
        except TimeoutError as error:
            raise BrokenOffError("no stream within the time") from error
        except httpx.TransportError as error:
            if not reading.is_open:
                raise failure_of(error) from error
            raise StreamEndedError(BROKE_OFF, str(error)) from error
        finally:
            sink.closing()
        raise reading.ended or StreamEndedError(BROKE_OFF, "the answer ended")

    @contextlib.asynccontextmanager
    async def _answer(self, since: str | None, token: Token) -> AsyncIterator[httpx.Response]:
        params = {} if since is None else {"since": since}
        if self._watched.threads:
            params["watch"] = ",".join(self._watched.threads)
        accept = {"accept": "text/event-stream", "accept-encoding": "identity"}
        timeout = httpx.Timeout(self._limits.silence_s, connect=self._limits.open_timeout_s)
        http = self._calls.http
        async with http.stream(
            "GET", "/v1/stream", params=params, headers={**token.header, **accept}, timeout=timeout
        ) as answer:
            if answer.status_code == 401:
                self._tokens.refuse(token)
            if not answer.is_success:
                content = await answer.aread()
                raise Problem.of_answer(answer.status_code, answer.headers, content)
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                raise NotOpenedError("the answer is no event stream")
            yield answer

    async def _read(self, answer: httpx.Response, reading: "_Reading") -> None:
        """To the end of the answer, which comes soon after `close`: leaving it half read would
        leave generators of httpx behind to be cleaned up at some time."""
        reader = SseReader()
        try:
            async with asyncio.timeout(None) as farewell:
                async for chunk in answer.aiter_raw():
                    for event in reader.read(chunk):
                        reading.take(event)
                    if reading.ended is not None and farewell.when() is None:
                        now_s = asyncio.get_running_loop().time()
                        farewell.reschedule(now_s + self._limits.close_timeout_s)
        except (TimeoutError, httpx.TransportError):
            if reading.ended is None:
                raise


class _Reading:
    """One stream, as it is read."""

    def __init__(self, calls: Calls, token: Token, sink: Sink) -> None:
        self._calls = calls
        self._token = token
        self._sink = sink
        self.on_open: Callable[[], None] = lambda: None
        self.is_open = False
        self.ended: StreamEndedError | None = None

    def take(self, event: SseEvent) -> None:
        if not event.data:
            self._sink.deliver(None, event.id)
            return
        data = json.loads(event.text)
        if event.name == "hello" and not self.is_open:
            self.is_open = True
            self.on_open()
            self._sink.opened(SseLine(self._calls, self._token, data["stream"]))
        elif event.name == "close":
            self.ended = StreamEndedError(
                data["code"],
                data.get("reason", ""),
                retry_after_s=(data.get("retry_after_ms") or 0) / 1000,
                reconnect=data.get("reconnect", True),
            )
        elif not event.name and self.ended is None:
            self._sink.deliver(data, data.get("cursor"))


class SseLine:
    def __init__(self, calls: Calls, token: Token, stream_id: str) -> None:
        self._calls = calls
        self._stream_id = stream_id
        self.token = token

    async def renew(self, token: Token) -> None:
        # The call takes the current token from the same place, so it carries this one.
        await self._calls.call("POST", f"/v1/streams/{self._stream_id}/renew")
        self.token = token
