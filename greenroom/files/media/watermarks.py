"""Writes a text across a picture, for previews that are not to be used without payment."""

import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyvips
from PIL import Image, ImageDraw, ImageFont

TEXT_CHARACTERS = 60
_OPACITY = 0.45
_ANGLE = 30


def _read_font() -> bytes:
    """Without importing the package, which reads all of its fonts."""
    found = find_spec("ttf_opensans")
    if found is None or found.origin is None:
        raise ImportError("ttf-opensans is not installed")
    return (Path(found.origin).parent / "ttf" / "OpenSans-SemiBold.ttf").read_bytes()


# Read when the module is loaded: a job can open no files.
_FONT = _read_font()


def watermarked(image: pyvips.Image, text: str) -> pyvips.Image:
    """The text again and again, light with a dark edge, so that it shows on any ground."""
    text = text.strip()[:TEXT_CHARACTERS]
    if not text:
        return image
    tile = _tile(text, max(14, max(image.width, image.height) // 28))
    across = image.width // tile.width + 1
    down = image.height // tile.height + 1
    layer = tile.replicate(across, down).crop(0, 0, image.width, image.height)
    marked = image.composite2(layer, "over").cast("uchar")
    return (marked if image.hasalpha() else marked[:3]).copy_memory()


def load_font(size: int) -> ImageFont.FreeTypeFont:
    # The other layout engine is not in every build of Pillow.
    return ImageFont.truetype(io.BytesIO(_FONT), size, layout_engine=ImageFont.Layout.BASIC)


def _tile(text: str, size: int) -> pyvips.Image:
    font = load_font(size)
    left, top, right, bottom = font.getbbox(text, stroke_width=1)
    margin = size
    drawn = Image.new(
        "RGBA", (int(right - left) + 2 * margin, int(bottom - top) + 2 * margin), (0, 0, 0, 0)
    )
    ImageDraw.Draw(drawn).text(
        (margin - left, margin - top),
        text,
        font=font,
        fill=(255, 255, 255, 255),
        stroke_width=max(1, size // 16),
        stroke_fill=(0, 0, 0, 255),
    )
    turned = np.asarray(drawn.rotate(_ANGLE, expand=True, resample=Image.Resampling.BICUBIC))
    height, width, bands = turned.shape
    pixels = np.ascontiguousarray(turned).tobytes()
    tile = pyvips.Image.new_from_memory(pixels, width, height, bands, "uchar")
    tile = tile.copy(interpretation="srgb")
    return tile[:3].bandjoin((tile[3] * _OPACITY).cast("uchar"))
