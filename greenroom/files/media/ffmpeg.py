"""FFmpeg as a program: found in the optional extra `video`, run with the limits of the job."""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from greenroom.files.media.confinement import die_with_parent
from greenroom.files.media.refusals import RefusalError

# Demuxers by content: FFmpeg does not choose, so a playlist that names other files is not read.
_DEMUXERS = {
    "video/mp4": "mov",
    "video/quicktime": "mov",
    "audio/mp4": "mov",
    "video/webm": "matroska",
    "video/x-msvideo": "avi",
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/aac": "aac",
    "audio/wav": "wav",
    "audio/flac": "flac",
    "audio/amr": "amr",
}
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
UPLOAD = "upload"
_LOG = "ffmpeg.log"
_OUTPUT = "ffmpeg.out"
_FRAME_PIXELS = 36_000_000
_DURATION = re.compile(r"Duration: (\d+):(\d\d):(\d\d)\.(\d+)")
_VIDEO = re.compile(r"Stream #0:\d+.*?: Video: (\w+)(?!.*\(attached pic\))")
_AUDIO = re.compile(r"Stream #0:\d+.*?: Audio: (\w+)")


@dataclass(frozen=True, slots=True)
class Probed:
    """What FFmpeg says about a file. Recorders of browsers leave the duration out."""

    duration_ms: int | None
    video_codec: str | None
    audio_codec: str | None


def find_ffmpeg() -> Path | None:
    """The program in the wheel of imageio-ffmpeg, without importing its package."""
    found = find_spec("imageio_ffmpeg")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / "binaries"
    programs = sorted(each for each in folder.glob("ffmpeg-*") if os.access(each, os.X_OK))
    return programs[0] if programs else None


def open_ffmpeg() -> list[int]:
    """Descriptors of the program and, after it, of what the system needs to start it. Empty: there
    is none. They are opened early, because a job may run as a user who cannot reach them."""
    program = find_ffmpeg()
    if program is None:
        return []
    libraries = [each for each in _LIBRARIES if Path(each).exists()]
    return [
        os.open(program, os.O_RDONLY | os.O_CLOEXEC),
        *(os.open(each, os.O_PATH | os.O_CLOEXEC) for each in libraries),
    ]


class Ffmpeg:
    def __init__(self, program: int) -> None:
        """`program` is a descriptor: its path may be closed to the user of this process."""
        self._program = program

    def probe(self, mime: str, name: str = UPLOAD) -> Probed:
        _, log, _ = self._run(self._input(mime, name))
        duration = _DURATION.search(log)
        video = _VIDEO.search(log)
        audio = _AUDIO.search(log)
        return Probed(
            None if duration is None else _milliseconds(*duration.groups()),
            video[1] if video else None,
            audio[1] if audio else None,
        )

    def convert(
        self, mime: str, options: list[str], output: str, *, before: tuple[str, ...] = ()
    ) -> bool:
        """Writes `output` without any metadata of the input. False: FFmpeg failed."""
        without = ["-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact"]
        status, _, _ = self._run([*before, *self._input(mime), *options, *without, "-y", output])
        return status == 0 and Path(output).is_file() and Path(output).stat().st_size > 0

    def samples(self, mime: str, rate_hz: int, seconds: int) -> bytes:
        """The sound as 16-bit samples of one channel. Raises `RefusalError`."""
        options = ["-vn", "-ac", "1", "-ar", str(rate_hz), "-t", str(seconds), "-f", "s16le"]
        status, log, output = self._run([*self._input(mime), *options, "pipe:1"])
        if status != 0 or not output:
            raise RefusalError("damaged", log[-200:])
        return output

    def _input(self, mime: str, name: str = UPLOAD) -> list[str]:
        allowed = ["-protocol_whitelist", "file,pipe", "-max_pixels", str(_FRAME_PIXELS)]
        return [*allowed, "-f", _DEMUXERS[mime], "-i", f"file:{name}"]

    def _run(self, arguments: list[str]) -> tuple[int, str, bytes]:
        """Exit status, log and standard output."""
        argv = ["ffmpeg", "-hide_banner", "-nostdin", "-nostats", "-threads", "2", *arguments]
        pid = os.fork()
        if pid == 0:
            self._become(argv)
        _, status = os.waitpid(pid, 0)
        log = Path(_LOG).read_bytes()[-20_000:].decode("utf-8", "replace")
        output = Path(_OUTPUT).read_bytes()
        Path(_LOG).unlink()
        Path(_OUTPUT).unlink()
        return os.waitstatus_to_exitcode(status), log, output

    def _become(self, argv: list[str]) -> None:
        """In the new process. Never returns."""
        try:
            die_with_parent()
            for name, descriptor in ((_OUTPUT, 1), (_LOG, 2)):
                opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.dup2(opened, descriptor)
            os.execve(self._program, argv, {})  # noqa: S606 (a descriptor of our own)
        finally:
            os._exit(127)


def _milliseconds(hours: str, minutes: str, seconds: str, fraction: str) -> int:
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int(fraction[:3].ljust(3, "0"))
