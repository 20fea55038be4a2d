"""What counts as typing and online, and which events follow from two snapshots. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from greenroom.kernel.limits import Limits

ID_CHARACTERS = 255

Pair = tuple[str, str]
"""A viewer and a thread."""


class PresenceKind(StrEnum):
    TYPING = "typing"
    PRESENCE = "presence"


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long typing and presence last unless they are renewed."""

    typing_ms: int
    presence_ms: int

    @classmethod
    def of(cls, limits: Limits) -> "Lifetimes":
        return cls(limits.typing_s * 1000, limits.presence_s * 1000)


def far_ms(now_ms: int, lifetime_ms: int) -> int:
    """An expiry later than this was set with a clock that has been set back since; it is ignored.

    Twice the lifetime, because the clocks of several servers differ a little.
    """
    return now_ms + 2 * lifetime_ms


def is_possible_id(text: str) -> bool:
    """Whether this can be an id. Some other text could not even be used in a query."""
    return 0 < len(text) <= ID_CHARACTERS and text.isprintable()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a viewer sees of the other participants of a thread at one moment."""

    others: frozenset[str]
    """All other participants. Somebody behind a block is among them, and looks offline."""
    typing: Mapping[str, int]
    """Expiry by user id."""
    online: Mapping[str, int]

    def at(self, now_ms: int, lifetimes: Lifetimes) -> "Snapshot":
        """The same without what has expired."""
        if not self.typing and not self.online:
            return self
        return Snapshot(
            self.others,
            _live(self.typing, now_ms, lifetimes.typing_ms),
            _live(self.online, now_ms, lifetimes.presence_ms),
        )

    def first_end_ms(self) -> int | None:
        """The earliest expiry; None if there is nothing that can expire."""
        return min([*self.typing.values(), *self.online.values()], default=None)


NOTHING = Snapshot(frozenset(), {}, {})


def _live(ends: Mapping[str, int], now_ms: int, lifetime_ms: int) -> Mapping[str, int]:
    far = far_ms(now_ms, lifetime_ms)
    return {user: until for user, until in ends.items() if now_ms < until <= far}


@dataclass(frozen=True, slots=True)
class PresenceChange:
    kind: PresenceKind
    user_id: str
    is_on: bool


def changes_between(before: Snapshot, after: Snapshot) -> list[PresenceChange]:
    """The changes for someone who knows `before`. A later expiry alone is no change."""
    return [
        *_differences(PresenceKind.TYPING, before.typing, after.typing),
        *_differences(PresenceKind.PRESENCE, before.online, after.online),
    ]


def _differences(
    kind: PresenceKind, before: Mapping[str, int], after: Mapping[str, int]
) -> Iterator[PresenceChange]:
    if before.keys() != after.keys():
        for user in sorted(before.keys() ^ after.keys()):
            yield PresenceChange(kind, user, user in after)
