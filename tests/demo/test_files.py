"""The sample's files: drawn here, always the same, and shown where the scenes say."""

import io
import wave
from collections.abc import Callable

import pypdfium2
import pytest
from PIL import Image

from greenroom.bootstrap import Rooms
from greenroom.conversations.attachments import FileUse
from greenroom.demo.media.album import FILES
from greenroom.demo.sample import load_sample
from greenroom.demo.script import scenes

from .places import NewPlace, Place, clock

FILE_ROWS = """
select name, purpose, state, media, band, alt, told_at is not null,
    (select count(*) from file_use u where u.file_id = f.file_id) > 0
from file f order by name
"""
CARDS = "select state, payload, totals, thread_id from card where type = $1 order by created_at"
DRAWN_BYTES = 300_000


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
async def sample(request: pytest.FixtureRequest, new_place: NewPlace) -> Place:
    place = await new_place(request.param)
    assert await load_sample(place.settings, place.url, clock=clock)
    assert not await load_sample(place.settings, place.url, clock=clock)
    return place


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_it_says_and_small(name: str) -> None:
    file = FILES[name]
    data = file.make()
    assert len(data) < DRAWN_BYTES
    if file.mime == "image/jpeg":
        image = Image.open(io.BytesIO(data))
        assert (image.format, image.mode) == ("JPEG", "RGB")
        assert max(image.size) <= 1200
        assert file.alt
        # Something to look at, and no metadata.
        assert len(set(image.resize((32, 32)).convert("L").tobytes())) > 32
        assert not image.getexif()
    elif file.mime == "application/pdf":
        assert "Cyclorama" in pypdfium2.PdfDocument(data)[0].get_textpage().get_text_bounded()
    else:
        with wave.open(io.BytesIO(data)) as sound:
            assert sound.getnframes() / sound.getframerate() == 7


def test_a_file_is_drawn_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("canal-wall", "rail-receipt", "voice-note", "cyc-data-sheet"):
        make: Callable[[], bytes] = FILES[name].make
        anew = getattr(make, "__wrapped__", make)
        assert anew() == anew()


def test_every_file_is_in_a_scene() -> None:
    used = {
        word
        for scene in scenes()
        for step in scene.steps
        if step.verb in ("sends", "uploads")
        for word in step.args
    }
    assert used - {"proof", "receipt"} == set(FILES)


async def test_every_file_is_ready_and_shown(sample: Place) -> None:
    rows = await sample.rows(FILE_ROWS)
    assert [row[0] for row in rows] == sorted(file.name for file in FILES.values())
    by_name = {file.name: file for file in FILES.values()}
    for name, purpose, state, media, band, alt, is_told, is_used in rows:
        assert (state, is_told, is_used) == ("ready", True, True), name
        assert (band, alt) == (by_name[name].band, by_name[name].alt), name
        assert (media == "audio") == (purpose == "voice"), name


async def test_people_see_the_files_of_their_threads(sample: Place) -> None:
    """As messages and as cards; one is blurred by Safe-Mode."""
    async with Rooms(sample.settings, sample.url, clock=clock) as rooms:
        blurred = clear = 0
        rows = await sample.rows(
            "select file_id, thread_id, owner_user, place from file join file_use using (file_id)"
        )
        for file_id, thread_id, owner, place in rows:
            use = FileUse(file_id, thread_id, place)
            [view] = (await rooms.files.files.look(owner, [use])).values()
            kinds = {each.kind for each in view.renditions}
            if view.visibility == "blurred":
                blurred += 1
                assert kinds == {"blurred"}
            else:
                clear += 1
                assert kinds & {"thumb", "original"}
        assert (blurred, clear) == (1, len(rows) - 1)


async def test_proofs_wait_and_were_approved(sample: Place) -> None:
    rows = await sample.rows(CARDS.replace("$1", "'proofs'"))
    assert [row[0] for row in rows] == ["approved", "pending"]
    [(receipt,)] = await sample.rows(
        "select payload ->> 'receipt_file_id' from card where payload ? 'receipt_file_id'"
    )
    assert receipt.startswith("fil_")


async def test_nothing_is_left_over(sample: Place) -> None:
    async with Rooms(sample.settings, sample.url, clock=clock) as rooms:
        assert await sample.rows("select key from task where kind = 'file'") == []
        faults = [fault async for fault in rooms.files.upkeep.check(repair=False)]
        assert faults == []
