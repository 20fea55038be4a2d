"""A picture in progress: light, shapes and what a camera adds. Brightness is 0 to 1 per channel."""

import io
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Pixels = NDArray[np.floating]
Colour = tuple[float, float, float]
Point = tuple[float, float]

JPEG_QUALITY = 82
DRAWN = 0.6
"""Shapes are drawn smaller than the picture, which is quicker and as soft as a lens. The grain is
that of the whole picture."""


class Canvas:
    """Positions are fractions of the width and height, from the upper left corner."""

    def __init__(self, name: str, width: int, height: int) -> None:
        self._size = width, height
        self.width, self.height = int(width * DRAWN), int(height * DRAWN)
        self.dice = np.random.default_rng(list(name.encode()))
        self.y, self.x = np.meshgrid(
            np.linspace(0, 1, self.height, dtype=np.float32),
            np.linspace(0, 1, self.width, dtype=np.float32),
            indexing="ij",
        )
        self.pixels: Pixels = np.zeros((self.height, self.width, 3), np.float32)

    @property
    def across(self) -> float:
        """The width in heights: distances in `x` times this are those in `y`."""
        return self.width / self.height

    def fill(self, colour: Colour) -> None:
        self.pixels[:] = colour

    def fade(self, start: Colour, end: Colour, along: Pixels) -> None:
        """From one colour to another where `along` goes from 0 to 1."""
        part = np.clip(along, 0, 1)[..., None]
        self.pixels[:] = _rgb(start) * (1 - part) + _rgb(end) * part

    def paint(self, mask: Pixels, colour: Colour | Pixels) -> None:
        rows, columns = _touched(mask)
        paint = _rgb(colour)
        paint = paint[rows, columns] if paint.ndim > 1 else paint
        pixels = self.pixels[rows, columns]
        pixels += mask[rows, columns, None] * (paint - pixels)

    def shade(self, factor: Pixels) -> None:
        self.pixels *= factor[..., None]

    def darken(self, mask: Pixels, part: float) -> None:
        rows, columns = _touched(mask)
        self.pixels[rows, columns] *= 1 - part * mask[rows, columns, None]

    def lighten(self, mask: Pixels, colour: Colour, strength: float) -> None:
        rows, columns = _touched(mask)
        self.pixels[rows, columns] += mask[rows, columns, None] * _rgb(colour) * strength

    def glow(self, at: Point, radius: float, colour: Colour, strength: float) -> None:
        """Add light that falls off from a point."""
        away = ((self.x - at[0]) * self.across) ** 2 + (self.y - at[1]) ** 2
        light = np.exp(-away / (2 * radius**2)) * strength
        self.pixels += light[..., None] * _rgb(colour)

    def noise(self, columns: int, rows: int | None = None) -> Pixels:
        """Smooth random values of -1 to 1, with about so many hills across and down."""
        small = self.dice.random((max(2, rows or columns), max(2, columns)), np.float32)
        image = Image.fromarray(small, "F").resize(
            (self.width, self.height), Image.Resampling.BICUBIC
        )
        return np.asarray(image, np.float32) * 2 - 1

    def polygon(self, points: Sequence[Point], softness: float = 0.002) -> Pixels:
        return self._mask(lambda pen, scaled: pen.polygon(scaled, fill=255), points, softness)

    def ellipse(self, centre: Point, size: Point, softness: float = 0.002) -> Pixels:
        """`size` is half of the width and height."""
        box = [
            (centre[0] - size[0], centre[1] - size[1]),
            (centre[0] + size[0], centre[1] + size[1]),
        ]
        return self._mask(lambda pen, scaled: pen.ellipse(scaled, fill=255), box, softness)

    def _mask(
        self,
        draw: Callable[[ImageDraw.ImageDraw, list[Point]], None],
        points: Sequence[Point],
        softness: float,
    ) -> Pixels:
        """Only the part around the shape is drawn, which is much quicker."""
        scaled = [(x * self.width, y * self.height) for x, y in points]
        blur = max(softness * self.height, 0.6)
        left, top, right, bottom = self._around(scaled, 4 * blur)
        mask = np.zeros((self.height, self.width), np.float32)
        if left < right and top < bottom:
            image = Image.new("L", (right - left, bottom - top))
            draw(ImageDraw.Draw(image), [(x - left, y - top) for x, y in scaled])
            image = image.filter(ImageFilter.GaussianBlur(blur))
            mask[top:bottom, left:right] = np.asarray(image, np.float32) / 255
        return mask

    def _around(self, points: Sequence[Point], margin: float) -> tuple[int, int, int, int]:
        across, down = [x for x, _ in points], [y for _, y in points]
        return (
            max(0, int(min(across) - margin)),
            max(0, int(min(down) - margin)),
            min(self.width, int(max(across) + margin)),
            min(self.height, int(max(down) + margin)),
        )

    def turned(
        self, centre: float, radius: Pixels, between: tuple[float, float]
    ) -> tuple[Pixels, Pixels]:
        """A body turned on a lathe, such as a vase: its mask, and how much light of a window on the
        left each point gets. `radius` is its outline, by height."""
        side = (self.x - centre) * self.across / np.maximum(radius, 1e-4)
        inside = np.clip((1 - np.abs(side)) * radius * self.height / 1.5, 0, 1)
        inside *= np.clip((self.y - between[0]) * self.height, 0, 1)
        inside *= np.clip((between[1] - self.y) * self.height, 0, 1)
        facing = np.sqrt(np.clip(1 - side**2, 0, 1))
        light = np.clip(0.12 + 0.75 * (0.45 * facing - 0.8 * side), 0.06, 1)
        shine = np.exp(-((side + 0.45) ** 2) / 0.012) * 0.25
        return inside.astype(np.float32), (light + shine).astype(np.float32)

    def develop(self, *, grain: float = 0.02, vignette: float = 0.35) -> bytes:
        """The picture as a JPEG, with the grain of a film and the dark corners of a lens."""
        away = ((self.x - 0.5) ** 2 + (self.y - 0.5) ** 2) * 2
        self.shade(1 - vignette * away**1.3)
        drawn = Image.fromarray((np.clip(self.pixels, 0, 1) * 255).astype(np.uint8), "RGB")
        large = np.asarray(drawn.resize(self._size, Image.Resampling.BICUBIC), np.int16)
        noise = self.dice.standard_normal((self._size[1], self._size[0]), np.float32)
        data = np.clip(large + (noise * grain * 255).astype(np.int16)[..., None], 0, 255)
        written = io.BytesIO()
        image = Image.fromarray(data.astype(np.uint8), "RGB")
        image.save(written, "JPEG", quality=JPEG_QUALITY)
        return written.getvalue()


def _touched(mask: Pixels) -> tuple[slice, slice]:
    """The rows and columns in which a mask is not zero."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return slice(0, 0), slice(0, 0)
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def _rgb(colour: Colour | Pixels) -> Pixels:
    return np.asarray(colour, np.float32)


def lit_by(height: Pixels, steepness: float) -> Pixels:
    """How light from the upper left falls on a relief."""
    down, right = np.gradient(height * steepness)
    light: Pixels = np.clip(0.55 - 0.5 * right - 0.35 * down, 0.08, 1.15)
    return light


def mixed(one: Colour, other: Colour, part: Pixels) -> Pixels:
    share: Pixels = part[..., None]
    first, second = _rgb(one), _rgb(other)
    both: Pixels = first + (second - first) * share
    return both
