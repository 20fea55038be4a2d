"""What the conversation store does for the marketplace's backend, which is no participant.

A part of the port `ConversationStore`, whose guarantees hold here too. The backend sees threads
without an inbox row, and of their messages those that every participant may see.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from greenroom.conversations.model import Message, Thread, ThreadDraft
from greenroom.platform.idempotency import Kept, Once

MARKETPLACE = "marketplace"
"""The code of system messages in the marketplace's own voice."""

OTHER_THREAD = "This key names a thread of another kind, with other people, or with other roles."
OTHER_THREAD_HINT = (
    "GET /v1/threads/by/{key} shows it. Use another key, or the same kind, people and roles."
)

ThreadFields = Mapping[str, str | bool | None]
"""New values of a thread: `subject`, `role_context` and `city`, which None clears, and
`safe_mode_required`. What is left out stays."""


@dataclass(frozen=True, slots=True)
class MarketplaceNotice:
    """A system message in the marketplace's own voice, normalised and rendered."""

    code: str
    text: str
    html: str | None

    @property
    def system(self) -> dict[str, Any]:
        return {"code": MARKETPLACE, "params": {"code": self.code, "text": self.text}}


@dataclass(frozen=True, slots=True)
class KeyedThread:
    """The thread that a key of the marketplace names."""

    thread: Thread
    is_new: bool


class BackendStore(Protocol):
    async def open_by_key(
        self, key: str, draft: ThreadDraft, notice: MarketplaceNotice | None
    ) -> KeyedThread:
        """The thread under this key; created if there is none, with the notice as its first
        message. All participants see it, whatever blocks there are between them. Concurrent calls
        end in one thread. Raises ActionConflict if the thread was opened as another kind, for other
        people, or with other roles."""
        ...

    async def thread_by_key(self, key: str) -> Thread | None: ...

    async def add_notice(
        self, thread_id: str, notice: MarketplaceNotice, once: Once | None = None
    ) -> Message | Kept:
        """Append a system message without an author. Raises ThreadNotFound."""
        ...

    async def change_thread(self, thread_id: str, fields: ThreadFields) -> Thread:
        """Everyone who sees the thread gets `thread.changed`, unless nothing has changed. Raises
        ThreadNotFound."""
        ...

    async def any_thread(self, thread_id: str) -> Thread | None: ...

    async def any_messages(
        self, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> tuple[tuple[Message, ...], bool] | None:
        """A page as of `ConversationStore.messages`, and whether there are more. Messages that only
        some participants may see are left out. None: there is no such thread."""
        ...

    async def threads_of_user(
        self, user_id: str, *, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        """The threads that this person is in now, the newest first: those with an id less than
        `before`."""
        ...

    async def threads_of_job(
        self, job_id: str, *, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        """The threads about this job, the newest first. A change may take a moment to show."""
        ...
