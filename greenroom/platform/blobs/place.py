"""Where blobs are kept, as GREENROOM_BLOBS says it: a folder, or `s3://bucket/prefix`."""

import re
from dataclasses import dataclass
from pathlib import Path

_S3 = re.compile(
    r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])"
    r"((?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}){0,5})/?"
)


@dataclass(frozen=True, slots=True)
class S3Place:
    bucket: str
    prefix: str = ""
    """Stands before every key: empty, or with a slash at its end."""


def parse_place(text: str) -> Path | S3Place:
    """Raises ValueError."""
    if "://" not in text:
        return Path(text).absolute()
    found = _S3.fullmatch(text)
    if found is None or ".." in found[1]:
        raise ValueError(f"{text!r} is neither a folder nor s3://bucket/prefix")
    prefix = found[2].strip("/")
    return S3Place(found[1], f"{prefix}/" if prefix else "")
