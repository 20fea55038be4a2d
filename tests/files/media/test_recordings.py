"""Video and sound with FFmpeg, and without it."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.demo.media.speech import speak
from greenroom.files.media.ffmpeg import Ffmpeg, find_ffmpeg
from greenroom.files.media.job import Made
from greenroom.files.media.lengths import duration_ms
from greenroom.files.media.process import MediaProcess

from . import samples
from .stand import Stand, outcome, rendition


@pytest.mark.parametrize(
    ("mime", "sample", "original"),
    [("video/mp4", samples.mp4, "video/mp4"), ("video/webm", samples.webm, "video/webm")],
)
async def test_a_video_gets_a_poster_and_a_small_video(
    stand: Stand, mime: str, sample: Callable[[], bytes], original: str
) -> None:
    made = await stand.run(sample(), mime)
    assert outcome(made) == ("ready", None), made.steps
    assert (made.media, made.width, made.height) == ("video", 320, 180)
    assert made.duration_ms is not None
    assert abs(made.duration_ms - 2000) < 200
    assert {each.kind for each in made.renditions} == {
        *("poster", "thumb", "blurred", "preview", "original")
    }
    assert rendition(made, "preview", "video/mp4").path.stat().st_size > 1000
    assert rendition(made, "original", original).path.stat().st_size > 1000
    assert made.band_source == "classifier"


async def test_a_tall_video_stays_tall(stand: Stand) -> None:
    tall = samples.recording("mp4", 0.5, "-c:v", "libx264", "-preset", "ultrafast", size="720x1280")
    made = await stand.run(tall, "video/mp4")
    small = rendition(made, "preview", "video/mp4")
    assert (small.width, small.height) == (480, 854)


async def test_a_voice_note_has_a_wave_form(stand: Stand) -> None:
    made = await stand.run(samples.voice(), "audio/webm;codecs=opus", purpose="voice")
    assert outcome(made) == ("ready", None), made.steps
    assert (made.media, made.mime, made.band, made.band_source) == (
        "audio",
        "audio/webm",
        0,
        "none",
    )
    assert made.duration_ms is not None
    assert abs(made.duration_ms - 3000) < 200
    assert made.peaks is not None
    assert len(made.peaks) == 64
    assert max(made.peaks) == 100
    assert [(each.kind, each.mime) for each in made.renditions] == [("original", "audio/mp4")]


async def test_what_is_too_long_is_refused(stand: Stand) -> None:
    for data, mime in ((samples.mp4(), "video/mp4"), (samples.webm(), "video/webm")):
        made = await stand.run(data, mime, video_s=0)
        assert outcome(made) == ("refused", "too_long"), made.steps
    made = await stand.run(samples.voice(), "audio/webm", purpose="voice", voice_s=1)
    assert outcome(made) == ("refused", "too_long"), made.steps


async def test_a_length_that_lies_is_measured(stand: Stand) -> None:
    """The header says nothing, as those of browsers' recorders do."""
    voice = samples.voice()
    at = voice.index(b"\x44\x89\x88")
    changed = voice[:at] + b"\xec\x89" + voice[at + 2 :]
    made = await stand.run(changed, "audio/webm", purpose="voice", voice_s=1)
    assert outcome(made) == ("refused", "too_long"), made.steps


async def test_sound_in_a_container_for_video_is_sound(stand: Stand) -> None:
    made = await stand.run(samples.voice(), "video/webm")
    assert (made.media, made.mime) == ("audio", "audio/webm")


@pytest.fixture(scope="module")
async def without_ffmpeg() -> AsyncIterator[MediaProcess]:
    process = MediaProcess(module="tests.files.media.without_extras")
    yield process
    await process.close()


async def test_without_ffmpeg_they_are_stored_as_they_came(
    without_ffmpeg: MediaProcess, tmp_path: Path
) -> None:
    stand = Stand(without_ffmpeg, tmp_path)
    made: Made = await stand.run(samples.mp4(), "video/mp4")
    assert outcome(made) == ("ready", None)
    assert [(each.kind, each.mime) for each in made.renditions] == [("original", "video/mp4")]
    assert (made.band, made.band_source) == (None, "unscanned")
    made = await stand.run(samples.voice(), "audio/webm", purpose="voice")
    assert [(each.kind, each.mime) for each in made.renditions] == [("original", "audio/webm")]
    assert (made.media, made.band, made.band_source) == ("audio", 0, "none")


async def test_without_ffmpeg_the_length_of_a_voice_note_is_read_from_its_container(
    without_ffmpeg: MediaProcess, tmp_path: Path
) -> None:
    stand = Stand(without_ffmpeg, tmp_path)
    spoken: Made = await stand.run(speak("note", seconds=3), "audio/wav", purpose="voice")
    assert (spoken.duration_ms, len(spoken.peaks or ())) == (3000, 64)
    recorded = await stand.run(samples.voice(), "audio/webm", purpose="voice")
    assert recorded.duration_ms == pytest.approx(3000, abs=100)
    ogg = samples.recording("ogg", 3.0, "-vn", "-c:a", "libopus")
    assert (await stand.run(ogg, "audio/ogg")).duration_ms == pytest.approx(3000, abs=100)
    too_long = await stand.run(samples.voice(), "audio/webm", purpose="voice", voice_s=1)
    assert outcome(too_long) == ("refused", "too_long")


@given(st.sampled_from(["audio/wav", "audio/ogg", "audio/webm"]), st.binary(max_size=300))
def test_a_length_is_read_from_anything_or_not_known(mime: str, data: bytes) -> None:
    heads = {"audio/wav": b"RIFF", "audio/ogg": b"OggS OpusHead OggS", "audio/webm": b""}
    found = duration_ms(heads[mime] + data, mime)
    assert found is None or 0 < found < 2**31


async def test_without_a_classifier_a_picture_is_unscanned_and_not_safe(
    without_ffmpeg: MediaProcess, tmp_path: Path
) -> None:
    made = await Stand(without_ffmpeg, tmp_path).run(samples.jpeg(), "image/jpeg")
    assert outcome(made) == ("ready", None)
    assert (made.band, made.band_source) == (None, "unscanned")
    assert made.steps[-1].detail == "no classifier"


async def test_a_classifier_that_fails_leaves_the_band_open(tmp_path: Path) -> None:
    process = MediaProcess(module="tests.files.media.failing_classifier")
    try:
        made = await Stand(process, tmp_path).run(samples.jpeg(), "image/jpeg")
    finally:
        await process.close()
    assert (made.state, made.band, made.band_source) == ("ready", None, "unscanned")
    assert (made.steps[-1].outcome, made.steps[-1].detail) == ("failed", "it broke")


def test_other_protocols_and_playlists_are_closed_to_ffmpeg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = find_ffmpeg()
    assert program is not None
    opened = os.open(program, os.O_RDONLY)
    try:
        (tmp_path / "upload").write_bytes(b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:1/a.ts\n")
        probed = Ffmpeg(opened).probe("video/mp4")
    finally:
        os.close(opened)
    assert (probed.duration_ms, probed.video_codec) == (None, None)
