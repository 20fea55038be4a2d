"""What travels between the worker and the media process.

The process that answers has read hostile bytes, so an answer is checked like any other input.
"""

from typing import Literal

from msgspec import Struct

from greenroom.files.media.job import (
    BandSource,
    Media,
    MediaLimits,
    Reason,
    RenditionKind,
    State,
    StepRecord,
)

Stages = Literal["all", "examine", "make"]


class Order(Struct, frozen=True, kw_only=True):
    """A job for one process. `examine` sniffs and scans, `make` does the rest; a configured ClamAV
    is asked in between."""

    stages: Stages
    declared_mime: str
    purpose: str
    watermark: str | None
    limits: MediaLimits
    has_clamav: bool
    is_released: bool


class AnsweredRendition(Struct, frozen=True):
    """`name` is a file in the folder of the job; None: the upload as it came."""

    kind: RenditionKind
    name: str | None
    mime: str
    width: int | None = None
    height: int | None = None


class Answer(Struct, frozen=True, kw_only=True):
    state: State
    reason: Reason | None = None
    media: Media = "other"
    mime: str = "application/octet-stream"
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: list[int] | None = None
    band: int | None = 0
    band_source: BandSource = "none"
    renditions: list[AnsweredRendition] = []
    steps: list[StepRecord] = []
    qr_texts: list[str] = []


class Ending(Struct, frozen=True, kw_only=True):
    """How the process of a job ended; written by the process that started it."""

    exit_code: int
    """Negative: the signal that ended it."""
    is_late: bool
    peak_rss_kb: int


class Hello(Struct, frozen=True, kw_only=True):
    """The first message of a media process that is ready for jobs."""

    has_classifier: bool
    has_ffmpeg: bool
