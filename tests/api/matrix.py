"""What the table of calls is made of: who is there, how a call is made, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from tests.support.api import Api, Json, Person

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"
MISSING = {
    "thread_id": NOWHERE,
    "booking_id": "lbg_019e33c9ac00zzzzzzzzzzzzzz",
    "document_id": "doc_019e33c9ac00zzzzzzzzzzzzzz",
    "manifest_id": "man_019e33c9ac00zzzzzzzzzzzzzz",
    "card_id": "crd_019e33c9ac00zzzzzzzzzzzzzz",
    "payment_id": "pay_019e33c9ac00zzzzzzzzzzzzzz",
    "upload_id": "fil_019e33c9ac00zzzzzzzzzzzzzz",
    "file_id": "fil_019e33c9ac00zzzzzzzzzzzzzz",
    "webhook_id": "whk_019e33c9ac00zzzzzzzzzzzzzz",
    "leg_file": "leg_019e33c9ac00zzzzzzzzzzzzzz.ics",
}
"""What is not there, by the parameter of the path that names it."""


@dataclass
class Scene:
    """Ann wrote to Bob; Carl has nothing to do with it, Dora is known to the marketplace, and Olga
    is an operator of trust and safety."""

    api: Api
    pool: asyncpg.Pool
    ann: Person
    bob: Person
    carl: Person
    dora: Person
    olga: Person
    thread_id: str
    message_id: str
    ids: dict[str, str] = field(default_factory=dict)
    """What `prepare` of an entry has made, by its parameter in paths."""


@dataclass(frozen=True)
class Request:
    path: dict[str, str] = field(default_factory=dict)
    json: Any = None
    query: Json | None = None
    headers: dict[str, str] | None = None


@dataclass(frozen=True)
class Entry:
    """How to make one call, and what it answers.

    `valid` is a request that succeeds for Ann, or for the backend where only that may call.
    `repeated` is the status of the same request again. `wrong` is a request that meets the problem
    `code` once `spoil` has been done to the scene. `other` changes the body under the same key; a
    call without a body is made about `elsewhere` instead. `prepare` makes what the call is about.
    `misspelt` answers a body with an unknown field.
    """

    valid: Callable[[Scene], Request]
    status: int = 200
    repeated: int = 200
    wrong: Callable[[Scene], Request] | None = None
    code: str = ""
    spoil: Callable[[Scene], Awaitable[None]] | None = None
    other: Callable[[Scene], Json] = lambda _: {}
    elsewhere: dict[str, str] | None = None
    prepare: Callable[[Scene], Awaitable[None]] | None = None
    misspelt: tuple[int, str] = (400, "INVALID_REQUEST")


def of_thread(scene: Scene, json: Any = None, query: Json | None = None) -> Request:
    return Request({"thread_id": scene.thread_id}, json, query)


def of(scene: Scene, *names: str, json: Any = None) -> Request:
    """A call about what `prepare` has made."""
    return Request({name: scene.ids[name] for name in names}, json)


def missing(*names: str, json: Any = None) -> Callable[[Scene], Request]:
    return lambda _: Request({name: MISSING[name] for name in names}, json)
