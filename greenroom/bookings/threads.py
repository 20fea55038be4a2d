"""Opens a thread for a booking that names none, and shows a booking's thread to the backend."""

from collections.abc import Sequence

from greenroom.conversations.model import (
    Draft,
    Role,
    ThreadDraft,
    ThreadKind,
    normalise_body,
)
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.wire import ThreadView, Views
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Internal
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept


class BookingThreads:
    def __init__(
        self, store: ConversationStore, *, clock: Clock, randomness: Randomness, limits: Limits
    ) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._limits = limits

    async def open(self, buyer: str, sellers: Sequence[str], subject: str, key: str) -> str:
        """Open an inquiry from the buyer with `subject` as its first message. The same key again
        returns the same thread. The limit on new conversations does not apply: the backend opens
        this one, not a person."""
        now_ms = self._clock()
        draft = ThreadDraft(
            make_id("thr", now_ms, self._randomness()),
            ThreadKind.INQUIRY,
            buyer,
            {buyer: Role.BUYER, **dict.fromkeys(sellers, Role.SELLER)},
            subject[: self._limits.subject_characters],
        )
        first = Draft(key, normalise_body(subject, self._limits), None)
        started = await self._store.start_thread(draft, first, ())
        if isinstance(started, Kept):
            raise Internal
        return started.thread.id

    async def show(self, thread_id: str) -> ThreadView | None:
        """The thread as the marketplace's backend sees it: without an inbox row."""
        thread = await self._store.any_thread(thread_id)
        if thread is None:
            return None
        return Views(None, self._clock(), self._limits).thread(thread)
