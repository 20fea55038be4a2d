"""Replaces tables in a document, each between a comment that names it and one that ends it."""

import re
from collections.abc import Mapping

_BLOCK = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class DocumentError(Exception):
    """The document's places and the tables do not match; the message says which."""


def fill(text: str, tables: Mapping[str, str]) -> str:
    """The text with each table replaced. Every table must have exactly one place."""
    places = [name for _, name, _ in _BLOCK.findall(text)]
    if sorted(places) != sorted(tables):
        raise DocumentError(f"The document has places for {places}, the tables are {list(tables)}.")
    return _BLOCK.sub(lambda found: found[1] + tables[found[2]] + "\n" + found[3], text)
