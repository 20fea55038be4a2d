"""Renders the first page of a PDF. The PDF itself is stored as it came, as a download."""

import pypdfium2
import pyvips

from greenroom.files.media.pictures import PREVIEW_SIDE
from greenroom.files.media.refusals import RefusalError

# A page of A4 becomes large enough to read, and a poster is not drawn at its own size.
_LARGEST_SCALE = 4.0
# pdfium's own limit of a page is 200 inches.
_PAGE_POINTS = 14_400


def first_page(data: bytes) -> pyvips.Image:
    """Raises `RefusalError`. Scripts do not run: this build of pdfium has no engine for them."""
    try:
        document = pypdfium2.PdfDocument(data)
        if len(document) == 0:
            raise RefusalError("damaged", "no pages")
        page = document[0]
        width, height = page.get_size()
        if not (0 < width <= _PAGE_POINTS and 0 < height <= _PAGE_POINTS):
            raise RefusalError("too_many_pixels", f"a page of {width:.0f}×{height:.0f} points")
        scale = min(_LARGEST_SCALE, PREVIEW_SIDE / max(width, height))
        # No forms and no annotations with appearances of their own are loaded.
        bitmap = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False)
        pixels = bitmap.to_numpy()
    except (pypdfium2.PdfiumError, ValueError) as error:
        raise RefusalError("damaged", str(error)[:200]) from error
    rows, columns, bands = pixels.shape
    image = pyvips.Image.new_from_memory(pixels.tobytes(), columns, rows, bands, "uchar")
    return image[:3].copy(interpretation="srgb").copy_memory()
