"""Text in one form, whatever it was written as; numbers in it."""

import re
import unicodedata

# Combining marks are no letters, so every long run of them is within a match of this.
_MARKS = re.compile(r"[^\w\s\x00-\x7f]{32,}")
# The only characters that stand in no order themselves but come apart into marks that do.
_APART = {0x0F73: "\u0f71\u0f72", 0x0F75: "\u0f71\u0f74", 0x0F81: "\u0f71\u0f80"}


def nfc(text: str) -> str:
    """Unicode's NFC in time that grows with the length of the text.

    Python puts marks in order by insertion: a long run in an order chosen for it takes time
    that grows with its square. What is in order already takes none, so long runs are sorted first.
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
    """The number, or None for what is none or is out of range."""
    # The length first: Python refuses to read numbers of thousands of digits.
    if len(text) > len(str(most)) or not text.isascii() or not text.isdigit():
        return None
    return int(text) if least <= int(text) <= most else None
