"""Which statements a call asks PostgreSQL, and what happens between two of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import pytest

from greenroom.accounts.postgres import store as accounts

WHO_CALLS = {value for value in vars(accounts).values() if isinstance(value, str)}
"""Statements that find out who is calling. No answer shows anything of them."""


@dataclass
class Watch:
    """`interrupt` happens after the statement of this number, counted from 1."""

    after: int | None = None
    interrupt: Callable[[], Awaitable[Any]] | None = None
    moments: list[object] = field(default_factory=list)
    """Of each statement the moment that it saw: those of one snapshot saw the same."""

    async def note(self, conn: Any) -> None:
        transaction = conn._top_xact
        is_snapshot = transaction is not None and transaction._isolation == "repeatable_read"
        self.moments.append(transaction if is_snapshot else object())
        if len(self.moments) == self.after and self.interrupt is not None:
            token = _watch.set(None)
            try:
                await self.interrupt()
            finally:
                _watch.reset(token)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching(
    patch: pytest.MonkeyPatch,
    after: int | None = None,
    interrupt: Callable[[], Awaitable[Any]] | None = None,
) -> Iterator[Watch]:
    """Everything that is asked inside, by this task."""
    of_all: Any = asyncpg.Connection
    ask = of_all._execute

    async def noted(conn: Any, query: str, *args: Any, **more: Any) -> Any:
        found = await ask(conn, query, *args, **more)
        watch = _watch.get()
        if watch is not None and query not in WHO_CALLS:
            await watch.note(conn)
        return found

    watch = Watch(after, interrupt)
    with patch.context() as patched:
        patched.setattr(of_all, "_execute", noted)
        token = _watch.set(watch)
        try:
            yield watch
        finally:
            _watch.reset(token)
