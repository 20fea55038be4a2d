"""Whatever bytes come, the sniffer gives an answer and the decoder's process does too."""

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greenroom.files.media.scanning import compile_rules, scan
from greenroom.files.media.sniffing import _SIGNATURES, HEAD_BYTES, agrees, claims_to_run, sniff
from greenroom.files.media.unpacking import BombError

from . import samples
from .stand import Stand

HEADS = [signature for _, signature, _ in _SIGNATURES] + [
    b"RIFF\0\0\0\0WEBP",
    b"\0\0\0\x18ftypheic",
]
MIMES = ["image/jpeg", "image/png", "video/mp4", "audio/webm", "application/pdf", "text/plain", ""]
REAL: dict[str, Callable[[], bytes]] = {
    "image/jpeg": samples.jpeg,
    "image/png": samples.png,
    "image/webp": samples.webp,
    "image/gif": samples.gif,
    "image/avif": samples.avif,
    "image/heic": samples.heic,
    "application/pdf": samples.pdf,
}
RULES = compile_rules()

anything = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda head, rest: head + rest, st.sampled_from(HEADS), st.binary(max_size=300)),
)


@given(anything, st.sampled_from(MIMES))
@settings(max_examples=400, deadline=None)
def test_the_sniffer_always_answers(data: bytes, mime: str) -> None:
    sniffed = sniff(data[:HEAD_BYTES])
    assert sniffed == sniff((data + bytes(9))[: len(data)])
    assert isinstance(agrees(mime, sniffed), bool)
    assert not claims_to_run(mime)
    if sniffed.family == "active":
        assert not mime.startswith("image/") or not agrees(mime, sniffed)


@given(st.text(max_size=60), st.sampled_from(["<script>", "<SVG ", "<html>", "<iframe "]))
@settings(max_examples=200, deadline=None)
def test_text_with_markup_that_runs_is_never_plain_text(before: str, markup: str) -> None:
    assert sniff((before + markup).encode()).family != "other"


@given(anything, st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_the_scanner_always_answers(data: bytes, more: bytes) -> None:
    whole = data + more
    try:
        verdict = scan(whole, sniff(whole), RULES, has_clamav=False)
    except BombError:
        return
    assert "eicar" not in verdict.virus


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_mutated_files_end_as_one_of_three(stand: Stand, data: st.DataObject) -> None:
    mime = data.draw(st.sampled_from(sorted(REAL)))
    upload = bytearray(REAL[mime]())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(upload) - 1))
        deed = data.draw(st.sampled_from(["flip", "cut", "grow", "repeat"]))
        if deed == "flip":
            upload[at] ^= data.draw(st.integers(1, 255))
        elif deed == "cut":
            del upload[at : at + data.draw(st.integers(1, 40))]
        elif deed == "grow":
            upload[at:at] = data.draw(st.binary(min_size=1, max_size=20))
        else:
            upload[at:at] = upload[at : at + 64]
        upload = upload or bytearray(b"\0")
    made = await stand.run(bytes(upload), mime)
    assert made.state in ("ready", "refused", "quarantined")
    assert (made.state == "ready") is bool(made.renditions)
    assert (made.reason is None) is (made.state == "ready")
