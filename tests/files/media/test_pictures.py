"""Pictures of every kind become renditions that every browser shows."""

import io
from collections.abc import Callable

import pytest
from PIL import Image

from greenroom.files.media.job import Made

from . import samples
from .stand import Stand, outcome, rendition

KINDS: list[tuple[str, Callable[[], bytes]]] = [
    ("image/jpeg", samples.jpeg),
    ("image/png", samples.png),
    ("image/webp", samples.webp),
    ("image/gif", samples.gif),
    ("image/avif", samples.avif),
    ("image/heic", samples.heic),
]


def _shown(made: Made, kind: str, mime: str = "image/webp") -> Image.Image:
    path = rendition(made, kind, mime).path  # type: ignore[arg-type]
    return Image.open(io.BytesIO(path.read_bytes()))


@pytest.mark.parametrize(("mime", "sample"), KINDS)
async def test_a_picture_gets_all_its_renditions(
    stand: Stand, mime: str, sample: Callable[[], bytes]
) -> None:
    made = await stand.run(sample(), mime)
    assert outcome(made) == ("ready", None), made.steps
    assert (made.media, made.mime) == ("image", mime)
    kinds = {(each.kind, each.mime) for each in made.renditions if each.kind != "original"}
    assert kinds == {
        (kind, form)
        for kind in ("thumb", "preview", "blurred")
        for form in ("image/webp", "image/jpeg")
    }
    assert [each.kind for each in made.renditions].count("original") == 1
    assert [each.step for each in made.steps] == ["sniff", "virus", "decode", "renditions", "band"]
    for each in made.renditions:
        image = Image.open(io.BytesIO(each.path.read_bytes()))
        assert image.size == (each.width, each.height)
        assert image.format == each.mime.removeprefix("image/").upper()


async def test_sizes_are_those_of_the_renditions(stand: Stand) -> None:
    made = await stand.run(samples.jpeg(2400, 1200), "image/jpeg")
    assert (made.width, made.height) == (2400, 1200)
    sizes = {each.kind: (each.width, each.height) for each in made.renditions}
    assert sizes == {
        "thumb": (320, 160),
        "preview": (1600, 800),
        "blurred": (320, 160),
        "original": (2400, 1200),
    }


async def test_small_pictures_are_not_enlarged(stand: Stand) -> None:
    made = await stand.run(samples.jpeg(40, 30), "image/jpeg")
    assert {(each.width, each.height) for each in made.renditions} == {(40, 30)}


@pytest.mark.parametrize("orientation", range(1, 9))
async def test_orientation_is_applied(stand: Stand, orientation: int) -> None:
    made = await stand.run(samples.jpeg_with_metadata(orientation), "image/jpeg")
    upright = (400, 300) if orientation < 5 else (300, 400)
    assert (made.width, made.height) == upright
    assert _shown(made, "preview").size == upright
    red_is_at = {
        **dict.fromkeys((1, 4), (0.1, 0.5)),
        **dict.fromkeys((2, 3), (0.9, 0.5)),
        **dict.fromkeys((5, 6), (0.5, 0.1)),
        **dict.fromkeys((7, 8), (0.5, 0.9)),
    }[orientation]
    for kind in ("preview", "original"):
        image = _shown(made, kind, "image/jpeg").convert("RGB")
        point = (int(red_is_at[0] * image.width), int(red_is_at[1] * image.height))
        red, _, blue = image.getpixel(point)  # type: ignore[misc]
        assert red > blue + 80, (orientation, kind)


async def test_alpha_stays_in_webp_and_is_white_in_jpeg(stand: Stand) -> None:
    made = await stand.run(samples.transparent_png(), "image/png")
    assert _shown(made, "preview").mode == "RGBA"
    assert _shown(made, "original", "image/png").mode == "RGBA"
    top = _shown(made, "preview", "image/jpeg").getpixel((5, 1))
    assert isinstance(top, tuple)
    assert min(top) > 240


async def test_the_blurred_one_has_almost_nothing_in_it(stand: Stand) -> None:
    """Stripes of 10 points are gone."""
    stripes = Image.new("RGB", (800, 800))
    stripes.paste((255, 255, 255), (0, 0, 800, 800))
    for left in range(0, 800, 20):
        stripes.paste((0, 0, 0), (left, 0, left + 10, 800))
    made = await stand.run(samples.encoded(stripes, "PNG"), "image/png")
    for mime in ("image/webp", "image/jpeg"):
        low, high = _shown(made, "blurred", mime).convert("L").getextrema()
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        assert high - low < 40
    assert rendition(made, "blurred").path.stat().st_size < 4000


@pytest.mark.parametrize("mime", ["image/gif", "image/webp"])
async def test_what_moves_is_kept_as_webp_and_previewed_still(stand: Stand, mime: str) -> None:
    frames = [samples.drawing(64, 64).rotate(9 * n) for n in range(6)]
    form = mime.removeprefix("image/").upper()
    data = samples.encoded(frames[0], form, save_all=True, append_images=frames[1:], duration=50)
    made = await stand.run(data, mime)
    assert outcome(made) == ("ready", None)
    original = _shown(made, "original")
    assert getattr(original, "n_frames", 1) == 6
    assert original.size == (64, 64) == (made.width, made.height)
    assert getattr(_shown(made, "preview"), "n_frames", 1) == 1


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK", "I;16"])
async def test_every_colour_model_becomes_srgb(stand: Stand, mode: str) -> None:
    if mode == "I;16":
        image = samples.drawing().convert("L").convert("I").point(lambda v: v * 256).convert(mode)
    else:
        image = samples.drawing().convert(mode)
    form = "JPEG" if mode == "CMYK" else "PNG"
    made = await stand.run(samples.encoded(image, form), f"image/{form.lower()}")
    assert outcome(made) == ("ready", None), made.steps
    assert _shown(made, "preview", "image/jpeg").mode == "RGB"


async def test_a_watermark_is_on_the_preview_and_no_original_is_made(stand: Stand) -> None:
    plain = await stand.run(samples.jpeg(1200, 900), "image/jpeg")
    marked = await stand.run(samples.jpeg(1200, 900), "image/jpeg", watermark="Proof – Ana Ruiz")
    assert "original" not in {each.kind for each in marked.renditions}
    for kind in ("preview", "thumb"):
        before = _shown(plain, kind).convert("L").tobytes()
        after = _shown(marked, kind).convert("L").tobytes()
        changed = sum(abs(a - b) > 24 for a, b in zip(before, after, strict=True))
        assert changed > len(before) * 0.02, kind


async def test_qr_codes_are_read(stand: Stand) -> None:
    import zxingcpp  # noqa: PLC0415

    code = zxingcpp.create_barcode("https://pay.example/me", zxingcpp.BarcodeFormat.QRCode)
    image = Image.fromarray(zxingcpp.write_barcode_to_image(code, scale=6))
    page = Image.new("RGB", (900, 700), "white")
    page.paste(image, (200, 150))
    made = await stand.run(samples.encoded(page, "JPEG"), "image/jpeg")
    assert made.qr_texts == ["https://pay.example/me"]
