"""A receipt on a table, and PDF documents of one page."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from greenroom.demo.media.canvas import Canvas

PAGE = 595, 842
MARGIN = 64


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    size: int = 12


def draw_receipt(merchant: str, lines: Sequence[str]) -> bytes:
    """A photograph of a paper receipt."""
    canvas = Canvas(f"receipt-{merchant}", 800, 1000)
    grain = np.sin((canvas.x * 26 + canvas.noise(9, 3) * 2) * 2) * 0.05
    canvas.fade((0.24, 0.16, 0.11), (0.46, 0.33, 0.22), 0.4 + grain + canvas.y * 0.3)
    paper = [(0.24, 0.1), (0.78, 0.075), (0.8, 0.9), (0.26, 0.92)]
    canvas.darken(canvas.polygon([(x + 0.02, y + 0.02) for x, y in paper], 0.02), 0.6)
    light = 0.92 + canvas.noise(4) * 0.04
    canvas.paint(canvas.polygon(paper), np.repeat(light[..., None], 3, axis=2))
    printed = Image.new("L", (canvas.width, canvas.height))
    pen = ImageDraw.Draw(printed)
    for place, text in enumerate([merchant, "", *lines, "", "Thank you"]):
        font = ImageFont.load_default(26 if place == 0 else 19)
        pen.text((canvas.width * 0.31, canvas.height * 0.15 + place * 44), text, 255, font)
    turned = printed.rotate(1.4, Image.Resampling.BICUBIC)
    canvas.paint(np.asarray(turned, np.float32) / 255, (0.16, 0.15, 0.17))
    return canvas.develop()


def write_pdf(lines: Sequence[Line]) -> bytes:
    """A PDF of one page with these lines of ASCII text."""
    return _pdf(_page(lines))


def _page(lines: Sequence[Line]) -> bytes:
    drawn, y = [], PAGE[1] - MARGIN
    for line in lines:
        y -= int(line.size * 1.7)
        text = line.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        drawn.append(f"BT /F1 {line.size} Tf {MARGIN} {y} Td ({text}) Tj ET")
    return "\n".join(drawn).encode("ascii")


def _pdf(page: bytes) -> bytes:
    """The bytes of a PDF: its objects, and a table of where each one begins."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>" % PAGE,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    written, begins = io.BytesIO(), []
    written.write(b"%PDF-1.4\n")
    for number, each in enumerate(objects, 1):
        begins.append(written.tell())
        written.write(b"%d 0 obj\n%s\nendobj\n" % (number, each))
    table_at = written.tell()
    written.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    written.writelines(b"%010d 00000 n \n" % begin for begin in begins)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    written.write(trailer % (len(objects) + 1, table_at))
    return written.getvalue()
