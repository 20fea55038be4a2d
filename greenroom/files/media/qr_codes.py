"""Reads QR codes in pictures: they count as links for screening."""

import pyvips
import zxingcpp

from greenroom.files.media.pictures import flat

TEXTS = 10
TEXT_CHARACTERS = 2000


def qr_texts(image: pyvips.Image) -> list[str]:
    grey = flat(image).colourspace("b-w").numpy()
    found = zxingcpp.read_barcodes(
        grey, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
    )
    texts = [each.text[:TEXT_CHARACTERS] for each in found if each.text]
    return list(dict.fromkeys(texts))[:TEXTS]
