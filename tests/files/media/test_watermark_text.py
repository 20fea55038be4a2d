"""Names in any script can be written across a proof."""

from hypothesis import given
from hypothesis import strategies as st

from greenroom.files.media.watermarks import load_font
from greenroom.files.watermark_text import COVERED, NEUTRAL, writable

MISSING = "\U0010fffd"


def test_the_font_has_every_letter_that_counts_as_covered() -> None:
    font = load_font(20)
    box = bytes(font.getmask(MISSING))
    letters = [chr(code) for first, last in COVERED for code in range(first, last + 1)]
    assert [each for each in letters if bytes(font.getmask(each)) == box] == []


def test_names_keep_their_letters_or_their_sound() -> None:
    for name in ("© Zoë Łukasz", "© Мария Иванова", "© Γιώργος"):
        assert writable(name) == name
    assert writable("© 山田") == "© ShanTian"
    assert writable("© محمد") == "© mhmd"
    assert writable("\u200b") == NEUTRAL


@given(st.text(max_size=60))
def test_nothing_is_written_that_the_font_lacks(text: str) -> None:
    written = writable(text)
    assert written
    assert all(any(first <= ord(each) <= last for first, last in COVERED) for each in written)
