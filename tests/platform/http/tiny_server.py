"""A server small enough to start in a test: `one`, `many WORKERS`, or a worker of `many`."""

import asyncio
import os
import sys

import msgspec

from greenroom.kernel.limits import Limits
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Answer, Call, Caller, Endpoint, Who
from greenroom.platform.http.standard import standard_endpoints
from greenroom.platform.logs import configure_logging
from greenroom.server import serve_one, supervise

LIMITS = Limits(shutdown_grace_s=20)


class Note(msgspec.Struct):
    text: str


def say(*words: object) -> None:
    # One write, so that two workers' lines never mix, also where Python does not buffer.
    print(" ".join(map(str, words)) + "\n", end="", flush=True)


async def authenticate(_header: str | None) -> Caller:
    return ANYONE


async def get_pid(_call: Call) -> Answer:
    return Answer(body={"pid": os.getpid()})


async def create_note(call: Call) -> Answer:
    return Answer(201, call.body)


async def wait_for_stop(_call: Call) -> Answer:
    """Ends only after the order to stop has come, so that it is in flight at that moment."""
    say("waiting")
    while not APP.draining:  # noqa: ASYNC110 - the app has no event for this
        await asyncio.sleep(0.005)
    return Answer(body="finished")


async def hang(_call: Call) -> Answer:
    say("hanging")
    await asyncio.Event().wait()
    return Answer()


async def is_ready() -> None:
    pass


async def stop() -> None:
    say("shutdown ran")


def endpoint(method: str, path: str, handler: object, **options: object) -> Endpoint:
    return Endpoint(method, path, handler, "", Who.ANYONE, {200: Note}, "T", **options)  # type: ignore[arg-type]


ENDPOINTS = [
    endpoint("GET", "/pid", get_pid),
    endpoint("POST", "/notes", create_note, body=Note),
    endpoint("GET", "/wait", wait_for_stop),
    endpoint("GET", "/hang", hang),
]
APP = HttpApp(
    [*ENDPOINTS, *standard_endpoints(ENDPOINTS, ready=is_ready, title="Tiny", version="0")],
    authenticate=authenticate,
    shutdown=stop,
)


async def fail_to_start() -> None:
    raise ConnectionError


def main(mode: str, argument: str = "") -> int:
    configure_logging()
    if mode == "broken":
        broken = HttpApp(ENDPOINTS, authenticate=authenticate, startup=fail_to_start)
        return serve_one(lambda: broken, limits=LIMITS)
    if mode == "one":
        return serve_one(lambda: APP, limits=LIMITS, on_ready=lambda port: say("ready", port))
    if mode == "worker":
        return serve_one(
            lambda: APP, fd=int(argument), limits=LIMITS, on_ready=lambda _: _say_worker()
        )
    return supervise(
        lambda fd: [sys.executable, __file__, "worker", str(fd)],
        host="127.0.0.1",
        port=0,
        workers=int(argument),
        limits=LIMITS,
        on_ready=lambda port: say("ready", port),
    )


def _say_worker() -> None:
    say("worker", os.getpid())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
