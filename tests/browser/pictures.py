"""Files to send, made here: pictures of any size, a document, and what only claims to be one."""

import io
import random

from PIL import Image, ImageDraw
from playwright.async_api import FilePayload


def picture(name: str = "roof.jpg", width: int = 800, height: int = 600) -> FilePayload:
    """Stripes and circles, others for each name."""
    chance = random.Random(name)
    image = Image.new("RGB", (width, height), (200, 190, 170))
    pen = ImageDraw.Draw(image)
    for _ in range(40):
        x, y, size = (chance.randrange(width), chance.randrange(height), chance.randrange(20, 120))
        colour = (chance.randrange(256), chance.randrange(256), chance.randrange(256))
        pen.ellipse((x, y, x + size, y + size), fill=colour)
    kind = "PNG" if name.endswith(".png") else "JPEG"
    return _payload(name, f"image/{kind.lower()}", _saved(image, kind))


def large_picture(name: str, least_bytes: int) -> FilePayload:
    """Noise, which no format makes small."""
    side = int((least_bytes / 3) ** 0.5) + 1
    noise = random.Random(name).randbytes(side * side * 3)
    data = _saved(Image.frombytes("RGB", (side, side), noise), "PNG")
    assert len(data) >= least_bytes
    return _payload(name, "image/png", data)


def document(name: str = "plan.pdf") -> FilePayload:
    page = Image.new("RGB", (300, 400), "white")
    ImageDraw.Draw(page).rectangle((40, 40, 260, 80), fill="black")
    return _payload(name, "application/pdf", _saved(page, "PDF"))


def pretender(name: str = "holiday.jpg") -> FilePayload:
    """A web page that calls itself a picture."""
    return _payload(name, "image/jpeg", b"<!doctype html><script>alert(1)</script>")


def _saved(image: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def _payload(name: str, mime: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": mime, "buffer": data}
