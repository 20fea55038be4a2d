"""Names and pictures of people, for a conversation store that does not keep accounts itself."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple


class Profile(NamedTuple):
    display_name: str
    avatar_url: str | None


NO_PROFILE = Profile("", None)
Profiles = Callable[[Sequence[str]], Awaitable[Mapping[str, Profile]]]
"""Looks up profiles by user id; people without one are left out."""
