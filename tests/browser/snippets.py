"""What the documents print for pages: whole pages, files of an example, and modules of a page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import REPOSITORY

SERVER = "https://chat.example.com"
"""As the documents call it."""

_FENCE = re.compile(r"^```(html|css|js|jsx|ts|tsx|vue)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FILE = re.compile(r"^(?:<!--|//) (\S+\.\w+)(?: -->)?\n")
_MODULE = """<!doctype html>
<html lang="en">
<title>Messages</title>
<script type="module">{module}</script>
<greenroom-messages></greenroom-messages>
"""


@dataclass(frozen=True, slots=True)
class Snippet:
    document: str
    heading: str
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.document}: {self.heading}"

    @property
    def file(self) -> str | None:
        """Its name, where it is one of several files."""
        found = _FILE.match(self.text)
        return found[1] if found else None

    def page(self) -> str | None:
        """As a browser opens it: as printed, or a module alone in a page."""
        if self.file is not None:
            return None
        if self.language == "html":
            return self.text
        return _MODULE.format(module=self.text) if self.language == "js" else None


def read_snippets() -> list[Snippet]:
    documents = [*sorted((REPOSITORY / "docs").rglob("*.md")), REPOSITORY / "README.md"]
    return [each for path in documents for each in _in_document(path)]


def _in_document(path: Path) -> Iterator[Snippet]:
    text = path.read_text()
    for found in _FENCE.finditer(text):
        heading = _HEADING.findall(text, 0, found.start())[-1]
        name = path.relative_to(REPOSITORY).as_posix()
        yield Snippet(name, heading, found[1], found[2])


def examples(snippets: list[Snippet]) -> dict[str, dict[str, str]]:
    """By heading: the files that are built together."""
    found: dict[str, dict[str, str]] = {}
    for each in snippets:
        if each.file is not None:
            found.setdefault(each.heading, {})[each.file] = each.text
    return found
