"""Decodes pictures and makes their renditions with libvips.

The size is checked before a pixel is decoded. Everything written is encoded anew in sRGB with the
orientation applied and with `keep="none"`: no EXIF, GPS, XMP, comment or colour profile is left.
"""

from dataclasses import dataclass
from typing import Any

import pi_heif
import pyvips

from greenroom.files.media.job import MediaLimits, RenditionKind
from greenroom.files.media.refusals import RefusalError
from greenroom.files.media.wire import AnsweredRendition

# Results that libvips remembers would keep whole decoded pictures in memory.
pyvips.cache_set_max(0)

PREVIEW_SIDE = 1600
THUMB_SIDE = 320
# What a blurred picture is made of: nobody can recognise anything in so few points.
BLURRED_POINTS = 12

_LOADERS = {
    "image/jpeg": "jpegload",
    "image/png": "pngload",
    "image/webp": "webpload",
    "image/gif": "gifload",
    "image/avif": "heifload",
}
WEBP, JPEG, PNG = "image/webp", "image/jpeg", "image/png"
_SUFFIXES = {WEBP: "webp", JPEG: "jpg", PNG: "png"}
# Half of the time of the default effort for a few per cent more bytes.
_WEBP_EFFORT = 2
_QUALITY: dict[RenditionKind, int] = {
    "thumb": 76,
    "preview": 82,
    "poster": 82,
    "blurred": 50,
    "original": 90,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture whose header was read. `width` and `height` are as people see it, upright."""

    data: bytes
    mime: str
    width: int
    height: int
    frames: int
    has_alpha: bool
    has_colours: bool
    """It has a colour profile other than sRGB, so its colours have to be converted."""
    decoded: pyvips.Image | None = None
    """For formats that libvips does not read."""


def open_picture(data: bytes, mime: str, limits: MediaLimits) -> Picture:
    """Reads the header. Raises `RefusalError`."""
    if mime == "image/heic":
        return _open_heic(data, limits)
    try:
        image = pyvips.Image.new_from_buffer(data, "", access="sequential")
        loader = str(image.get("vips-loader"))
    except pyvips.Error as error:
        raise RefusalError("damaged", _text(error)) from error
    if not loader.startswith(_LOADERS[mime]):
        raise RefusalError("type_mismatch", f"{loader} for {mime}")
    frames = int(image.get("n-pages")) if image.get_typeof("n-pages") else 1
    is_animated = frames > 1 and mime in ("image/gif", "image/webp")
    check_size(image.width, image.height, limits, frames=frames if is_animated else 1)
    width, height = image.width, image.height
    if int(image.get("orientation") if image.get_typeof("orientation") else 1) >= 5:
        width, height = height, width
    count = frames if is_animated else 1
    return Picture(data, mime, width, height, count, image.hasalpha(), _has_colours(image))


def _open_heic(data: bytes, limits: MediaLimits) -> Picture:
    try:
        heif = pi_heif.open_heif(data, convert_hdr_to_8bit=True)
        width, height = heif.size
        check_size(width, height, limits)
        image = _from_heif(heif)
    except (ValueError, OSError, EOFError, RuntimeError, SyntaxError, pyvips.Error) as error:
        raise RefusalError("damaged", _text(error)) from error
    has_colours = _has_colours(image)
    return Picture(data, "image/heic", width, height, 1, image.hasalpha(), has_colours, image)


def _from_heif(heif: Any) -> pyvips.Image:
    """libheif has turned it already."""
    width, height = heif.size
    bands = {"RGB": 3, "RGBA": 4, "L": 1, "LA": 2}[heif.mode]
    rows = memoryview(heif.data)
    if heif.stride != width * bands:
        rows = memoryview(
            b"".join(rows[y * heif.stride : y * heif.stride + width * bands] for y in range(height))
        )
    image = pyvips.Image.new_from_memory(rows, width, height, bands, "uchar")
    image = image.copy(interpretation="srgb" if bands >= 3 else "b-w")
    profile = heif.info.get("icc_profile")
    if profile:
        image.set_type(pyvips.GValue.blob_type, "icc-profile-data", profile)
    return image


def _has_colours(image: pyvips.Image) -> bool:
    if not image.get_typeof("icc-profile-data"):
        return False
    profile = bytes(image.get("icc-profile-data"))
    return b"sRGB" not in profile and "sRGB".encode("utf-16-be") not in profile


def check_size(width: int, height: int, limits: MediaLimits, *, frames: int = 1) -> None:
    if width < 1 or height < 1:
        raise RefusalError("damaged", f"{width}×{height}")
    if max(width, height) > limits.image_side or width * height > limits.image_pixels:
        raise RefusalError("too_many_pixels", f"{width}×{height}")
    if frames > limits.frames or width * height * frames > limits.image_pixels:
        raise RefusalError("too_many_pixels", f"{frames} frames of {width}×{height}")


def _scaled(picture: Picture, side: int) -> pyvips.Image:
    """Upright, in sRGB, at most `side` wide and high."""
    wanted: dict[str, Any] = {"height": side, "size": "down"}
    if picture.has_colours:
        wanted["output_profile"] = "srgb"
    if picture.decoded is not None:
        return _in_srgb(picture.decoded.thumbnail_image(side, **wanted))
    # The argument `fail_on` of thumbnails has no effect, so it is given to the decoder.
    decoder = "[fail_on=error]"
    return _in_srgb(
        pyvips.Image.thumbnail_buffer(picture.data, side, option_string=decoder, **wanted)
    )


def _in_srgb(image: pyvips.Image) -> pyvips.Image:
    """Three bands of eight bits, or four with alpha."""
    if image.interpretation != "srgb" or image.format != "uchar":
        image = image.colourspace("srgb").cast("uchar")
    return image


def decode_preview(picture: Picture) -> pyvips.Image:
    """The first proof that the file is a picture. In memory, because all else is made from it."""
    try:
        return _scaled(picture, PREVIEW_SIDE).copy_memory()
    except pyvips.Error as error:
        raise _refusal(error) from error


def write_original(picture: Picture) -> AnsweredRendition:
    """At full size: what was lossless stays lossless, what moves moves on as WebP, and everything
    else is JPEG, which every program can open."""
    try:
        if picture.frames > 1:
            return _write_animation(picture)
        image = _scaled(picture, max(picture.width, picture.height))
        is_lossless = picture.mime in ("image/png", "image/gif")
        mime = PNG if is_lossless or picture.has_alpha else JPEG
        return _write(image, "original", mime)
    except pyvips.Error as error:
        raise _refusal(error) from error


def _write_animation(picture: Picture) -> AnsweredRendition:
    image = pyvips.Image.new_from_buffer(
        picture.data, "", access="sequential", n=-1, fail_on="error"
    )
    name = "original.webp"
    image.webpsave(name, Q=_QUALITY["original"], effort=_WEBP_EFFORT, keep="none")
    return AnsweredRendition("original", name, WEBP, picture.width, picture.height)


def write_renditions(
    preview: pyvips.Image, large: RenditionKind = "preview"
) -> list[AnsweredRendition]:
    """The large one, the thumb and the blurred one, each as WebP and as JPEG."""
    try:
        thumb = preview.thumbnail_image(THUMB_SIDE, height=THUMB_SIDE, size="down").copy_memory()
        made: list[tuple[RenditionKind, pyvips.Image]] = [
            (large, preview),
            ("thumb", thumb),
            ("blurred", _blurred(thumb)),
        ]
        return [_write(image, kind, mime) for kind, image in made for mime in (WEBP, JPEG)]
    except pyvips.Error as error:
        raise _refusal(error) from error


def _blurred(image: pyvips.Image) -> pyvips.Image:
    points = flat(image).thumbnail_image(BLURRED_POINTS, height=BLURRED_POINTS, size="down")
    enlarged = points.thumbnail_image(image.width, height=image.height, size="force")
    sigma = max(image.width, image.height) / BLURRED_POINTS / 2
    return enlarged.gaussblur(max(1.0, sigma)).cast("uchar").copy_memory()


def flat(image: pyvips.Image) -> pyvips.Image:
    """Without alpha, on white."""
    return image.flatten(background=255) if image.hasalpha() else image


def _write(image: pyvips.Image, kind: RenditionKind, mime: str) -> AnsweredRendition:
    name = f"{kind}.{_SUFFIXES[mime]}"
    quality = _QUALITY[kind]
    if mime == WEBP:
        image.webpsave(name, Q=quality, effort=_WEBP_EFFORT, keep="none")
    elif mime == PNG:
        image.pngsave(name, compression=6, keep="none")
    else:
        flat(image).jpegsave(name, Q=quality, interlace=False, keep="none")
    return AnsweredRendition(kind, name, mime, image.width, image.height)


def _refusal(error: pyvips.Error) -> RefusalError:
    text = _text(error)
    is_memory = "out of memory" in text or "Insufficient memory" in text
    return RefusalError("too_large" if is_memory else "damaged", text)


def _text(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
