"""Answers: problems, headers, CORS, draining and the lifespan."""

import asyncio
import io
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest

from greenroom.kernel.errors import MsgTooLong, Problem, RateLimited, Unavailable
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Answer, Call, Caller, Endpoint, Who
from greenroom.platform.http.problems import known_problems
from greenroom.platform.logs import JsonFormatter

SECRET = "hunter2"
ORIGIN = "https://market.example"


async def authenticate(_header: str | None) -> Caller:
    return ANYONE


def app_with(handler: Callable[[Call], Awaitable[Answer]], **options: Any) -> HttpApp:
    endpoint = Endpoint("POST", "/do/{id}", handler, "Do", Who.ANYONE, {200: str}, "Do")
    return HttpApp([endpoint], authenticate=authenticate, **options)


def client_of(app: HttpApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


async def post(app: HttpApp, **options: Any) -> httpx.Response:
    async with client_of(app) as client:
        return await client.post("/do/1", **options)


async def answer_ok(_call: Call) -> Answer:
    return Answer(body={"ok": True})


def raising(error: Exception) -> Callable[[Call], Awaitable[Answer]]:
    async def fail(_call: Call) -> Answer:
        raise error

    return fail


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("greenroom")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(level)


async def test_a_problem_is_an_rfc_9457_document() -> None:
    error = MsgTooLong("2001 characters.", extra={"limit": 2000})
    answer = await post(app_with(raising(error)))
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "/docs#MSG_TOO_LONG",
        "title": "The message is too long",
        "status": 422,
        "code": "MSG_TOO_LONG",
        "detail": "2001 characters.",
        "hint": MsgTooLong.hint,
        "corr_id": answer.headers["x-correlation-id"],
        "limit": 2000,
    }


@pytest.mark.parametrize(
    ("problem", "seconds"),
    [
        (RateLimited(retry_after_s=0.2), "1"),
        (RateLimited(retry_after_s=2.1), "3"),
        (Unavailable(), "1"),
    ],
)
async def test_waiting_times_are_whole_seconds(problem: Problem, seconds: str) -> None:
    assert (await post(app_with(raising(problem)))).headers["retry-after"] == seconds


async def test_an_unexpected_error_says_nothing_and_logs_its_stack(log_lines: io.StringIO) -> None:
    app = app_with(raising(ValueError(f"token {SECRET}")))
    answer = await post(app, content=SECRET.encode(), headers={"Authorization": SECRET})
    assert answer.status_code == 500
    assert answer.json()["code"] == "INTERNAL"
    assert "ValueError" not in answer.text
    logged = [json.loads(line) for line in log_lines.getvalue().splitlines()]
    assert logged[0]["corr_id"] == answer.json()["corr_id"]
    assert "in fail" in logged[0]["exception"]
    assert logged[0]["exception"].endswith("ValueError")
    assert logged[1]["route"] == "/do/{id}"
    assert SECRET not in log_lines.getvalue()
    assert SECRET not in answer.text


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), OSError(5, "io")])
async def test_lost_connections_and_timeouts_are_unavailable(error: Exception) -> None:
    answer = await post(app_with(raising(error)))
    assert answer.status_code == 503
    assert answer.json()["code"] == "UNAVAILABLE"
    assert answer.headers["retry-after"] == "1"


async def test_an_answer_that_cannot_be_encoded_is_internal() -> None:
    async def answer_nonsense(_call: Call) -> Answer:
        return Answer(body=object())

    assert (await post(app_with(answer_nonsense))).status_code == 500


@pytest.mark.parametrize("body", [b'{"a":1}', msgspec.Raw(b'{"a":1}'), {"a": 1}])
async def test_ready_made_json_goes_out_as_it_is(body: object) -> None:
    async def answer_body(_call: Call) -> Answer:
        return Answer(body=body)

    assert (await post(app_with(answer_body))).content == b'{"a":1}'


async def test_no_content_has_no_type_or_length() -> None:
    async def answer_nothing(_call: Call) -> Answer:
        return Answer(204)

    answer = await post(app_with(answer_nothing))
    assert answer.status_code == 204
    assert "content-type" not in answer.headers
    assert "content-length" not in answer.headers


