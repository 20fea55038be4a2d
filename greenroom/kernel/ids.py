"""Sortable ids: a prefix and 26 characters that begin with the time.

`thr_` + 12 hex digits of Unix milliseconds + 14 random characters (70 bits). Hex digits sort by
time, every language can decode them, and a database can make them from a number.
"""

import secrets
from collections.abc import Callable

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
TIME_CHARS = 12
RANDOM_CHARS = 14
RANDOM_BITS = 5 * RANDOM_CHARS

_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]

Randomness = Callable[[], str]
"""Returns `RANDOM_CHARS` characters of `ALPHABET`."""


def system_randomness() -> str:
    return encode_random(secrets.randbits(RANDOM_BITS))


def encode_random(bits: int) -> str:
    """`RANDOM_BITS` bits as `RANDOM_CHARS` characters, two at a time."""
    return "".join([_PAIRS[(bits >> shift) & 1023] for shift in range(0, RANDOM_BITS, 10)])


def make_id(prefix: str, at_ms: int, randomness: str) -> str:
    return f"{prefix}_{at_ms:012x}{randomness}"


def id_time_ms(value: str) -> int:
    """The time inside an id. Raises ValueError if it is not an id of this form."""
    _, separator, rest = value.partition("_")
    if not separator or len(rest) != TIME_CHARS + RANDOM_CHARS:
        raise ValueError(value)
    return int(rest[:TIME_CHARS], 16)
