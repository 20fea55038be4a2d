"""The built files, read once: what is not in this list cannot be asked for."""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

BUILT = Path(__file__).parent / "static"
"""Where `make web` puts what it builds; not in the repository."""

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
    """A file as it goes out: plain or compressed, each under an ETag of its own."""

    body: bytes = field(repr=False)
    etag: str
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    content_type: str
    plain: Form
    gzipped: Form | None
    """None where compressing saves nothing."""

    def form_for(self, accept_encoding: str | None) -> Form:
        if self.gzipped is not None and _takes_gzip(accept_encoding or ""):
            return self.gzipped
        return self.plain


Files = Mapping[str, File]
"""By their path inside the folder, with slashes."""


@cache
def read_files(folder: Path) -> Files:
    """All files of a folder, compressed once for each process; none where it is not there."""
    return {
        path.relative_to(folder).as_posix(): new_file(path.read_bytes(), path.suffix)
        for path in _files_of(folder)
    }


def _files_of(folder: Path) -> Iterator[Path]:
    # A link could lead out of the folder; builds make none.
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def new_file(body: bytes, suffix: str) -> File:
    digest = hashlib.sha256(body).hexdigest()[:32]
    # Without a time in it, so that every process and every machine makes the same bytes.
    short = gzip.compress(body, GZIP_LEVEL, mtime=0)
    gzipped = Form(short, f'"{digest}-gzip"', "gzip") if len(short) < len(body) else None
    content_type = _TYPES.get(suffix, "application/octet-stream")
    return File(content_type, Form(body, f'"{digest}"'), gzipped)


def _takes_gzip(accept_encoding: str) -> bool:
    """RFC 9110: what is named counts for itself, `*` for the rest, and a weight of 0 means no."""
    weights: dict[str, bool] = {}
    for each in accept_encoding.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        weights[name] = not any(_is_zero(parameter) for parameter in parameters)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", False)))


def _is_zero(parameter: str) -> bool:
    name, _, weight = parameter.partition("=")
    return name.strip() == "q" and not weight.strip().strip("0.")
