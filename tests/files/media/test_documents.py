"""PDFs show their first page and stay as they are, and plain files are looked at only."""

from . import samples
from .stand import Stand, outcome, rendition


async def test_the_first_page_is_shown(stand: Stand) -> None:
    made = await stand.run(samples.pdf(), "application/pdf")
    assert outcome(made) == ("ready", None), made.steps
    assert (made.media, made.mime) == ("pdf", "application/pdf")
    assert (made.width, made.height) == (800, 1200)
    assert (made.band, made.band_source) == (0, "none")
    kinds = [(each.kind, each.mime) for each in made.renditions]
    assert kinds == [
        ("preview", "image/webp"),
        ("preview", "image/jpeg"),
        ("thumb", "image/webp"),
        ("thumb", "image/jpeg"),
        ("original", "application/pdf"),
    ]
    assert rendition(made, "original", "application/pdf").path.read_bytes() == samples.pdf()


async def test_an_invoice_with_an_attached_table_is_welcome(stand: Stand) -> None:
    """Electronic invoices carry an XML file."""
    attached = samples.pdf_stream(b"<?xml version='1.0'?><Invoice/>")
    made = await stand.run(
        samples.pdf(catalogue=b"/Names<</EmbeddedFiles 5 0 R>>", stream=attached), "application/pdf"
    )
    assert outcome(made) == ("ready", None), made.steps
