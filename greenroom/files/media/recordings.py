"""Video and sound: a poster, a small video for every browser, and a wave form."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from greenroom.files.media.ffmpeg import UPLOAD, Ffmpeg, Probed
from greenroom.files.media.pictures import Picture
from greenroom.files.media.refusals import RefusalError
from greenroom.files.media.wire import AnsweredRendition

PEAKS = 64
_PEAK_RATE_HZ = 8000
PREVIEW_SIDE = 480
_FRAME = "frame.jpg"
# The shorter side becomes 480 at most, and both stay even, as H.264 asks for.
_SCALE = (
    f"scale=w='if(gt(iw,ih),-2,min({PREVIEW_SIDE},trunc(iw/2)*2))'"
    f":h='if(gt(iw,ih),min({PREVIEW_SIDE},trunc(ih/2)*2),-2)'"
)
# Messages inside the stream, in which cameras and editors leave text.
_WITHOUT_MESSAGES = {
    "h264": ["-bsf:v", "filter_units=remove_types=6"],
    "hevc": ["-bsf:v", "filter_units=remove_types=39-40", "-tag:v", "hvc1"],
}
_MP4_AUDIO = {"aac", "mp3", None}
_WEBM_VIDEO = {"vp8", "vp9", "av1"}
_WEBM_AUDIO = {"opus", "vorbis", None}


def keep_upload(data: bytes) -> None:
    """FFmpeg reads a file, because many containers have their index at the end."""
    Path(UPLOAD).write_bytes(data)


def check_length(duration_ms: int | None, longest_s: int) -> None:
    # Recorders stop a little after the second.
    if duration_ms is not None and duration_ms > (longest_s + 1) * 1000:
        raise RefusalError("too_long", f"{duration_ms / 1000:.1f} s")


def poster_frame(ffmpeg: Ffmpeg, mime: str, duration_ms: int | None) -> bytes:
    """One frame as JPEG at full size, a little after the beginning, which is often black."""
    at_s = min(1.0, (duration_ms or 0) / 3000)
    options = ["-map", "0:v:0", "-frames:v", "1", "-q:v", "2", "-f", "mjpeg"]
    for start_s in (at_s, 0.0):
        if ffmpeg.convert(mime, options, _FRAME, before=("-ss", f"{start_s:.2f}")):
            return Path(_FRAME).read_bytes()
    raise RefusalError("damaged", "no frame could be decoded")


def small_video(
    ffmpeg: Ffmpeg, mime: str, picture: Picture, longest_s: int
) -> tuple[AnsweredRendition, int]:
    """480 lines of H.264 with AAC, and the length in milliseconds."""
    name = "preview.mp4"
    options = [
        *("-map", "0:v:0", "-map", "0:a:0?", "-t", str(longest_s + 2), "-vf", _SCALE),
        *("-c:v", "libx264", "-preset", "veryfast", "-crf", "26", "-pix_fmt", "yuv420p"),
        *("-fpsmax", "30", "-c:a", "aac", "-b:a", "96k", "-ac", "2"),
        *("-movflags", "+faststart", "-f", "mp4"),
    ]
    if not ffmpeg.convert(mime, options, name):
        raise RefusalError("damaged", "the video cannot be decoded")
    duration_ms = ffmpeg.probe("video/mp4", name).duration_ms or 0
    scale = min(1.0, PREVIEW_SIDE / min(picture.width, picture.height))
    width, height = (round(each * scale / 2) * 2 for each in (picture.width, picture.height))
    return AnsweredRendition("preview", name, "video/mp4", width, height), duration_ms


def cleaned_video(
    ffmpeg: Ffmpeg, mime: str, picture: Picture, probed: Probed
) -> AnsweredRendition | None:
    """The same pictures and sound in a new container. None: only the small one is kept."""
    copy = ["-map", "0:v:0", "-map", "0:a:0?", "-c", "copy"]
    size = (picture.width, picture.height)
    if probed.video_codec in _WITHOUT_MESSAGES and probed.audio_codec in _MP4_AUDIO:
        options = [*copy, *_WITHOUT_MESSAGES[probed.video_codec], "-movflags", "+faststart"]
        if ffmpeg.convert(mime, [*options, "-f", "mp4"], "original.mp4"):
            return AnsweredRendition("original", "original.mp4", "video/mp4", *size)
    is_webm = probed.video_codec in _WEBM_VIDEO and probed.audio_codec in _WEBM_AUDIO
    if is_webm and ffmpeg.convert(mime, [*copy, "-f", "webm"], "original.webm"):
        return AnsweredRendition("original", "original.webm", "video/webm", *size)
    return None


def clean_sound(
    ffmpeg: Ffmpeg, mime: str, purpose: str, longest_s: int
) -> tuple[AnsweredRendition, int]:
    """AAC, which every browser plays, and the length in milliseconds."""
    name = "original.m4a"
    quality = ["-ac", "1", "-b:a", "64k"] if purpose == "voice" else ["-ac", "2", "-b:a", "160k"]
    options = ["-map", "0:a:0", "-vn", "-t", str(longest_s + 2), "-c:a", "aac", *quality]
    if not ffmpeg.convert(mime, [*options, "-movflags", "+faststart", "-f", "ipod"], name):
        raise RefusalError("damaged", "the sound cannot be decoded")
    duration_ms = ffmpeg.probe("audio/mp4", name).duration_ms or 0
    return AnsweredRendition("original", name, "audio/mp4"), duration_ms


def peaks(samples: bytes) -> list[int]:
    """The loudest sample of each of 64 equal pieces, 0 to 100."""
    values = np.abs(np.frombuffer(samples[: len(samples) // 2 * 2], dtype=np.int16).astype(int))
    if len(values) == 0:
        return [0] * PEAKS
    edges = np.linspace(0, len(values), PEAKS + 1).astype(int)
    loudest = [int(values[a:b].max()) if b > a else 0 for a, b in pairwise(edges)]
    top = max(*loudest, 1)
    return [round(each * 100 / top) for each in loudest]


def wave_form(ffmpeg: Ffmpeg, mime: str, longest_s: int) -> list[int]:
    return peaks(ffmpeg.samples(mime, _PEAK_RATE_HZ, longest_s + 2))
