"""A process that was taken over cannot make us store what is not a rendition."""

import os
from pathlib import Path

import pytest

from greenroom.files.media.answers import read_answer
from greenroom.files.media.job import MediaJob, RenditionKind, StepRecord
from greenroom.files.media.wire import Answer, AnsweredRendition

from . import samples
from .stand import outcome


@pytest.fixture
def job(tmp_path: Path) -> MediaJob:
    (tmp_path / "out").mkdir()
    (tmp_path / "upload").write_bytes(samples.jpeg())
    (tmp_path / "secret").write_bytes(samples.jpeg())
    (tmp_path / "out" / "preview.jpg").write_bytes(samples.jpeg())
    return MediaJob(tmp_path / "upload", tmp_path / "out", "image/jpeg", "attachment")


def _answer(
    name: str | None = "preview.jpg", mime: str = "image/jpeg", kind: RenditionKind = "preview"
) -> Answer:
    made = AnsweredRendition(kind, name, mime, 400, 300)
    return Answer(state="ready", media="image", mime="image/jpeg", renditions=[made])


def test_an_honest_answer(job: MediaJob) -> None:
    made = read_answer(job, _answer())
    assert outcome(made) == ("ready", None)
    assert made.renditions[0].path == job.out / "preview.jpg"


@pytest.mark.parametrize(
    ("name", "mime", "kind"),
    [
        ("../secret", "image/jpeg", "preview"),
        ("../upload", "image/jpeg", "preview"),
        ("/etc/passwd", "image/jpeg", "preview"),
        ("preview.jpg", "image/webp", "preview"),
        ("preview.jpg", "text/html", "preview"),
        ("preview.jpg", "image/jpeg", "thumb"),
        ("missing.jpg", "image/jpeg", "preview"),
        (None, "image/jpeg", "original"),
        (None, "text/html", "original"),
        (None, "application/octet-stream", "preview"),
    ],
)
def test_names_and_types_of_its_own_choice(
    job: MediaJob, name: str | None, mime: str, kind: RenditionKind
) -> None:
    assert outcome(read_answer(job, _answer(name, mime, kind))) == ("refused", "damaged")


def test_links_pipes_and_other_content(job: MediaJob) -> None:
    path = job.out / "preview.jpg"
    path.unlink()
    path.symlink_to(job.path.parent / "secret")
    assert outcome(read_answer(job, _answer())) == ("refused", "damaged")
    path.unlink()
    path.hardlink_to(job.path.parent / "secret")
    assert outcome(read_answer(job, _answer())) == ("refused", "damaged")
    path.unlink()
    os.mkfifo(path)
    assert outcome(read_answer(job, _answer())) == ("refused", "damaged")
    path.unlink()
    for content in (b"", b"<html><script>alert(1)</script>", samples.png(), b"MZ" + bytes(99)):
        path.write_bytes(content)
        assert outcome(read_answer(job, _answer())) == ("refused", "damaged")


@pytest.mark.parametrize(
    "change",
    [
        {"state": "refused"},
        {"state": "quarantined", "reason": "virus"},
        {"reason": "virus"},
        {"renditions": []},
        {"width": -1},
        {"height": 2**40},
        {"band": 7},
        {"band": None, "band_source": "classifier"},
        {"band": 0, "band_source": "unscanned"},
        {"peaks": [0] * 5000},
        {"steps": [StepRecord("sniff", "ok", "")] * 100},
        {"qr_texts": ["x"] * 100},
        {"mime": "x" * 1000},
    ],
)
def test_values_that_our_code_never_answers(job: MediaJob, change: dict[str, object]) -> None:
    honest = _answer()
    fields = {name: getattr(honest, name) for name in honest.__struct_fields__}
    forged = Answer(**{**fields, **change})
    assert outcome(read_answer(job, forged)) == ("refused", "damaged")
