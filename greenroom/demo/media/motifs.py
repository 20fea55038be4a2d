"""What the pictures of the sample show. Each motif draws on an empty canvas."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greenroom.demo.media.canvas import Canvas, Colour, lit_by, mixed


@dataclass(frozen=True, slots=True)
class Palette:
    dark: Colour
    middle: Colour
    light: Colour
    accent: Colour


Motif = Callable[[Canvas, Palette], None]


def cloth(canvas: Canvas, palette: Palette) -> None:
    """Folds of a fabric in window light."""
    bend = canvas.noise(4) * 0.35 + canvas.noise(9) * 0.08
    turn = canvas.dice.uniform(-0.8, 0.8)
    along = canvas.x * canvas.across + canvas.y * turn + bend
    folds = np.sin(along * 15) + 0.5 * np.sin(along * 31 + canvas.noise(5) * 2)
    light = lit_by(folds.astype(np.float32), 17)
    canvas.pixels[:] = mixed(palette.dark, palette.light, np.clip(light, 0, 1))
    canvas.paint(np.clip(light - 0.85, 0, 1), palette.accent)


def knit(canvas: Canvas, palette: Palette) -> None:
    """Knitwear from near: rows of stitches on soft folds."""
    bend = canvas.noise(4) * 0.02
    column = (canvas.x * canvas.across + bend) * 46
    row = (canvas.y + bend) * 60
    slant = np.abs((column % 1) - 0.5) * 2
    stitch = np.sin((row + slant * 0.9) * 2 * np.pi) * 0.5 + 0.5
    seam = np.clip(np.minimum(slant, 1 - slant) * 5, 0, 1)
    relief = 0.45 + 0.55 * stitch * seam
    folds = lit_by(canvas.noise(3) + 0.3 * canvas.noise(6), 54)
    canvas.pixels[:] = mixed(palette.dark, palette.light, np.clip(relief * folds * 1.25, 0, 1))
    band = np.clip(np.sin(canvas.y * 9 + canvas.noise(3)) * 4 - 2.6, 0, 1) * 0.7
    canvas.paint(band * relief, palette.accent)


def wall(canvas: Canvas, palette: Palette) -> None:
    """Old bricks, with the shadow of a tree."""
    rows, columns = 22, 22 * canvas.across / 2.6
    row = np.floor(canvas.y * rows)
    across = canvas.x * columns + (row % 2) * 0.5
    tints = canvas.dice.random((rows + 1, int(columns) + 3), np.float32)
    tint = tints[row.astype(int), np.floor(across).astype(int)]
    rough = canvas.noise(160) * 0.08 + canvas.noise(40) * 0.06
    canvas.pixels[:] = mixed(palette.dark, palette.middle, np.clip(tint * 0.8 + 0.15 + rough, 0, 1))
    gap = np.minimum((canvas.y * rows) % 1 * 2.6, (across % 1) * 6)
    canvas.paint(np.clip(1.35 - gap * 4, 0, 1), palette.light)
    leaves = np.clip(canvas.noise(7) + 0.5 * canvas.noise(16) + canvas.x * 1.9 - 0.4, 0, 1)
    canvas.shade(0.45 + 0.7 * leaves)
    canvas.glow((0.8, 0.25), 0.5, palette.accent, 0.16)


def hills(canvas: Canvas, palette: Palette) -> None:
    """Ridges in the mist, one behind the other."""
    canvas.fade(palette.light, palette.accent, canvas.y * 1.5)
    canvas.glow((canvas.dice.uniform(0.3, 0.7), 0.34), 0.12, palette.light, 0.5)
    for depth in range(5):
        part = (depth + 1) / 5
        ridge = 0.38 + depth * 0.12 + canvas.noise(3 + depth * 3)[0] * 0.09
        ridge += canvas.noise(30 + depth * 20)[0] * 0.012
        mask = np.clip((canvas.y - ridge[None, :]) * canvas.height / 2, 0, 1).astype(np.float32)
        mist = np.clip((canvas.y - ridge[None, :]) * 2.2, 0, 0.6).astype(np.float32)
        tone = np.full_like(mist, part)
        canvas.paint(
            mask, mixed(palette.accent, palette.dark, np.clip(tone - mist * (1 - part), 0, 1))
        )


def sea(canvas: Canvas, palette: Palette) -> None:
    """The horizon and a low sun."""
    canvas.fade(palette.middle, palette.light, canvas.y * 2.2)
    at = canvas.dice.uniform(0.35, 0.65)
    canvas.glow((at, 0.42), 0.09, palette.accent, 0.9)
    below = np.clip((canvas.y - 0.46) * canvas.height, 0, 1)
    water = mixed(palette.middle, palette.dark, np.clip((canvas.y - 0.46) * 1.9, 0, 1))
    canvas.paint(below, water)
    near = np.clip((canvas.y - 0.46) / 0.54, 0.02, 1)
    waves = canvas.noise(40, 150) * (0.3 + near) + canvas.noise(160, 320) * 0.4
    glitter = np.exp(-(((canvas.x - at) / (0.03 + near * 0.22)) ** 2)) * np.clip(
        waves * 2.2 - 0.5, 0, 1
    )
    canvas.paint((glitter * below * 0.9).astype(np.float32), palette.accent)
    canvas.shade(1 + 0.10 * waves * below)


def vessels(canvas: Canvas, palette: Palette) -> None:
    """Ceramics on a table."""
    canvas.fade(
        palette.middle, palette.light, canvas.x * 0.5 + canvas.y * 0.9 + canvas.noise(4) * 0.06
    )
    table = np.clip((canvas.y - 0.7) * canvas.height / 6, 0, 1)
    canvas.paint(
        table,
        mixed(palette.light, palette.middle, np.clip(canvas.x + canvas.noise(60, 3) * 0.1, 0, 1)),
    )
    colours = (palette.dark, palette.accent, palette.light)
    for place, centre in enumerate((0.3, 0.52, 0.72)):
        top, foot = canvas.dice.uniform(0.3, 0.52), 0.78 + 0.05 * (place % 2)
        waist, width = canvas.dice.uniform(2, 7), canvas.dice.uniform(0.075, 0.13)
        t = (canvas.y - top) / (foot - top)
        radius = width * (0.55 + 0.45 * np.sin(np.clip(t, 0, 1) * np.pi * 0.8 + waist))
        shadow = canvas.ellipse((centre + 0.09, foot), (0.13, 0.022), 0.02)
        canvas.darken(shadow, 0.55)
        mask, light = canvas.turned(
            centre, np.maximum(radius, 0.03).astype(np.float32), (top, foot)
        )
        canvas.paint(mask, light[..., None] * np.asarray(colours[place], np.float32) * 1.1)


def bust(canvas: Canvas, palette: Palette) -> None:
    """A person from behind, almost a silhouette, before a painted backdrop."""
    mottled = canvas.noise(5) * 0.16 + canvas.noise(11) * 0.07
    canvas.fade(palette.middle, palette.dark, canvas.y * 0.5 + canvas.x * 0.4 + mottled)
    canvas.glow((0.36, 0.34), 0.3, palette.light, 0.4)
    centre, down = canvas.dice.uniform(0.47, 0.55), canvas.y
    shoulders = 0.08 + 0.3 / (1 + np.exp(-(down - 0.72) * 24)) + np.clip(down - 0.74, 0, 1) * 0.25
    head = 0.15 * np.sqrt(np.clip(1 - ((down - 0.37) / 0.175) ** 2, 0, 1))
    for outline, between, colour, strength in (
        (shoulders, (0.5, 1.1), palette.accent, 0.95),
        (head, (0.15, 0.6), palette.dark, 1.2),
    ):
        mask, light = canvas.turned(centre, outline.astype(np.float32), between)
        rim = np.clip(light - 0.3, 0, 1) * strength + 0.05
        canvas.paint(mask, rim[..., None] * np.asarray(colour, np.float32))
    canvas.glow((0.2, 0.45), 0.22, palette.light, 0.06)


def cove(canvas: Canvas, palette: Palette) -> None:
    """An empty studio: the curve where the wall becomes the floor, and a soft box."""
    bend = 1 / (1 + np.exp(-(canvas.y - 0.66) * 9))
    canvas.fade(palette.light, palette.middle, 0.25 + 0.5 * bend + (canvas.x - 0.3) * 0.35)
    canvas.glow((0.24, 0.3), 0.32, palette.light, 0.35)
    box = [(0.12, 0.14), (0.3, 0.1), (0.31, 0.46), (0.13, 0.48)]
    frame = [
        (x + (0.008 if x > 0.2 else -0.008), y + (0.012 if y > 0.3 else -0.012)) for x, y in box
    ]
    canvas.paint(canvas.polygon(frame), palette.dark)
    canvas.paint(canvas.polygon(box, 0.004), (1.0, 0.98, 0.94))
    canvas.glow((0.22, 0.29), 0.14, (1.0, 0.96, 0.9), 0.3)
    for points in (
        [(0.214, 0.47), (0.22, 0.47), (0.221, 0.86), (0.213, 0.86)],
        [(0.215, 0.74), (0.218, 0.74), (0.165, 0.92), (0.158, 0.92)],
        [(0.217, 0.74), (0.22, 0.74), (0.282, 0.91), (0.275, 0.91)],
    ):
        canvas.paint(canvas.polygon(points), palette.dark)
    stool = canvas.ellipse((0.64, 0.66), (0.07, 0.022))
    canvas.darken(canvas.ellipse((0.72, 0.885), (0.14, 0.02), 0.02), 0.4)
    for x, foot in ((0.585, 0.565), (0.64, 0.645), (0.695, 0.715)):
        leg = [(x - 0.005, 0.66), (x + 0.005, 0.66), (foot + 0.004, 0.89), (foot - 0.004, 0.89)]
        canvas.paint(canvas.polygon(leg), palette.dark)
    canvas.paint(stool, palette.accent)


def plate(canvas: Canvas, palette: Palette) -> None:
    """A dish from above."""
    grain = (
        np.sin((canvas.y * 34 + canvas.noise(3, 9) * 3) * 2) * 0.06 + canvas.noise(90, 12) * 0.05
    )
    canvas.fade(palette.dark, palette.middle, 0.4 + grain + canvas.x * 0.3)
    canvas.darken(canvas.ellipse((0.53, 0.55), (0.37 / canvas.across, 0.37), 0.03), 0.5)
    for radius, tone in ((0.37, 0.86), (0.355, 0.95), (0.25, 0.84), (0.242, 0.92)):
        light = tone * (1.04 - 0.12 * canvas.x - 0.06 * canvas.y)
        china = light[..., None] * np.asarray((1.0, 0.98, 0.95), np.float32)
        canvas.paint(canvas.ellipse((0.5, 0.5), (radius / canvas.across, radius)), china)
    for _ in range(9):
        turn, away = canvas.dice.uniform(0, 6.28), canvas.dice.uniform(0.02, 0.16)
        x, y = 0.5 + np.cos(turn) * away / canvas.across, 0.5 + np.sin(turn) * away
        size = canvas.dice.uniform(0.028, 0.062)
        colour = (palette.accent, palette.light, palette.middle)[canvas.dice.integers(3)]
        canvas.darken(
            canvas.ellipse((x + 0.012, y + 0.014), (size / canvas.across, size), 0.012), 0.45
        )
        side, down = (canvas.x - x) * canvas.across / size, (canvas.y - y) / size
        facing = np.sqrt(np.clip(1 - side**2 - down**2, 0, 1))
        light = np.clip(0.25 + 0.75 * (0.6 * facing - 0.45 * side - 0.45 * down), 0.1, 1)
        shine = np.exp(-((side + 0.4) ** 2 + (down + 0.4) ** 2) / 0.05) * 0.5
        ball = canvas.ellipse((x, y), (size / canvas.across, size), 0.0015)
        canvas.paint(
            ball, light[..., None] * np.asarray(colour, np.float32) * 1.2 + shine[..., None]
        )


def lights(canvas: Canvas, palette: Palette) -> None:
    """A party at night, out of focus."""
    canvas.fade(palette.dark, palette.middle, canvas.y * 0.55 + canvas.noise(3) * 0.15)
    for _ in range(34):
        x, y = canvas.dice.random(), canvas.dice.beta(2, 3.2)
        size = canvas.dice.uniform(0.014, 0.06)
        colour = palette.light if canvas.dice.random() < 0.6 else palette.accent
        disc = canvas.ellipse((x, y), (size / canvas.across, size), 0.004)
        canvas.lighten(disc, colour, canvas.dice.uniform(0.12, 0.55))
    floor = np.clip((canvas.y - 0.78) * 4, 0, 1)
    canvas.shade(1 - 0.5 * floor)


def stairs(canvas: Canvas, palette: Palette) -> None:
    """A stairwell of concrete."""
    canvas.fade(palette.light, palette.middle, canvas.y * 0.7 + canvas.noise(6) * 0.08)
    for step in range(9):
        left, top = 0.08 + step * 0.105, 0.9 - step * 0.092
        tread = [(left, top), (1.2, top), (1.2, top + 0.03), (left, top + 0.03)]
        riser = [(left, top + 0.03), (1.2, top + 0.03), (1.2, 1.2), (left, 1.2)]
        part = np.full((canvas.height, canvas.width), 0.35 + step * 0.06, np.float32)
        rough = canvas.noise(70) * 0.05
        canvas.paint(
            canvas.polygon(riser), mixed(palette.dark, palette.middle, np.clip(part + rough, 0, 1))
        )
        canvas.paint(canvas.polygon(tread), palette.light)
    rail = [(0.0, 0.62), (0.0, 0.6), (0.92, -0.2), (0.95, -0.2)]
    canvas.paint(canvas.polygon(rail), palette.accent)
    canvas.glow((0.15, 0.1), 0.4, palette.light, 0.2)
    canvas.shade(0.75 + 0.35 * np.clip(canvas.noise(3) + 0.4, 0, 1))
