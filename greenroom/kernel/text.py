"""Unicode normalisation in linear time, and reading of whole numbers."""

import re
import unicodedata

# Combining marks are not word characters, so every long run of them is within a match.
_MARKS = re.compile(r"[^\w\s\x00-\x7f]{32,}")
# The only characters with combining class 0 that decompose into marks with another class.
_APART = {0x0F73: "\u0f71\u0f72", 0x0F75: "\u0f71\u0f74", 0x0F81: "\u0f71\u0f80"}


def nfc(text: str) -> str:
    """Unicode's NFC in linear time.

    Python sorts combining marks by insertion, so a long run in a bad order takes quadratic time,
    which an attacker could use. Sorted runs take linear time, so long runs are sorted here first.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub(_put_in_order, text))


def _put_in_order(run: re.Match[str]) -> str:
    ordered: list[str] = []
    marks: list[str] = []
    for character in run[0].translate(_APART):
        if unicodedata.combining(character):
            marks.append(character)
        else:
            ordered += [*sorted(marks, key=unicodedata.combining), character]
            marks.clear()
    return "".join([*ordered, *sorted(marks, key=unicodedata.combining)])


def as_whole(text: str, *, least: int, most: int) -> int | None:
    """The number, or None if the text is not a number or is out of range."""
    # Check the length first, because `int` raises for thousands of digits.
    if len(text) > len(str(most)) or not text.isascii() or not text.isdigit():
        return None
    return int(text) if least <= int(text) <= most else None
