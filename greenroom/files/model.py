"""Files, what becomes of them, and the rules that need nothing but them. Pure.

Times are milliseconds since 1970.
"""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from greenroom.accounts.model import ViewingChoices, clean_line
from greenroom.conversations.attachments import FileState, RenditionKind
from greenroom.conversations.model import Media
from greenroom.kernel.errors import AttachmentTooLarge, InvalidRequest, UnsupportedType
from greenroom.kernel.limits import Limits

Purpose = Literal["attachment", "voice", "proof", "receipt", "moodboard"]
BandSource = Literal["classifier", "unscanned", "none", "operator"]
Visibility = Literal["clear", "blurred", "hidden"]

ENDED: frozenset[FileState] = frozenset({"ready", "quarantined", "refused", "expired"})
"""States that processing does not leave. An operator can release from `quarantined`."""
USABLE: frozenset[FileState] = frozenset({"processing", "ready"})
"""States in which a file can be sent with a message."""
BANDED: frozenset[Media] = frozenset({"image", "video"})
"""What Safe-Mode applies to. Everything else is band 0."""

SAFE, SUGGESTIVE, EXPLICIT = 0, 1, 2

QUARANTINE = "msg-quarantine/"
PREVIEWS = "msg-previews/"
THREADS = "threads/"
PREFIXES = (QUARANTINE, PREVIEWS, THREADS)
"""Where the blobs of files are."""

WATERMARK_CHARACTERS = 60

_FILE_ID = re.compile(r"fil_[0-9a-f]{12}[0-9a-z]{14}")
_MIME = re.compile(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,62}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_IMAGES = frozenset(
    f"image/{each}" for each in ("jpeg", "png", "webp", "gif", "avif", "heic", "heif")
)
# Types that browsers or systems run. The content is looked at later; this only answers early.
_ACTIVE = frozenset(
    {
        "text/html",
        "text/javascript",
        "application/javascript",
        "application/ecmascript",
        "application/xhtml+xml",
        "application/x-httpd-php",
        "application/x-msdownload",
        "application/x-msdos-program",
        "application/x-sh",
        "application/x-shockwave-flash",
        "application/java-archive",
        "application/vnd.android.package-archive",
        "application/vnd.microsoft.portable-executable",
        "image/svg+xml",
    }
)
_TAKEN_MEDIA: dict[Purpose, frozenset[Media]] = {
    "attachment": frozenset({"image", "video", "audio", "pdf", "other"}),
    "voice": frozenset({"audio"}),
    "proof": frozenset({"image", "video"}),
    "receipt": frozenset({"image", "pdf"}),
    "moodboard": frozenset({"image"}),
}
_EXTENSIONS = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/gif": "gif",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "audio/mp4": "m4a",
    "audio/webm": "weba",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "application/pdf": "pdf",
}


