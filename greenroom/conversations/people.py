"""What stores that keep people elsewhere need to know of them: names and pictures."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple


class Profile(NamedTuple):
    display_name: str
    avatar_url: str | None


NO_PROFILE = Profile("", None)
Profiles = Callable[[Sequence[str]], Awaitable[Mapping[str, Profile]]]
"""The profiles of those of some people who have one."""
