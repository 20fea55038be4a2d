"""Every file of the sample by its name in the scenes: what it is called, and how it is made."""

from collections.abc import Callable
from dataclasses import dataclass

from greenroom.demo.media import motifs
from greenroom.demo.media.canvas import Canvas
from greenroom.demo.media.motifs import Motif, Palette
from greenroom.demo.media.papers import Line, draw_receipt, write_pdf
from greenroom.demo.media.speech import speak

LANDSCAPE, PORTRAIT, SQUARE = (960, 640), (720, 900), (800, 800)

BRICK = Palette((0.13, 0.09, 0.08), (0.47, 0.29, 0.22), (0.86, 0.78, 0.70), (0.95, 0.66, 0.38))
WOOL = Palette((0.17, 0.13, 0.11), (0.50, 0.42, 0.35), (0.93, 0.88, 0.80), (0.66, 0.30, 0.20))
MOSS = Palette((0.09, 0.12, 0.08), (0.36, 0.41, 0.28), (0.86, 0.86, 0.74), (0.76, 0.56, 0.24))
NAVY = Palette((0.06, 0.09, 0.16), (0.25, 0.34, 0.46), (0.86, 0.88, 0.90), (0.82, 0.63, 0.42))
ROSE = Palette((0.20, 0.11, 0.12), (0.58, 0.38, 0.36), (0.95, 0.87, 0.83), (0.80, 0.52, 0.45))
SLATE = Palette((0.10, 0.11, 0.12), (0.42, 0.44, 0.46), (0.88, 0.88, 0.87), (0.66, 0.42, 0.28))
DUSK = Palette((0.10, 0.09, 0.16), (0.40, 0.33, 0.44), (0.96, 0.84, 0.70), (0.98, 0.62, 0.34))
TABLE = Palette((0.26, 0.18, 0.12), (0.52, 0.38, 0.26), (0.95, 0.86, 0.66), (0.80, 0.26, 0.16))
PEAS = Palette((0.20, 0.17, 0.15), (0.44, 0.39, 0.34), (0.90, 0.84, 0.62), (0.36, 0.52, 0.20))
SKIN = Palette((0.16, 0.10, 0.09), (0.56, 0.40, 0.33), (0.96, 0.84, 0.74), (0.87, 0.62, 0.48))


@dataclass(frozen=True, slots=True)
class SampleFile:
    """`band` is given where the sample shows what Safe-Mode does."""

    name: str
    mime: str
    make: Callable[[], bytes]
    alt: str | None = None
    band: int = 0


def _picture(
    name: str, motif: Motif, palette: Palette, size: tuple[int, int], alt: str, *, band: int = 0
) -> SampleFile:
    def make() -> bytes:
        canvas = Canvas(name, *size)
        motif(canvas, palette)
        return canvas.develop()

    return SampleFile(f"{name}.jpg", "image/jpeg", make, alt, band)


def _pictures() -> list[SampleFile]:
    wide, high, square = LANDSCAPE, PORTRAIT, SQUARE
    return [
        _picture("canal-wall", motifs.wall, BRICK, wide, "A brick wall in the shade of a tree"),
        _picture("canal-steps", motifs.stairs, SLATE, high, "Steps down to the towpath"),
        _picture("ribbed-collar", motifs.knit, WOOL, high, "Knitwear from near, two rust stripes"),
        _picture("moss-cardigan", motifs.knit, MOSS, high, "Green knitwear from near"),
        _picture("navy-jumper", motifs.knit, NAVY, high, "Blue knitwear from near"),
        _picture("rose-scarf", motifs.cloth, ROSE, wide, "A rose scarf in folds"),
        _picture("grey-shawl", motifs.cloth, SLATE, wide, "A grey shawl in folds"),
        _picture("on-the-shelf", motifs.vessels, WOOL, wide, "Three vases on a shelf"),
        _picture("at-the-window", motifs.bust, MOSS, high, "Somebody in green, from behind"),
        _picture("against-brick", motifs.wall, WOOL, wide, "Light on a brick wall"),
        _picture("test-set", motifs.cove, WOOL, wide, "The studio with a lamp and a stool"),
        _picture("sintra-garden", motifs.hills, MOSS, wide, "Hills behind the garden"),
        _picture("sintra-evening", motifs.hills, DUSK, wide, "Hills at dusk"),
        _picture("sintra-veil", motifs.cloth, ROSE, high, "The veil in folds"),
        _picture("sintra-bride", motifs.bust, ROSE, high, "The bride, from behind"),
        _picture("sintra-table", motifs.vessels, ROSE, wide, "Vases on the table"),
        _picture("sintra-dance", motifs.lights, DUSK, wide, "Lamps over the dance floor"),
        _picture("airport", motifs.lights, NAVY, wide, "Lights behind a wet window"),
        _picture("plate-beetroot", motifs.plate, TABLE, square, "A dish of beetroot from above"),
        _picture("plate-peas", motifs.plate, PEAS, square, "A dish of peas from above"),
        _picture("cyclorama-white", motifs.cove, SLATE, wide, "The white cyclorama, one soft box"),
        _picture("cyclorama-blue", motifs.cove, NAVY, wide, "The cyclorama in blue light"),
        _picture("look-skin", motifs.bust, SKIN, high, "Bare shoulders, from behind", band=1),
        _picture("adraga-noon", motifs.sea, NAVY, wide, "The sea at noon"),
        _picture("adraga-evening", motifs.sea, DUSK, wide, "The sea at sunset"),
        _picture("frame-214", motifs.stairs, NAVY, high, "The staircase to nowhere"),
    ]


def _papers() -> list[SampleFile]:
    rail = ["Leeds and back", "Adult, advance  38.60", "Card            38.60"]
    sheet = [
        Line("Cyclorama: data sheet", 20),
        Line("Studio Nordlys, Copenhagen"),
        Line(""),
        Line("Size: 8 x 6 m, 4.5 m high, three-sided"),
        Line("Grid: 18 points, 60 kg each"),
        Line("Power: 3 x 63 A"),
        Line("Paint: fresh before each production; twelve hours to dry"),
        Line("Repainting after motorcycles: DKK 2,400"),
    ]
    return [
        SampleFile(
            "rail-receipt.jpg",
            "image/jpeg",
            lambda: draw_receipt("Northern Rail", rail),
            "A receipt of Northern Rail, 38.60",
        ),
        SampleFile("cyc-data-sheet.pdf", "application/pdf", lambda: write_pdf(sheet)),
        SampleFile("voice-note.wav", "audio/wav", lambda: speak("voice-note", seconds=7)),
    ]


FILES: dict[str, SampleFile] = {
    each.name.rpartition(".")[0]: each for each in [*_pictures(), *_papers()]
}
