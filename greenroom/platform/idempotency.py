"""Idempotency-Key: a change is made once, and repeats get the first answer.

The store that makes the change keeps the answer in the same transaction. This file has the protocol
between endpoints and such a store.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from greenroom.kernel.errors import Problem
from greenroom.platform.http.endpoint import Answer, Call
from greenroom.platform.http.problems import CONTENT_TYPE, problem_body

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored answer to an earlier request with the same key."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Once:
    """A key and the request that it belongs to. `answer` turns the result of the change into the
    stored answer; it runs inside the transaction and must be pure."""

    caller: str
    route: str
    key: str
    fingerprint: bytes
    answer: Callable[[Any], Kept]


class KeepsAnswers(Protocol):
    async def recall(self, once: Once) -> Kept | None:
        """The answer kept under this key, if there is one. Raises IdempotencyMismatch."""
        ...

    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        """Store the answer of a request that changed nothing, or return one stored meanwhile."""
        ...


async def answer_once(
    call: Call,
    keeper: KeepsAnswers,
    answer: Callable[[T], Answer],
    work: Callable[[Once | None], Awaitable[T | Kept]],
) -> Answer:
    """Do the work, under the call's key if it has one, and return the answer."""
    if call.idempotency_key is None:
        return _to_answer(await work(None), answer)

    def keep(outcome: T) -> Kept:
        shaped = answer(outcome)
        body = b"" if shaped.body is None else msgspec.json.encode(shaped.body)
        return Kept(shaped.status, body)

    once = Once(call.caller.id, call.route, call.idempotency_key, call.fingerprint, keep)
    kept = await keeper.recall(once)
    if kept is not None:
        return _to_answer(kept, answer)
    try:
        return _to_answer(await work(once), answer)
    except Problem as problem:
        if not _is_final(problem):
            raise
        body = msgspec.json.encode(problem_body(problem, call.corr_id))
        return _to_answer(await keeper.keep_refusal(once, Kept(problem.status, body)), answer)


def _is_final(problem: Problem) -> bool:
    """Whether the problem is stored for repeats: not if a retry or a new token can succeed."""
    return problem.status < 500 and problem.status not in (401, 429)


def _to_answer(outcome: T | Kept, answer: Callable[[T], Answer]) -> Answer:
    if not isinstance(outcome, Kept):
        return answer(outcome)
    content_type = CONTENT_TYPE if outcome.status >= 400 else "application/json"
    return Answer(outcome.status, outcome.body or None, content_type=content_type)
