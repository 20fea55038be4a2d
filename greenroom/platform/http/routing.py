"""From a path to what serves it: a tree of segments in which a fixed segment wins over a param.

Matching is exact: another case, a trailing slash or an empty segment is another address.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote

Target = TypeVar("Target")

# Longer than any id we make or take, short enough to look up without a thought.
PARAM_CHARACTERS = 255


@dataclass(slots=True)
class Place(Generic[Target]):
    """Everything served at one path, by method."""

    methods: dict[str, Target] = field(default_factory=dict)
    allow: str = ""


@dataclass(slots=True)
class _Node(Generic[Target]):
    fixed: "dict[str, _Node[Target]]" = field(default_factory=dict)
    param: "_Node[Target] | None" = None
    place: Place[Target] | None = None


class Routes(Generic[Target]):
    def __init__(self, entries: Iterable[tuple[str, str, Target]]) -> None:
        self._root: _Node[Target] = _Node()
        for method, path, target in entries:
            self._add(method, path, target)

    def _add(self, method: str, path: str, target: Target) -> None:
        node = self._root
        for segment in path.split("/")[1:]:
            if segment.startswith("{"):
                node.param = node.param or _Node()
                node = node.param
            else:
                node = node.fixed.setdefault(segment, _Node())
        node.place = place = node.place or Place()
        if method in place.methods:
            raise ValueError(f"{method} {path} is declared twice")
        place.methods[method] = target
        place.allow = _allow(place.methods)

    def find(self, raw_path: bytes) -> tuple[Place[Target], list[str]] | None:
        """The place at this path and the values of its params, in order, percent-decoded."""
        try:
            segments = raw_path.decode("ascii").split("/")
            if segments[0]:
                return None
            values: list[str] = []
            place = _walk(self._root, segments, 1, values)
            if place is None:
                return None
            if values:
                values.reverse()
                if b"%" in raw_path:
                    values = [unquote(value, errors="strict") for value in values]
        except UnicodeDecodeError:
            return None
        return (place, values) if all(map(_is_sane, values)) else None


def _allow(methods: Iterable[str]) -> str:
    listed = {*methods, "OPTIONS"}
    if "GET" in listed:
        listed.add("HEAD")
    return ", ".join(sorted(listed))


def _walk(
    node: _Node[Target], segments: list[str], index: int, values: list[str]
) -> Place[Target] | None:
    """Collects values from the last to the first, so that a dead end leaves nothing behind."""
    if index == len(segments):
        return node.place
    segment = segments[index]
    fixed = node.fixed.get(segment)
    if fixed is not None:
        place = _walk(fixed, segments, index + 1, values)
        if place is not None:
            return place
    if node.param is not None and segment:
        place = _walk(node.param, segments, index + 1, values)
        if place is not None:
            values.append(segment)
        return place
    return None


def _is_sane(value: str) -> bool:
    """No id has control characters; a NUL would not even reach the database as a value."""
    return len(value) <= PARAM_CHARACTERS and value.isprintable()