@dataclass(frozen=True, slots=True)
class Rendition:
    """One form of a file. `key` is where the blob store has it."""

    kind: RenditionKind
    key: str
    mime: str
    bytes: int
    width: int | None = None
    height: int | None = None

    @property
    def name(self) -> str:
        """Unique within its file, such as `preview.webp`."""
        return self.key.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class File:
    id: str
    thread_id: str | None
    """None for an upload of the polling API whose message has not been sent."""
    owner: str
    purpose: Purpose
    name: str
    mime: str
    """As the sender declared it."""
    bytes: int
    sha256: str | None
    state: FileState
    media: Media
    created_at_ms: int
    reason: str | None = None
    content_mime: str | None = None
    """As the content says."""
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: tuple[int, ...] | None = None
    alt: str | None = None
    band: int | None = None
    """None: not known."""
    band_source: BandSource | None = None
    renditions: tuple[Rendition, ...] = ()
    parts_handle: str | None = None
    watermark: str | None = None
    completed_at_ms: int | None = None
    finished_at_ms: int | None = None
    told_at_ms: int | None = None
    deleted_at_ms: int | None = None

    @property
    def upload_key(self) -> str:
        """Where the bytes lie as they came. Nothing is ever signed for download there."""
        return upload_key(self.id)

    def find_rendition(self, name: str) -> Rendition | None:
        return next((each for each in self.renditions if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Hints:
    """What the sender's device knows of the content. It is shown until the server has measured
    the content, and afterwards where the server could not."""

    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: tuple[int, ...] | None = None


NO_HINTS = Hints()


@dataclass(frozen=True, slots=True)
class NewFile:
    """An upload that is asked for, with its fields checked."""

    name: str
    mime: str
    bytes: int
    sha256: str | None
    purpose: Purpose
    watermark: str | None = None
    hints: Hints = NO_HINTS

    @property
    def media(self) -> Media:
        return media_of(self.mime)


def is_file_id(text: str) -> bool:
    return _FILE_ID.fullmatch(text) is not None


def upload_key(file_id: str) -> str:
    return f"{QUARANTINE}{file_id}/upload"


def rendition_key(thread_id: str, file_id: str, kind: RenditionKind, suffix: str) -> str:
    """`suffix` is the extension with its dot; an original has none, whatever it is."""
    if kind == "original":
        return f"{THREADS}{thread_id}/attachments/{file_id}/original"
    return f"{PREVIEWS}{thread_id}/{file_id}/{kind}{suffix}"


def file_of_key(key: str) -> str | None:
    """The id of the file that a blob belongs to; None: to none of ours."""
    return next((part for part in key.split("/") if is_file_id(part)), None)


def extension_of(mime: str) -> str:
    return _EXTENSIONS.get(mime, "bin")


def media_of(mime: str) -> Media:
    """What a declared type promises."""
    if mime in _IMAGES:
        return "image"
    if mime == "application/pdf":
        return "pdf"
    if mime.startswith("video/"):
        return "video"
    return "audio" if mime.startswith("audio/") else "other"


def check_new_file(
    *,
    name: str,
    mime: str,
    byte_count: int,
    sha256: str | None,
    purpose: Purpose,
    watermark: str | None,
    limits: Limits,
    hints: Hints = NO_HINTS,
) -> NewFile:
    """Raises AttachmentTooLarge, UnsupportedType and InvalidRequest."""
    if byte_count < 1:
        raise InvalidRequest("bytes takes the length of the file, at least 1")
    if byte_count > limits.file_bytes:
        raise AttachmentTooLarge(f"At most {limits.file_bytes} bytes are taken.")
    if sha256 is not None and _SHA256.fullmatch(sha256) is None:
        raise InvalidRequest("sha256 takes 64 hexadecimal digits in lower case")
    if watermark is not None and purpose != "proof":
        raise InvalidRequest("watermark is allowed with the purpose proof")
    mark = None if watermark is None else clean_line(watermark)[:WATERMARK_CHARACTERS] or None
    cleaned = clean_name(name, limits.file_name_characters)
    new = NewFile(cleaned, check_mime(mime, purpose), byte_count, sha256, purpose, mark, hints)
    _check_size(hints, new.media, limits)
    _check_recording(hints, purpose, limits)
    return new


def _check_size(hints: Hints, media: Media, limits: Limits) -> None:
    sides = [each for each in (hints.width, hints.height) if each is not None]
    if not sides:
        return
    if media not in BANDED:
        raise InvalidRequest("width and height are allowed with pictures and videos")
    if len(sides) == 1 or min(sides) < 1:
        raise InvalidRequest("width and height take numbers of pixels, both or none")
    if max(sides) > limits.image_side:
        raise AttachmentTooLarge(f"At most {limits.image_side} pixels a side are taken.")


def _check_recording(hints: Hints, purpose: Purpose, limits: Limits) -> None:
    if hints.duration_ms is None and hints.peaks is None:
        return
    if purpose != "voice":
        raise InvalidRequest("duration_ms and peaks are allowed with the purpose voice")
    if hints.duration_ms is not None and hints.duration_ms < 1:
        raise InvalidRequest("duration_ms takes the length of the recording, at least 1")
    # Recorders stop a little after the second.
    if (hints.duration_ms or 0) > (limits.voice_s + 1) * 1000:
        raise AttachmentTooLarge(f"A voice note has at most {limits.voice_s} seconds.")
    peaks = hints.peaks or ()
    if len(peaks) > limits.voice_peaks or not all(0 <= each <= 100 for each in peaks):
        raise InvalidRequest(f"peaks takes at most {limits.voice_peaks} numbers from 0 to 100")


def check_mime(text: str, purpose: Purpose) -> str:
    """The type without parameters. Raises UnsupportedType."""
    mime = text.partition(";")[0].strip().lower()
    if _MIME.fullmatch(mime) is None:
        raise InvalidRequest("mime takes a type such as image/jpeg")
    if mime in _ACTIVE:
        raise UnsupportedType(
            f"{mime} is not taken, because browsers or systems run it.",
            hint="Send it as a picture or a PDF, or a link to it.",
        )
    if media_of(mime) not in _TAKEN_MEDIA[purpose]:
        raise UnsupportedType(
            f"{mime} is not taken as {purpose}.",
            hint=f"As {purpose}: {', '.join(sorted(_TAKEN_MEDIA[purpose]))}.",
        )
    return mime


def clean_name(text: str, most: int) -> str:
    """The last part of a path, as one line. Long names are shortened before their extension."""
    name = clean_line(text.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    if len(name) <= most:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension) > 10:
        return name[:most]
    return f"{stem[: most - len(extension) - 1]}.{extension}"


def clean_alt(text: str | None, most: int) -> str | None:
    alt = clean_line(" ".join((text or "").split()))
    if len(alt) > most:
        raise InvalidRequest(f"alt has {len(alt)} characters; at most {most} are taken")
    return alt or None


def band_of(file: File, unscanned_band: int) -> int:
    """The band that counts. What nobody has looked at counts as `unscanned_band`, never as safe by
    itself."""
    if file.media not in BANDED:
        return SAFE
    return unscanned_band if file.band is None else file.band


def visibility_of(
    band: int, viewer: ViewingChoices, *, is_required: bool, is_revealed: bool
) -> Visibility:
    """What Safe-Mode lets this viewer see. `is_required`: the thread demands Safe-Mode, whatever
    the viewer has chosen. Owners are viewers like any other."""
    is_on = viewer.safe_mode or is_required
    if band <= SAFE:
        return "clear"
    if band == SUGGESTIVE:
        return "blurred" if is_on and not is_revealed else "clear"
    return "hidden" if is_on or not viewer.age_verified else "clear"


def renditions_for(file: File, visibility: Visibility) -> tuple[Rendition, ...]:
    """Those that a viewer may fetch."""
    if file.state != "ready" or visibility == "hidden":
        return ()
    is_blurred = visibility == "blurred"
    return tuple(each for each in file.renditions if (each.kind == "blurred") == is_blurred)


def disposition_of(file: File, rendition: Rendition) -> str:
    """How a browser shows or saves it. Only what a media element shows is shown in place."""
    media_type = rendition.mime.partition("/")[0]
    is_shown = media_type in ("image", "video", "audio")
    name = file.name
    if rendition.kind != "original":
        stem = name.rpartition(".")[0] or name
        name = f"{stem}.{extension_of(rendition.mime)}"
    plain = "".join(each if _is_plain(each) else "_" for each in name)
    way = "inline" if is_shown else "attachment"
    return f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _is_plain(character: str) -> bool:
    return character.isascii() and character.isprintable() and character not in '"\\%;'


def part_sizes(byte_count: int, part_bytes: int) -> list[int]:
    """The lengths of the parts of an upload."""
    whole, rest = divmod(byte_count, part_bytes)
    return [part_bytes] * whole + ([rest] if rest else [])


def rounded_expiry(now_ms: int, life_s: int) -> int:
    """When an address expires that is signed now: after half of its life to all of it. It is the
    same for everyone who asks within half a life, so that browsers can use their cache."""
    half_ms = max(1, life_s // 2) * 1000
    return (now_ms // half_ms + 2) * half_ms
