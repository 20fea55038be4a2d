"""Which keys a blob may have."""

import re

KEY_CHARACTERS = 512

# A segment never begins with a dot: `..` would leave the folder, and the folder's own names do.
_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_PREFIX = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/?)*")
_SEGMENT_CHARACTERS = 128


def check_key(key: str) -> None:
    """Raises ValueError."""
    segments = key.split("/")
    if (
        len(key) > KEY_CHARACTERS
        or _KEY.fullmatch(key) is None
        or any(len(each) > _SEGMENT_CHARACTERS for each in segments)
    ):
        raise ValueError(f"{key[:KEY_CHARACTERS]!r} is not a key of a blob")


def check_prefix(prefix: str) -> None:
    """Raises ValueError."""
    if len(prefix) > KEY_CHARACTERS or "//" in prefix or _PREFIX.fullmatch(prefix) is None:
        raise ValueError(f"{prefix[:KEY_CHARACTERS]!r} is not the beginning of keys of blobs")
