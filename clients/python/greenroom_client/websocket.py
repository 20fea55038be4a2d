"""The WebSocket transport, and the frames that go over it."""

import asyncio
import itertools
import json
import ssl
from typing import Any, NoReturn
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidStatus,
    WebSocketException,
)

from greenroom_client.errors import BrokenOffError, NotOpenedError, Problem, UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing
from greenroom_client.tokens import Token, Tokens
from greenroom_client.transport import BROKE_OFF, Sink, StreamEndedError, Watched

Json = dict[str, Any]

_ANSWERS = frozenset({"sent", "done", "error", "pong"})


class WebSocketTransport:
    def __init__(
        self,
        url: str,
        tokens: Tokens,
        limits: ClientLimits,
        watched: Watched,
        timing: Timing,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._url = "ws" + url.removeprefix("http") + "/v1/ws"
        self._tokens = tokens
        self._limits = limits
        self._watched = watched
        self._timing = timing
        self._options: dict[str, Any] = {} if tls is None else {"ssl": tls}

    async def run(self, since: str | None, sink: Sink) -> NoReturn:
        token = await self._tokens.get()
        socket = await self._open(since, token)
        frames = Frames(socket, token, self._timing, self._limits)
        try:
            if self._watched.threads:
                await frames.tell({"type": "watch", "threads": self._watched.threads})
            sink.opened(frames)
            while True:
                frames.take(await socket.recv(decode=True), sink)
        except ConnectionClosed as error:
            raise ended(error) from error
        finally:
            sink.closing()
            frames.lose()
            try:
                await socket.close()
            finally:
                socket.transport.abort()

    async def _open(self, since: str | None, token: Token) -> ClientConnection:
        query = "" if since is None else "?" + urlencode({"since": since})
        limits = self._limits
        try:
            return await connect(
                self._url + query,
                additional_headers=token.header,
                compression=None,
                open_timeout=limits.open_timeout_s,
                close_timeout=limits.close_timeout_s,
                ping_interval=limits.ping_interval_s,
                ping_timeout=limits.ping_timeout_s,
                **self._options,
            )
        except InvalidStatus as error:
            answer = error.response
            if answer.status_code == 401:
                self._tokens.refuse(token)
            headers = {name.lower(): text for name, text in answer.headers.raw_items()}
            raise Problem.of_answer(answer.status_code, headers, bytes(answer.body)) from error
        except (InvalidMessage, TimeoutError) as error:
            raise BrokenOffError(str(error)) from error
        except WebSocketException as error:
            raise NotOpenedError(str(error)) from error
        except ConnectionResetError as error:
            raise BrokenOffError(str(error)) from error
        except OSError as error:
            raise UnreachableError(str(error)) from error


class LineLostError(BrokenOffError):
    """The connection ended before the answer; whether the server did what was asked is open."""


class Frames:
    """What goes over an open WebSocket: frames, and answers found again by their `ref`."""

    def __init__(
        self, socket: ClientConnection, token: Token, timing: Timing, limits: ClientLimits
    ) -> None:
        self._socket = socket
        self._timing = timing
        self._limits = limits
        self._paced_s = 0.0
        self._refs = itertools.count(1)
        self._asked: dict[str, asyncio.Future[Json]] = {}
        self.token = token

    def takes(self, frame: Json) -> bool:
        """Whether it is well within the size and the pace beyond which the server hangs up."""
        is_in_pace = self._paced_s < self._timing.now_s() + self._limits.frames_ahead_s
        return is_in_pace and len(json.dumps(frame)) <= self._limits.frame_bytes

    async def ask(self, frame: Json) -> Json:
        """The answer. Raises Problem and LineLostError."""
        ref = str(next(self._refs))
        answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[ref] = answered
        try:
            async with asyncio.timeout(self._limits.answer_timeout_s):
                await self.tell({**frame, "ref": ref})
                answer = await answered
        except TimeoutError as error:
            # One that takes frames and answers none is dead, whatever its pings say.
            self._socket.transport.abort()
            raise LineLostError("no answer within the time") from error
        finally:
            del self._asked[ref]
        if answer["type"] == "lost":
            raise LineLostError("the connection ended before the answer")
        if answer["type"] == "error":
            raise Problem.of_fields(answer)
        return answer

    async def tell(self, frame: Json) -> None:
        """Without waiting for an answer. Raises LineLostError."""
        step_s = 1 / self._limits.frames_per_s
        self._paced_s = max(self._paced_s, self._timing.now_s()) + step_s
        try:
            await self._socket.send(json.dumps(frame))
        except ConnectionClosed as error:
            raise LineLostError(str(ended(error))) from error

    async def renew(self, token: Token) -> None:
        await self.ask({"type": "auth", "token": token.text})
        self.token = token

    def take(self, text: str, sink: Sink) -> None:
        frame = json.loads(text)
        if frame["type"] not in _ANSWERS:
            sink.deliver(frame, frame.get("cursor"))
            return
        asked = self._asked.get(frame.get("ref", ""))
        if asked is not None and not asked.done():
            asked.set_result(frame)

    def lose(self) -> None:
        for asked in self._asked.values():
            if not asked.done():
                asked.set_result({"type": "lost"})


def ended(error: ConnectionClosed) -> StreamEndedError:
    if error.rcvd is None:
        return StreamEndedError(BROKE_OFF, str(error))
    return StreamEndedError(error.rcvd.code, error.rcvd.reason)