async def test_each_answer_has_its_own_correlation_id_and_safe_headers() -> None:
    app = app_with(answer_ok)
    first = await post(app, headers={"X-Request-Id": "mine", "X-Correlation-Id": "mine"})
    second = await post(app)
    ids = {first.headers["x-correlation-id"], second.headers["x-correlation-id"]}
    assert len(ids) == 2
    assert all(each.startswith("cor_") and len(each) == 30 for each in ids)
    assert first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["referrer-policy"] == "no-referrer"


async def test_an_html_answer_has_a_strict_policy_unless_it_brings_its_own() -> None:
    async def page(_call: Call) -> Answer:
        return Answer(body=b"<p>", content_type="text/html; charset=utf-8")

    async def own(_call: Call) -> Answer:
        headers = {"Content-Security-Policy": "default-src 'self'", "Cache-Control": "public"}
        return Answer(body=b"<p>", content_type="text/html", headers=headers)

    strict = await post(app_with(page))
    assert strict.headers["content-security-policy"].startswith("default-src 'none'")
    loose = await post(app_with(own))
    assert loose.headers.get_list("content-security-policy") == ["default-src 'self'"]
    assert loose.headers["cache-control"] == "public"


async def test_a_listed_origin_may_call_and_read_our_headers() -> None:
    app = app_with(answer_ok, allowed_origins=[ORIGIN])
    answer = await post(app, headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "X-Correlation-Id" in answer.headers["access-control-expose-headers"]
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://market.example.evil", "null", ORIGIN.upper()]
)
async def test_other_origins_may_not(origin: str) -> None:
    answer = await post(app_with(answer_ok, allowed_origins=[ORIGIN]), headers={"Origin": origin})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["vary"] == "Origin"


async def test_errors_can_be_read_across_origins_too() -> None:
    app = app_with(raising(MsgTooLong()), allowed_origins=[ORIGIN])
    answer = await post(app, headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN


async def test_a_preflight_is_answered_without_a_token() -> None:
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    async with client_of(app_with(answer_ok, allowed_origins=[ORIGIN])) as client:
        allowed = await client.options("/do/1", headers=asked)
        refused = await client.options("/do/1", headers={**asked, "Origin": "https://x.example"})
        missing = await client.options("/nothing", headers=asked)
    assert allowed.status_code == 204
    assert "POST" in allowed.headers["access-control-allow-methods"]
    listed = allowed.headers["access-control-allow-headers"]
    for name in ("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID"):
        assert name in listed
    assert "access-control-allow-methods" not in refused.headers
    assert missing.status_code == 404


async def test_draining_refuses_new_requests_and_finishes_those_in_flight() -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_call: Call) -> Answer:
        reached.set()
        await go_on.wait()
        return Answer(body="done")

    app = app_with(wait)
    in_flight = asyncio.create_task(post(app))
    await reached.wait()
    app.begin_drain()
    refused = await post(app)
    go_on.set()
    assert (await in_flight).json() == "done"
    assert refused.status_code == 503
    assert refused.headers["connection"] == "close"
    assert refused.json()["code"] == "UNAVAILABLE"


async def lifespan_of(app: HttpApp) -> list[str]:
    incoming = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": next(incoming)}

    async def collect(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, collect)
    return sent


async def test_the_lifespan_runs_both_hooks_and_drains() -> None:
    ran: list[str] = []

    async def start() -> None:
        ran.append("start")

    async def stop() -> None:
        ran.append("stop")

    app = app_with(answer_ok, startup=start, shutdown=stop)
    assert await lifespan_of(app) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert ran == ["start", "stop"]
    assert app.draining


async def test_a_failed_start_is_reported() -> None:
    async def start() -> None:
        raise ConnectionError

    assert await lifespan_of(app_with(answer_ok, startup=start)) == ["lifespan.startup.failed"]


def test_every_known_problem_has_a_code_a_title_and_a_hint() -> None:
    for problem in known_problems():
        assert problem.code.isupper()
        assert problem.title()
        assert problem.hint
