"""Checks the answer of a process that has read hostile bytes, and what it has written."""

import os
import stat
from pathlib import Path

from greenroom.files.media.job import Made, MadeRendition, MediaJob, StepRecord
from greenroom.files.media.sniffing import HEAD_BYTES, sniff
from greenroom.files.media.wire import Answer, AnsweredRendition

RENDITIONS = 12
STEPS = 20
TEXTS = 10
TEXT_CHARACTERS = 2000
DETAIL_CHARACTERS = 300
_SUFFIXES = {
    "image/webp": ".webp",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "audio/mp4": ".m4a",
}
# Types that an upload which is stored as it came may be served with.
_KEPT = {
    "application/octet-stream",
    "application/pdf",
    "audio/aac",
    "audio/amr",
    "audio/flac",
    "audio/mp4",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "video/mp4",
    "video/quicktime",
    "video/webm",
    "video/x-msvideo",
}


class _ForgedError(Exception):
    """The answer says something that our own code does not say."""


def read_answer(job: MediaJob, answer: Answer) -> Made:
    """What a correct process can answer; anything else counts as a damaged file."""
    try:
        renditions = [_rendition(job, each) for each in answer.renditions]
        _check(answer)
    except (_ForgedError, OSError) as error:
        step = StepRecord("renditions", "failed", f"forged answer: {error}"[:DETAIL_CHARACTERS])
        return Made("refused", "damaged", "other", "application/octet-stream", steps=[step])
    return Made(
        answer.state,
        answer.reason,
        answer.media,
        answer.mime,
        answer.width,
        answer.height,
        answer.duration_ms,
        answer.peaks,
        answer.band,
        answer.band_source,
        renditions,
        [
            StepRecord(each.step, each.outcome, each.detail[:DETAIL_CHARACTERS])
            for each in answer.steps
        ],
        [text[:TEXT_CHARACTERS] for text in answer.qr_texts],
    )


def _check(answer: Answer) -> None:
    is_ready = answer.state == "ready"
    if is_ready is not bool(answer.renditions) or is_ready is not (answer.reason is None):
        raise _ForgedError("state, reason and renditions do not belong together")
    kinds = {(each.kind, each.mime) for each in answer.renditions}
    if len(kinds) < len(answer.renditions) or len(kinds) > RENDITIONS:
        raise _ForgedError("renditions twice")
    if len(answer.steps) > STEPS or len(answer.qr_texts) > TEXTS or len(answer.mime) > 100:
        raise _ForgedError("too much")
    numbers = (answer.width, answer.height, answer.duration_ms, *(answer.peaks or ()))
    if any(number is not None and not 0 <= number < 2**31 for number in numbers):
        raise _ForgedError("a number out of range")
    if len(answer.peaks or ()) > 1000 or answer.band not in (None, 0, 1, 2):
        raise _ForgedError("peaks or band")
    if (answer.band is None) is not (answer.band_source == "unscanned"):
        raise _ForgedError("band and its source")


def _rendition(job: MediaJob, answered: AnsweredRendition) -> MadeRendition:
    if answered.name is None:
        if answered.kind != "original" or answered.mime not in _KEPT:
            raise _ForgedError(f"the upload as {answered.kind}, {answered.mime}")
        path = job.path
    else:
        path = _made_file(job, answered)
    return MadeRendition(answered.kind, path, answered.mime, answered.width, answered.height)


def _made_file(job: MediaJob, answered: AnsweredRendition) -> Path:
    """A plain file in the folder of the job whose first bytes are of the type that it shall be."""
    suffix = _SUFFIXES.get(answered.mime)
    if suffix is None or answered.name != f"{answered.kind}{suffix}":
        raise _ForgedError(f"a file {answered.name!r}")
    path = job.out / answered.name
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(opened)
        head = os.read(opened, HEAD_BYTES) if stat.S_ISREG(found.st_mode) else b""
    finally:
        os.close(opened)
    if found.st_nlink != 1 or not 0 < found.st_size <= job.limits.output_bytes:
        raise _ForgedError(f"{answered.name} is no plain file")
    sniffed = sniff(head)
    if sniffed.mime.partition("/")[2] != answered.mime.partition("/")[2]:
        raise _ForgedError(f"{answered.name} is {sniffed.mime}")
    return path
