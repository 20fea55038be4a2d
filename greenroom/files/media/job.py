"""What the media process is asked to do with one upload, and what it answers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Media = Literal["image", "video", "audio", "pdf", "other"]
RenditionKind = Literal["thumb", "preview", "blurred", "original", "poster"]
State = Literal["ready", "quarantined", "refused"]
Reason = Literal[
    "virus",
    "damaged",
    "type_mismatch",
    "unsupported",
    "too_large",
    "too_many_pixels",
    "too_long",
    "not_scanned",
    "empty",
]
Step = Literal["sniff", "virus", "decode", "renditions", "band"]
Outcome = Literal["ok", "skipped", "failed"]
BandSource = Literal["classifier", "unscanned", "none"]


class NotScannedError(Exception):
    """A configured virus scanner gave no verdict. The job can be repeated later."""


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """Bounds on one upload and on the process that handles it."""

    image_side: int = 12_000
    image_pixels: int = 144_000_000
    frames: int = 300
    """Most frames of an animated picture."""
    video_s: int = 60
    voice_s: int = 300
    memory_bytes: int = 2 * 1024**3
    """Address space of the process, so also the most memory that it can use."""
    cpu_s: int = 120
    wall_s: int = 180
    output_bytes: int = 128 * 1024**2
    """Largest file that the process may write."""


@dataclass(frozen=True, slots=True)
class MediaJob:
    """`path` is the upload and stays as it is. `out` is an empty folder of the caller's, into which
    the renditions are written."""

    path: Path
    out: Path
    declared_mime: str
    purpose: str
    watermark: str | None = None
    """Written across the preview and the thumb, and the original is not made."""
    limits: MediaLimits = field(default_factory=MediaLimits)
    is_released: bool = False
    """An operator has released it: what the virus scanner says is recorded, but not followed."""


@dataclass(frozen=True, slots=True)
class MadeRendition:
    """A file to store. The pair of `kind` and `mime` is unique within a job, and so is the pair of
    `kind` and the path's suffix. `path` lies in the job's `out`, or is the upload itself where that
    is stored as it came."""

    kind: RenditionKind
    path: Path
    mime: str
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    step: Step
    outcome: Outcome
    detail: str


@dataclass(frozen=True, slots=True)
class Made:
    """What became of an upload.

    `ready` has renditions; `quarantined` and `refused` have none, and a reason. `band` is None
    when `band_source` is `unscanned`: the classifier is missing or failed, which never means safe.
    """

    state: State
    reason: Reason | None
    media: Media
    mime: str
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: list[int] | None = None
    """The wave form of a recording, 64 values from 0 to 100."""
    band: int | None = 0
    band_source: BandSource = "none"
    renditions: list[MadeRendition] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)
    qr_texts: list[str] = field(default_factory=list)
