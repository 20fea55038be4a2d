"""What this room needs of the others: who looks, and what they may see of threads and messages."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from greenroom.accounts.model import ViewingChoices
from greenroom.conversations.model import Message

SeesPlace = Callable[[str, str, str], Awaitable[bool]]
"""Whether a viewer sees this place in this thread now: (viewer, thread id, place)."""


class Viewers(Protocol):
    """Accounts, as this room needs them."""

    async def viewing_choices(self, user_id: str) -> ViewingChoices | None:
        """What Safe-Mode needs to know of a person; None: there is no such person."""
        ...


class Threads(Protocol):
    """The conversation store, as this room needs it."""

    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None: ...

    async def safe_mode_required(self, thread_ids: Sequence[str]) -> frozenset[str]:
        """Those of the threads that demand Safe-Mode, whatever the viewer has chosen."""
        ...

    async def tell_file_changed(
        self, thread_id: str | None, file_id: str, owner: str, message_id: str | None
    ) -> None:
        """Put `file.changed` into the feed of everybody who sees the message, or of the owner when
        there is none. A repeat gives one more event, never none."""
        ...
