"""What the contract's tests share: a clock that cannot be trusted, people, and short words."""

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import pytest

from greenroom.conversations.model import Draft, Message, Role, ThreadDraft, ThreadKind
from greenroom.conversations.store import Changes, ConversationStore, Send, Started
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Problem
from greenroom.kernel.ids import ALPHABET, RANDOM_CHARS, Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept, Once
from tests import support

START_MS = 1_800_000_000_000
IS_FULL = support.IS_FULL
ROOMY = Limits(page=100, messages_page=50)


class OpenStore(Protocol):
    """An adapter: opens a store of its own on the module's database, like one more process."""

    def __call__(
        self,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits = ROOMY,
        wake: Callable[[Iterable[str]], None] = ...,
    ) -> AbstractAsyncContextManager[ConversationStore]: ...


class Disturb(Protocol):
    """An adapter's own mischief: while open, writes to these threads and people are held up at
    random places before they commit."""

    def __call__(
        self, threads: Sequence[str], people: Sequence[str], seed: int
    ) -> AbstractAsyncContextManager[None]: ...


class WildClock:
    """Moves a little with every look, so that two looks differ, and jumps when told to."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def jump(self, by_ms: int) -> None:
        self.now_ms += by_ms


def seeded_randomness(seed: int) -> Randomness:
    source = random.Random(seed)
    return lambda: "".join(source.choices(ALPHABET, k=RANDOM_CHARS))


class Seed:
    """Where a test's choices come from. `GREENROOM_SEED` replays the one that failed."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.random = random.Random(number)

    def __str__(self) -> str:
        return f"GREENROOM_SEED={self.number}"


def names(prefix: str) -> Iterator[str]:
    """Names that nobody else has: the database is the whole module's."""
    tag = random.SystemRandom().randrange(1 << 40)
    number = 0
    while True:
        number += 1
        yield f"{prefix}.{tag:010x}.{number:04d}"


_client_ids = names("c")
_thread_tails = seeded_randomness(random.SystemRandom().randrange(1 << 40))


def draft(body: str = "hello", client_id: str | None = None) -> Draft:
    return Draft(client_id or next(_client_ids), body, None)


def send_of(
    thread_id: str, author: str, body: str = "hello", *, client_id: str | None = None
) -> Send:
    return Send(thread_id, author, draft(body, client_id), cost_ms=0)


def thread_draft(
    opener: str, *others: str, kind: ThreadKind = ThreadKind.INQUIRY, at_ms: int = START_MS
) -> ThreadDraft:
    members = {opener: Role.BUYER, **dict.fromkeys(others, Role.SELLER)}
    return ThreadDraft(make_id("thr", at_ms, _thread_tails()), kind, opener, members)


async def start(
    store: ConversationStore, opener: str, *others: str, client_id: str | None = None
) -> Started:
    first = draft("first", client_id)
    started = await store.start_thread(thread_draft(opener, *others), first, ())
    assert isinstance(started, Started)
    return started


async def say(store: ConversationStore, thread_id: str, author: str, body: str) -> Message:
    return (await store.append(send_of(thread_id, author, body))).message


async def whole_feed(store: ConversationStore, viewer: str) -> Changes:
    changes = await store.changes(viewer, None, 1000)
    assert not changes.has_more
    return changes


async def whole_thread(store: ConversationStore, viewer: str, thread_id: str) -> list[Message]:
    page = await store.messages(viewer, thread_id, before=None, after=None, limit=1000)
    assert page is not None
    assert not page.has_more
    return list(page.items)


async def refusal(call: Awaitable[Any]) -> tuple[type[Problem], str | None]:
    with pytest.raises(Problem) as raised:
        await call
    return type(raised.value), raised.value.detail


async def types_of(store: ConversationStore, viewer: str) -> list[str]:
    return [str(event.type) for event in (await whole_feed(store, viewer)).events]


async def unread(store: ConversationStore, viewer: str, thread_id: str) -> int:
    found = await store.thread(viewer, thread_id)
    assert found is not None
    assert found[0].inbox is not None
    return found[0].inbox.unread_count


def once(key: str, fingerprint: bytes = b"1", *, caller: str = "person:x", to: str = "r") -> Once:
    return Once(caller, to, key, fingerprint, _describe)


def _describe(outcome: object) -> Kept:
    status = getattr(outcome, "status", 200)
    return Kept(status, type(outcome).__name__.encode())
