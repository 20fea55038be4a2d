"""What counts as typing and online, and what of it is news to someone who was told before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from greenroom.kernel.limits import Limits

ID_CHARACTERS = 255

Pair = tuple[str, str]
"""A viewer and a thread."""


class Sign(StrEnum):
    TYPING = "typing"
    PRESENCE = "presence"


@dataclass(frozen=True, slots=True)
class Lives:
    """For how long each sign counts without being given again."""

    typing_ms: int
    presence_ms: int

    @classmethod
    def of(cls, limits: Limits) -> "Lives":
        return cls(limits.typing_s * 1000, limits.presence_s * 1000)


def far_ms(now_ms: int, life_ms: int) -> int:
    """Beyond this an end is from a clock that has been set back since, and counts for nothing.

    Twice the life, because clocks of several servers differ a little.
    """
    return now_ms + 2 * life_ms


def is_possible_id(text: str) -> bool:
    """Other text names nothing, and some of it could not even be looked for."""
    return 0 < len(text) <= ID_CHARACTERS and text.isprintable()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a viewer sees of the others in a thread at a moment."""

    others: frozenset[str]
    """Everybody else in it. Someone behind a block is there, and looks like someone away."""
    typing: Mapping[str, int]
    """Until when, by user id."""
    online: Mapping[str, int]

    def at(self, now_ms: int, lives: Lives) -> "Snapshot":
        """What of it still counts."""
        if not self.typing and not self.online:
            return self
        return Snapshot(
            self.others,
            _live(self.typing, now_ms, lives.typing_ms),
            _live(self.online, now_ms, lives.presence_ms),
        )

    def first_end_ms(self) -> int | None:
        """When the first of it ends by itself; None: there is nothing that could."""
        return min([*self.typing.values(), *self.online.values()], default=None)


NOTHING = Snapshot(frozenset(), {}, {})


def _live(ends: Mapping[str, int], now_ms: int, life_ms: int) -> Mapping[str, int]:
    far = far_ms(now_ms, life_ms)
    return {user: until for user, until in ends.items() if now_ms < until <= far}


@dataclass(frozen=True, slots=True)
class Change:
    sign: Sign
    user_id: str
    is_on: bool


def changes_between(before: Snapshot, after: Snapshot) -> list[Change]:
    """What to tell someone who knows `before`; an end that moved is no news."""
    return [
        *_differences(Sign.TYPING, before.typing, after.typing),
        *_differences(Sign.PRESENCE, before.online, after.online),
    ]


def _differences(
    sign: Sign, before: Mapping[str, int], after: Mapping[str, int]
) -> Iterator[Change]:
    if before.keys() != after.keys():
        for user in sorted(before.keys() ^ after.keys()):
            yield Change(sign, user, user in after)
