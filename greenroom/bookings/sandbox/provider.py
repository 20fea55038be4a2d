"""The sandbox: a payment provider to try and test with. It understands the requests of
`money/provider_http.py`, moves no real money, and can be told to decline, to delay its answer, to
hang up, or to send webhooks late.

    python -m greenroom.bookings.sandbox.provider --port 0 --file sandbox.db --secret-file secret

Charges and holds of amounts that end in 13 cents are declined. Every call needs the secret as
`Authorization: Bearer`, also those under /sandbox, which steer it:

    POST /sandbox/script    {"steps": [{"operation": "charge", "do": "timeout_after"}, …]}
    POST /sandbox/settle    {"key": …, "status": "succeeded"}: decide what is pending
    POST /sandbox/webhooks  {"mode": "now" | "held"}
    POST /sandbox/deliver   {"order": "as_made" | "reversed", "times": 1}: send the held ones
    GET  /sandbox/operations

A step applies to the next call of its operation, and only to that one. `fail` and `pending` are the
outcome of a new operation; `timeout_after` carries it out and hangs up without an answer;
`timeout_before` hangs up without doing anything; `error` answers with a status; `delay` waits for
some milliseconds; `answer_twice` delivers the webhook twice.
"""

import argparse
import asyncio
import hmac
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import unquote

import msgspec

from greenroom.bookings.money.provider import OperationName
from greenroom.bookings.money.webhook_signatures import HEADER, sign
from greenroom.bookings.sandbox.listener import Request, Response, SandboxServer
from greenroom.bookings.sandbox.state import Asked, KeyMismatchError, Owed, SandboxState, Will
from greenroom.kernel.clock import Clock, system_clock
from greenroom.platform.backoff import Backoff
from greenroom.platform.http_client import HttpError, send
from greenroom.platform.processes.termination import run_until_sigterm

HOST = "127.0.0.1"
KEY_CHARACTERS = 255
WEBHOOK_TIMEOUT_S = 10.0
WEBHOOK_ANSWER_BYTES = 64 * 1024
WEBHOOK_BACKOFF = Backoff(base_ms=500, cap_ms=8000, attempts=6)

T = TypeVar("T")
Short = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
Action = Literal[
    "fail", "pending", "delay", "timeout_after", "timeout_before", "answer_twice", "error"
]
# These decide the outcome of a new operation. A call that repeats one does not use them up.
OUTCOMES = ("fail", "pending", "answer_twice")

log = logging.getLogger("greenroom.sandbox")


class _Operation(msgspec.Struct):
    operation: OperationName
    account: Short
    amount_cents: Annotated[int, msgspec.Meta(ge=1, le=10**12)]
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    reference: Short
    source: Short | None = None


class _Step(msgspec.Struct, forbid_unknown_fields=True):
    do: Action
    operation: OperationName | None = None
    code: Short = "card_declined"
    ms: Annotated[int, msgspec.Meta(ge=0, le=60_000)] = 0
    status: Annotated[int, msgspec.Meta(ge=400, le=599)] = 500


class _Script(msgspec.Struct):
    steps: Annotated[list[_Step], msgspec.Meta(max_length=1000)]


class _Settle(msgspec.Struct):
    key: Short | None = None
    status: Literal["succeeded", "failed"] = "succeeded"
    code: Short | None = None


class _Webhooks(msgspec.Struct):
    mode: Literal["now", "held"]


class _Deliver(msgspec.Struct):
    order: Literal["as_made", "reversed"] = "as_made"
    times: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


