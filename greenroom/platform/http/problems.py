"""Turns errors into RFC 9457 problem documents, without internal details."""

import math
from collections.abc import Iterable
from typing import Any

from greenroom.kernel.errors import (
    Internal,
    MethodNotAllowed,
    PayloadTooLarge,
    Problem,
    Unauthenticated,
    Unavailable,
)
from greenroom.platform.http.endpoint import Answer

CONTENT_TYPE = "application/problem+json"


class RequestTooSlow(Problem):
    """The request did not arrive in time"""

    status = 408
    code = "INVALID_REQUEST"
    hint = "Send it again over a better connection."


class RangeNotSatisfiable(Problem):
    """This range lies outside of what is here"""

    status = 416
    code = "INVALID_REQUEST"
    hint = "`bytes` is how much there is; ask for a range within it, or for all of it."


class HeadTooLarge(Problem):
    """The request's address and headers are larger than is accepted here"""

    status = 431
    code = "PAYLOAD_TOO_LARGE"
    hint = "Send fewer and shorter headers."


class OtherSocketVersion(Problem):
    """This version of the WebSocket protocol is not supported"""

    status = 426
    code = "INVALID_REQUEST"
    hint = "Send `Sec-WebSocket-Version: 13`."


def problem_from(error: Exception) -> Problem:
    """What a client may know of an error. Lost connections and timeouts are temporary, so 503."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, OSError):  # ConnectionError and TimeoutError are OSErrors
        return Unavailable()
    return Internal()


def problem_answer(problem: Problem, corr_id: str) -> Answer:
    return Answer(
        status=problem.status,
        body=problem_body(problem, corr_id),
        headers=_headers(problem),
        content_type=CONTENT_TYPE,
    )


def problem_body(problem: Problem, corr_id: str) -> dict[str, Any]:
    title = problem.title()
    return {
        **problem.extra,
        "type": f"/docs#{problem.code}",
        "title": title,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail or title,
        "hint": problem.hint,
        "corr_id": corr_id,
    }


def _headers(problem: Problem) -> dict[str, str]:
    headers: dict[str, str] = {}
    if problem.retry_after_s is not None:
        headers["retry-after"] = str(max(1, math.ceil(problem.retry_after_s)))
    if isinstance(problem, Unauthenticated):
        headers["www-authenticate"] = "Bearer"
    if isinstance(problem, MethodNotAllowed) and "allow" in problem.extra:
        headers["allow"] = problem.extra["allow"]
    if isinstance(problem, RangeNotSatisfiable) and "bytes" in problem.extra:
        headers["content-range"] = f"bytes */{problem.extra['bytes']}"
    if isinstance(problem, OtherSocketVersion):
        headers["upgrade"] = "websocket"
        headers["sec-websocket-version"] = "13"
    if isinstance(problem, PayloadTooLarge):
        # The rest of the body is still being sent and is not read.
        headers["connection"] = "close"
    return headers


def known_problems() -> tuple[type[Problem], ...]:
    """Every problem class that has been imported, by status and code."""
    found = set(_subclasses(Problem))
    return tuple(sorted(found, key=lambda each: (each.status, each.code, each.__name__)))


def _subclasses(parent: type[Problem]) -> Iterable[type[Problem]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)
