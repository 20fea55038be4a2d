"""Finds the endpoint of a path in a tree of segments. A fixed segment wins over a parameter.

Matching is exact: another case, a trailing slash or an empty segment is another path.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote

Target = TypeVar("Target")

# Longer than any id that we make or accept.
PARAM_CHARACTERS = 255


@dataclass(slots=True)
class Resource(Generic[Target]):
    """Everything served at one path, by method."""

    methods: dict[str, Target] = field(default_factory=dict)
    allow: str = ""


@dataclass(slots=True)
class _Node(Generic[Target]):
    fixed: "dict[str, _Node[Target]]" = field(default_factory=dict)
    param: "_Node[Target] | None" = None
    resource: Resource[Target] | None = None


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
        node.resource = resource = node.resource or Resource()
        if method in resource.methods:
            raise ValueError(f"{method} {path} is declared twice")
        resource.methods[method] = target
        resource.allow = _allow(resource.methods)

    def find(self, raw_path: bytes) -> tuple[Resource[Target], list[str]] | None:
        """The resource at this path and the values of its params, in order, percent-decoded."""
        try:
            segments = raw_path.decode("ascii").split("/")
            if segments[0]:
                return None
            values: list[str] = []
            resource = _match(self._root, segments, 1, values)
            if resource is None:
                return None
            if values:
                values.reverse()
                if b"%" in raw_path:
                    values = [unquote(value, errors="strict") for value in values]
        except UnicodeDecodeError:
            return None
        return (resource, values) if all(map(_is_sane, values)) else None


def _allow(methods: Iterable[str]) -> str:
    listed = {*methods, "OPTIONS"}
    if "GET" in listed:
        listed.add("HEAD")
    return ", ".join(sorted(listed))


def _match(
    node: _Node[Target], segments: list[str], index: int, values: list[str]
) -> Resource[Target] | None:
    """Collects parameter values from last to first, so that a failed branch leaves none behind."""
    if index == len(segments):
        return node.resource
    segment = segments[index]
    fixed = node.fixed.get(segment)
    if fixed is not None:
        resource = _match(fixed, segments, index + 1, values)
        if resource is not None:
            return resource
    if node.param is not None and segment:
        resource = _match(node.param, segments, index + 1, values)
        if resource is not None:
            values.append(segment)
        return resource
    return None


def _is_sane(value: str) -> bool:
    """No id has control characters, and PostgreSQL cannot even take a NUL in text."""
    return len(value) <= PARAM_CHARACTERS and value.isprintable()
