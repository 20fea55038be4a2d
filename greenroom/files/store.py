"""The port of the store of files, and the values that it takes and returns.

`postgres/` implements it: files are in PostgreSQL wherever conversations are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from greenroom.conversations.attachments import FileState, FileUse
from greenroom.conversations.model import Media
from greenroom.files.model import BandSource, File, Rendition
from greenroom.platform.idempotency import KeepsAnswers, Kept, Once

Act = Literal["release", "delete"]


@dataclass(frozen=True, slots=True)
class Quotas:
    """How much one person and one thread may have."""

    uploads_per_hour: int
    open_uploads: int
    person_bytes_per_day: int
    thread_bytes: int


class LookedAt(NamedTuple):
    """A file in the place where a viewer sees it. `is_known`: the store knows of this place."""

    file: File
    place: str | None
    is_revealed: bool
    is_known: bool


@dataclass(frozen=True, slots=True)
class Sighting:
    """A file, where it is shown, and whether this viewer has revealed it. `places` are messages and
    cards, the newest first; a bounded number."""

    file: File
    places: tuple[str, ...] = ()
    is_revealed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    step: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Processed:
    """What processing has made of a file."""

    state: FileState
    reason: str | None
    media: Media
    sha256: str | None = None
    content_mime: str | None = None
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: tuple[int, ...] | None = None
    band: int | None = None
    band_source: BandSource | None = None
    renditions: tuple[Rendition, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorAct:
    """What an operator does with a file, and why."""

    actor: str
    role: str
    act: Act
    reason: str


class FileStore(KeepsAnswers, Protocol):
    """Stores which files there are and who may see them, not their bytes.

    Every adapter guarantees:

    - *Durability.* When a call returns, its change is on disk. Every call can be repeated.
    - *One end.* A file gets from `processing` to `ready`, `quarantined` or `refused` once, together
      with its renditions; of several that try, one succeeds.
    - *Tasks.* A file that is `processing` in a thread has a task in the table of tasks, which was
      committed with that state.
    - *Quotas* are exact, however many uploads begin at the same time.
    """

    async def add(self, file: File, quotas: Quotas, once: Once | None = None) -> File | Kept:
        """Begin an upload. In a thread, the owner must be able to write there: raises
        ThreadNotFound, ThreadLocked, ParticipantMuted, MsgBlockedByUser. Raises RateLimited for a
        quota."""
        ...

    async def find(self, file_id: str) -> File | None: ...

    async def find_many(self, file_ids: Sequence[str]) -> dict[str, File]: ...

    async def places(self, file_id: str) -> tuple[str, ...]:
        """The messages and cards that show it, the newest first; a bounded number."""
        ...

    async def look(self, viewer: str | None, uses: Sequence[FileUse]) -> list[LookedAt]:
        """The files of these uses, those that exist, as they stand now or as their stamps say. At
        most one query."""
        ...

    async def note_uses(self, uses: Sequence[FileUse]) -> None:
        """Remember where files are shown. A file without a thread gets that of its use, and is
        processed from then on."""
        ...

    async def sight(self, viewer: str, file_id: str) -> Sighting | None:
        """In one query. The caller decides whether the viewer sees it."""
        ...

    async def sees_thread(self, viewer: str, thread_id: str) -> bool:
        """Whether this person is a participant who sees the thread."""
        ...

    async def list_thread(
        self,
        viewer: str,
        thread_id: str,
        media: Media | None,
        *,
        before: str | None,
        limit: int,
    ) -> tuple[Sighting, ...]:
        """Attachments and voice notes that are shown somewhere and whose bytes are there or on
        their way, newest first."""
        ...

    async def complete(self, file_id: str, sha256: str | None) -> File | None:
        """From `uploading` to `processing`; otherwise as it is. None: there is none."""
        ...

    async def set_alt(self, file_id: str, alt: str | None) -> File | None: ...

    async def reveal(self, file_id: str, viewer: str) -> None: ...

    async def finish(self, file_id: str, processed: Processed, steps: Sequence[Step]) -> bool:
        """From `processing` to its end. False: it is not `processing` any more."""
        ...

    async def note_steps(self, file_id: str, steps: Sequence[Step]) -> None: ...

    async def note_told(self, file_id: str) -> None: ...

    async def expire(self, file_id: str) -> bool:
        """The file is to have no bytes any more: `expired` for those who see it, and its renditions
        are forgotten. To be called before the blobs are deleted. False: it was so already."""
        ...

    async def operate(
        self, file_id: str, act: OperatorAct, once: Once | None = None
    ) -> File | Kept:
        """Record what an operator does, and do it: `release` sends a quarantined file through
        processing again, `delete` expires it and returns it with the renditions that it had.
        Raises NotFound, and ActionInvalidState where there is nothing to release or delete."""
        ...

    async def abandoned(self, before_ms: int, limit: int) -> tuple[File, ...]:
        """Uploads begun before this that are not complete, or have no thread."""
        ...

    async def between(self, after: str, before_ms: int, limit: int) -> tuple[File, ...]:
        """Files with bytes, from after an id to before a time, in the order of their ids."""
        ...

    async def unsent(self, after: str, before_ms: int, limit: int) -> tuple[File, ...]:
        """As `between`, those that nothing shows."""
        ...

    async def untold(self, before_ms: int, limit: int) -> tuple[File, ...]:
        """Files that ended before this, and of whose end nobody was told."""
        ...

    async def forget(self, deleted_before_ms: int, created_before_ms: int, limit: int) -> int:
        """Delete the rows of files whose bytes were deleted long ago: those that were never sent,
        and those that are older than every message. Returns how many."""
        ...

    async def of_owner(self, owner: str, *, after: str, limit: int) -> tuple[File, ...]: ...

    async def erase_texts(self, user_id: str) -> None:
        """Forget the names and descriptions of a person's files, and which files they revealed."""
        ...

    async def is_time(self, name: str, every_s: int) -> bool:
        """Whether this round of work is to be done now: true for one caller per so many seconds,
        among all servers."""
        ...

    async def list_state(
        self, state: FileState, *, after: str | None, limit: int
    ) -> tuple[File, ...]:
        """Oldest first; for operators."""
        ...
