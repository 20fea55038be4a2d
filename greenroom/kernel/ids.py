"""Sortable ids: a prefix and 26 characters, time first.

`thr_` + 12 hex digits of Unix milliseconds + 14 random characters (70 bits). Hex sorts as time,
decodes in any language without a table, and a database can make it from a number.
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
    """The time inside an id. Raises ValueError for what is not an id of ours."""
    _, separator, rest = value.partition("_")
    if not separator or len(rest) != TIME_CHARS + RANDOM_CHARS:
        raise ValueError(value)
    return int(rest[:TIME_CHARS], 16)
