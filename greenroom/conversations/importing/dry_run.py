"""An import that changes nothing: it checks each line, and that people and threads are there.

It remembers threads and people of the file, not messages. So it does not find out whether a read
mark or an answer names a message of the file, or that a message was imported before.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from greenroom.conversations.history_store import (
    KNOWN,
    NEW,
    NOT_IN_THREAD,
    PastMark,
    PastMessage,
    PastThread,
    Placed,
)
from greenroom.conversations.importing.importer import People
from greenroom.conversations.importing.lines import PersonLine
from greenroom.conversations.model import Role, Thread
from greenroom.kernel.errors import ActionConflict

ThreadByKey = Callable[[str], Awaitable[Thread | None]]
CheckPerson = Callable[[PersonLine], None]


@dataclass(slots=True)
class _Seen:
    people: set[str]
    opened_as: str | None = None
    """None: it is in the store already."""
    last_ms: int = 0


class DryHistory:
    """`HistoryStore` that stores nothing. The key of a thread stands for its id."""

    def __init__(self, thread_by_key: ThreadByKey) -> None:
        self._thread_by_key = thread_by_key
        self._threads: dict[str, _Seen] = {}

    async def find(self, key: str) -> str | None:
        if key not in self._threads:
            found = await self._thread_by_key(key)
            if found is None:
                return None
            self._threads[key] = _Seen({each.user_id for each in found.participants})
        return key

    async def import_thread(self, thread: PastThread) -> tuple[str, bool]:
        key, draft = thread.key, thread.draft
        if await self.find(key) is not None:
            if self._threads[key].opened_as not in (None, draft.opened_as):
                raise ActionConflict("This id names a thread of another kind or other people.")
            return key, False
        self._threads[key] = _Seen(set(draft.members), draft.opened_as)
        return key, True

    async def import_participant(
        self,
        thread_id: str,
        user_id: str,
        role: Role,  # noqa: ARG002
        joined_at_ms: int,  # noqa: ARG002
        *,
        has_left: bool,  # noqa: ARG002
    ) -> str:
        people = self._threads[thread_id].people
        outcome = KNOWN if user_id in people else NEW
        people.add(user_id)
        return outcome

    async def import_messages(self, thread_id: str, messages: Sequence[PastMessage]) -> list[str]:
        seen = self._threads[thread_id]
        placed = Placed.of(messages, seen.last_ms, frozenset(), frozenset(seen.people))
        seen.last_ms = placed.last_ms
        return placed.outcomes

    async def import_marks(self, thread_id: str, marks: Sequence[PastMark]) -> list[str]:
        people = self._threads[thread_id].people
        return [NEW if mark.user_id in people else NOT_IN_THREAD for mark in marks]


class DryPeople:
    """`People` of whom none is registered."""

    def __init__(self, people: People, check: CheckPerson) -> None:
        self._people = people
        self._check = check
        self._registered: set[str] = set()

    async def missing(self, user_ids: Sequence[str]) -> list[str]:
        unknown = [each for each in user_ids if each not in self._registered]
        return await self._people.missing(unknown)

    async def register(self, line: PersonLine) -> None:
        self._check(line)
        self._registered.add(line.id)
