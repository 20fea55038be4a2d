"""Reads the built files of the web app into memory, once. Only these files are ever served."""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

BUILT = Path(__file__).parent / "static"
"""The output folder of `make web`; not in the repository."""

GZIP_LEVEL = 9
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class Form:
    """The bytes of a file, plain or compressed, each with its own ETag."""

    body: bytes = field(repr=False)
    etag: str
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    content_type: str
    plain: Form
    gzipped: Form | None
    """None if compression saves nothing."""

    def form_for(self, accept_encoding: str | None) -> Form:
        if self.gzipped is not None and _takes_gzip(accept_encoding or ""):
            return self.gzipped
        return self.plain


Files = Mapping[str, File]
"""By path relative to the folder, with slashes."""


@cache
def read_files(folder: Path) -> Files:
    """All files of a folder, read and compressed once per process; none if it is missing."""
    return {
        path.relative_to(folder).as_posix(): new_file(path.read_bytes(), path.suffix)
        for path in _files_of(folder)
    }


def _files_of(folder: Path) -> Iterator[Path]:
    # No symbolic links, which could lead out of the folder; the build makes none.
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def new_file(body: bytes, suffix: str) -> File:
    digest = hashlib.sha256(body).hexdigest()[:32]
    # Without a timestamp, so that all processes and machines make the same bytes.
    short = gzip.compress(body, GZIP_LEVEL, mtime=0)
    gzipped = Form(short, f'"{digest}-gzip"', "gzip") if len(short) < len(body) else None
    content_type = _TYPES.get(suffix, "application/octet-stream")
    return File(content_type, Form(body, f'"{digest}"'), gzipped)


def _takes_gzip(accept_encoding: str) -> bool:
    """RFC 9110: a named encoding counts for itself, `*` for the rest; weight 0 means no."""
    weights: dict[str, bool] = {}
    for each in accept_encoding.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        weights[name] = not any(_is_zero(parameter) for parameter in parameters)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", False)))


def _is_zero(parameter: str) -> bool:
    name, _, weight = parameter.partition("=")
    return name.strip() == "q" and not weight.strip().strip("0.")
