"""What is written across a proof: letters that the font has, and for others their sound in Latin
letters. A box in place of a letter would name nobody."""

import unicodedata

from anyascii import anyascii

NEUTRAL = "PROOF"
"""For a text of which nothing can be written."""

COVERED = (
    *((0x20, 0x7E), (0xA1, 0x17F)),
    # Greek, then Cyrillic.
    *((0x386, 0x386), (0x388, 0x38A), (0x38C, 0x38C), (0x38E, 0x3A1), (0x3A3, 0x3CE)),
    (0x400, 0x482),
    # Dashes and quotation marks.
    *((0x2013, 0x2014), (0x2018, 0x201A), (0x201C, 0x201E)),
)
"""First and last character of what Open Sans has, where it has all between them."""


def writable(text: str) -> str:
    composed = unicodedata.normalize("NFC", text)
    written = "".join(each if _is_covered(each) else _sound_of(each) for each in composed)
    return " ".join(written.split()) or NEUTRAL


def _sound_of(character: str) -> str:
    if character.isspace():
        return " "
    return "".join(filter(str.isprintable, anyascii(character)))


def _is_covered(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in COVERED)
