"""The inbox: which threads are in each folder, what can be filtered, and how the list is ordered.

Both stores derive their queries and the unread counts from `FOLDERS`. To add a folder, add it to
`Folder` and `FOLDERS`, name it in `InboxQuery` and `InboxCounts` of rest/bodies.py, and give it a
label in the web app. Pure: no store, no clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from greenroom.conversations.model import Cursor, Thread, ThreadKind, derive_state
from greenroom.kernel.limits import Limits


class Placement(StrEnum):
    """Where a person keeps a thread. Each of their inbox rows has exactly one placement."""

    INBOX = "inbox"
    REQUESTS = "requests"
    ARCHIVED = "archived"
    SPAM = "spam"


class Folder(StrEnum):
    """A view of the inbox. A thread can be in several folders."""

    ALL = "all"
    ACTION = "action"
    BOOKINGS = "bookings"
    OFFERS = "offers"
    REQUESTS = "requests"
    ARCHIVED = "archived"
    SPAM = "spam"


@dataclass(frozen=True, slots=True)
class FolderRule:
    """Which inbox rows are in a folder: all conditions must hold."""

    placement: Placement = Placement.INBOX
    kinds: tuple[ThreadKind, ...] | None = None
    """None: threads of every kind."""
    needs_action: bool = False
    """Only threads in which something waits for the viewer. Such a folder counts all its threads;
    the other folders count those with something unread."""

    def includes(self, placement: str, kind: str, *, needs_action: bool) -> bool:
        return (
            placement == self.placement
            and (self.kinds is None or kind in self.kinds)
            and (needs_action or not self.needs_action)
        )


FOLDERS: Mapping[Folder, FolderRule] = {
    Folder.ALL: FolderRule(),
    Folder.ACTION: FolderRule(needs_action=True),
    Folder.BOOKINGS: FolderRule(kinds=(ThreadKind.PROJECT,)),
    Folder.OFFERS: FolderRule(kinds=(ThreadKind.INQUIRY, ThreadKind.INVITE)),
    Folder.REQUESTS: FolderRule(Placement.REQUESTS),
    Folder.ARCHIVED: FolderRule(Placement.ARCHIVED),
    Folder.SPAM: FolderRule(Placement.SPAM),
}


def folders_counting(
    placement: str, kind: str, *, is_unread: bool, needs_action: bool
) -> list[Folder]:
    """The folders whose count includes a thread."""
    return [
        folder
        for folder, rule in FOLDERS.items()
        if rule.includes(placement, kind, needs_action=needs_action)
        and (is_unread or rule.needs_action)
    ]


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """Which threads are asked for. None: any value. `q` is searched for in the subject and in the
    names of the other participants, without regard to case."""

    folder: Folder = Folder.ALL
    unread: bool | None = None
    starred: bool | None = None
    kind: str | None = None
    state: str | None = None
    role_context: str | None = None
    city: str | None = None
    has_files: bool | None = None
    q: str | None = None

    def matches(self, viewer: str, thread: Thread, now_ms: int, limits: Limits) -> bool:
        """Whether the viewer's page shows this thread. A store that filters in its database must
        give the same result."""
        row = thread.inbox
        if row is None or not FOLDERS[self.folder].includes(
            row.placement, thread.kind, needs_action=row.needs_action
        ):
            return False
        wanted = (
            (self.unread, row.unread_count > 0),
            (self.starred, row.starred),
            (self.has_files, row.file_messages > 0),
            (self.kind, thread.kind),
            (self.role_context, thread.role_context),
            (self.city, thread.city),
            (self.state, self.state and derive_state(thread.kind, row, now_ms, limits)),
        )
        if any(value is not None and value != actual for value, actual in wanted):
            return False
        return self.q is None or _has_text(viewer, thread, self.q.lower())


def _has_text(viewer: str, thread: Thread, text: str) -> bool:
    names = [each.display_name for each in thread.participants if each.user_id != viewer]
    return any(text in name.lower() for name in (thread.subject or "", *names))


@dataclass(frozen=True, slots=True)
class InboxKey:
    """A row's position in the list: pinned first, then last activity first."""

    pinned: bool
    at_ms: int
    thread_id: str


@dataclass(frozen=True, slots=True)
class InboxPage:
    items: tuple[Thread, ...]
    next_key: InboxKey | None
    counts: dict[Folder, int]
    """Of every folder, not only the one that was asked for; see `folders_counting`."""
    sync_cursor: Cursor


@dataclass(frozen=True, slots=True)
class InboxChanges:
    """Changes that a person makes to their own row. None leaves a value as it is."""

    archived: bool | None = None
    pinned: bool | None = None
    starred: bool | None = None
    sets_muted: bool = False
    muted_until_ms: int | None = None