class Sandbox:
    """Runs inside a process while `async with` is open. `webhook_url` may be set later, when it is
    known where the product listens."""

    def __init__(
        self,
        file: Path,
        *,
        secret: str,
        webhook_url: str | None = None,
        port: int = 0,
        clock: Clock = system_clock,
        backoff: Backoff = WEBHOOK_BACKOFF,
    ) -> None:
        self.url = ""
        self.webhook_url = webhook_url
        self._file = file
        self._secret = secret
        self._clock = clock
        self._backoff = backoff
        self._server = SandboxServer(self._answer, host=HOST, port=port)
        self._steps: list[_Step] = []
        self._is_holding = False
        self._sending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        # SQLite waits for the disk, which is nothing for the loop of a server.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sandbox")
        self._state = await self._in_thread(lambda: SandboxState(self._file))
        self.url = f"http://{HOST}:{await self._server.open()}"
        await self._send_owed()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self._in_thread(self._state.close)
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _answer(self, request: Request) -> Response | None:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._secret}".encode()):
            return _refuse(401, "The secret is missing or wrong.")
        try:
            return await self._route(request)
        except ValueError as error:
            return _refuse(400, str(error))
        except KeyMismatchError:
            return _refuse(422, "The key was used for another operation.")

    async def _route(self, request: Request) -> Response | None:
        call = (request.method, request.path)
        if call == ("POST", "/v1/operations"):
            return await self._operate(request)
        if request.method == "GET" and request.path.startswith("/v1/operations/"):
            key = unquote(request.path.removeprefix("/v1/operations/"))
            found = await self._in_thread(lambda: self._state.find(key))
            return _refuse(404, "There is no such key.") if found is None else _show(found)
        if call == ("GET", "/sandbox/operations"):
            return _show({"operations": await self._in_thread(self._state.all)})
        if call == ("POST", "/sandbox/script"):
            self._steps = msgspec.json.decode(request.body, type=_Script).steps
            return _show({"steps": len(self._steps)})
        if call == ("POST", "/sandbox/settle"):
            return await self._settle(msgspec.json.decode(request.body, type=_Settle))
        if call == ("POST", "/sandbox/webhooks"):
            mode = msgspec.json.decode(request.body, type=_Webhooks).mode
            self._is_holding = mode == "held"
            return _show({"mode": mode})
        if call == ("POST", "/sandbox/deliver"):
            return await self._deliver(msgspec.json.decode(request.body, type=_Deliver))
        return _refuse(404, "There is nothing here.")

    async def _operate(self, request: Request) -> Response | None:
        key = request.headers.get("idempotency-key", "")
        if not 1 <= len(key) <= KEY_CHARACTERS:
            return _refuse(400, f"Idempotency-Key takes 1 to {KEY_CHARACTERS} characters.")
        body = msgspec.json.decode(request.body, type=_Operation)
        asked = msgspec.convert(msgspec.structs.asdict(body), Asked)
        is_repeat = await self._in_thread(lambda: self._state.find(key)) is not None
        step = self._take_step(asked.operation, is_repeat=is_repeat)
        if step is not None and step.do == "timeout_before":
            return None
        if step is not None and step.do == "error":
            return _refuse(step.status, "As the script says.")
        if step is not None and step.do == "delay":
            await asyncio.sleep(step.ms / 1000)
        will = self._will(step)
        shown = await self._in_thread(lambda: self._state.carry_out(key, asked, will))
        await self._send_owed()
        return None if step is not None and step.do == "timeout_after" else _show(shown)

    def _take_step(self, operation: str, *, is_repeat: bool) -> _Step | None:
        for place, step in enumerate(self._steps):
            is_for_it = step.operation in (None, operation)
            if is_for_it and not (is_repeat and step.do in OUTCOMES):
                return self._steps.pop(place)
        return None

    def _will(self, step: _Step | None) -> Will:
        copies = 0 if self.webhook_url is None else 1
        match None if step is None else step.do:
            case "fail" if step is not None:
                return Will("failed", step.code, copies)
            case "pending":
                return Will("pending", None, copies)
            case "answer_twice":
                return Will("succeeded", None, 2 * copies)
            case _:
                return Will("succeeded", None, copies)

    async def _settle(self, asked: _Settle) -> Response:
        code = asked.code or ("card_declined" if asked.status == "failed" else None)
        copies = 0 if self.webhook_url is None else 1
        settled = await self._in_thread(
            lambda: self._state.settle(asked.key, asked.status, code, copies)
        )
        await self._send_owed()
        return _show({"settled": settled})

    async def _send_owed(self) -> None:
        """Send webhooks in the background: the answer to a call does not wait for them."""
        if self._is_holding or self.webhook_url is None:
            return
        busy = {task.get_name() for task in self._sending}
        for owed in await self._in_thread(self._state.owed):
            name = f"webhook {owed.number}"
            if name not in busy:
                task = asyncio.create_task(self._send_stubbornly(owed), name=name)
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _send_stubbornly(self, owed: Owed) -> None:
        for attempt in range(self._backoff.attempts):
            if await self._send(owed, owed.copies):
                return
            await self._backoff.pause(attempt)
        log.warning("a webhook was not taken; it is kept", extra={"count": owed.number})

    async def _deliver(self, asked: _Deliver) -> Response:
        owed = await self._in_thread(self._state.owed)
        if asked.order == "reversed":
            owed.reverse()
        taken = [await self._send(each, each.copies * asked.times) for each in owed]
        return _show({"delivered": sum(taken), "left": len(taken) - sum(taken)})

    async def _send(self, owed: Owed, copies: int) -> bool:
        for _ in range(copies):
            if not await self._post(owed.body):
                return False
        await self._in_thread(lambda: self._state.sent(owed.number))
        return True

    async def _post(self, body: bytes) -> bool:
        if self.webhook_url is None:
            return False
        signature = sign(self._secret, body, at_s=self._clock() // 1000)
        try:
            reply = await send(
                "POST",
                self.webhook_url,
                headers={"content-type": "application/json", HEADER: signature},
                body=body,
                timeout_s=WEBHOOK_TIMEOUT_S,
                limit_bytes=WEBHOOK_ANSWER_BYTES,
            )
        except HttpError:
            return False
        return 200 <= reply.status < 300


def _show(body: Any) -> Response:
    return Response(200, msgspec.json.encode(body))


def _refuse(status: int, detail: str) -> Response:
    return Response(status, msgspec.json.encode({"detail": detail}))


def run(file: Path, *, secret: str, webhook_url: str | None, port: int) -> int:
    """Serve until SIGTERM; the first line printed is the address."""

    async def serve() -> None:
        async with Sandbox(file, secret=secret, webhook_url=webhook_url, port=port) as sandbox:
            print(sandbox.url, flush=True)
            await asyncio.Event().wait()

    run_until_sigterm(serve())
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A payment provider to try and test with.")
    option = parser.add_argument
    option("--port", type=int, default=0, help="port, 0: any free (0)")
    option("--file", type=Path, required=True, help="where it remembers operations")
    option("--secret-file", type=Path, required=True, help="holds the secret")
    option("--webhook-url", help="where events are posted to")
    args = parser.parse_args(argv)
    secret = args.secret_file.read_text().strip()
    return run(args.file, secret=secret, webhook_url=args.webhook_url, port=args.port)


if __name__ == "__main__":
    raise SystemExit(main())
