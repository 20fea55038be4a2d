"""Safe-Mode: viewer × band × choice × thread × revealed, over every call of this room."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from greenroom.accounts.model import UserChanges, ViewingChoices
from greenroom.files.model import Visibility, visibility_of
from tests.support.api import Json, Person, answered

from .stage import FileStage

BANDS = (0, 1, 2, None)
"""None: not scanned, which counts as 1 here."""
SWITCHES = tuple(itertools.product([True, False], repeat=4))
"""Safe-Mode on, age verified, required by the thread, revealed."""

AS_PICTURE = """
update file set media = 'image', content_mime = 'image/png', width = 40, height = 30,
    band = $2, band_source = 'classifier', renditions = $3::jsonb
where file_id = $1
"""


def expected(band: int | None, *, is_on: bool, is_of_age: bool, is_revealed: bool) -> Visibility:
    """The rule, as its document says it. `is_on`: by choice or because the thread demands it."""
    if band == 0:
        return "clear"
    if band == 2:
        return "clear" if not is_on and is_of_age else "hidden"
    return "blurred" if is_on and not is_revealed else "clear"


@pytest.mark.parametrize(("safe_mode", "of_age", "required", "revealed"), SWITCHES)
@pytest.mark.parametrize("band", [0, 1, 2])
def test_the_rule(
    band: int, *, safe_mode: bool, of_age: bool, required: bool, revealed: bool
) -> None:
    viewer = ViewingChoices(safe_mode, of_age)
    found = visibility_of(band, viewer, is_required=required, is_revealed=revealed)
    is_on = safe_mode or required
    assert found == expected(band, is_on=is_on, is_of_age=of_age, is_revealed=revealed)


class Gallery:
    """A picture of each band in one message of Ann's."""

    def __init__(self, stage: FileStage) -> None:
        self.stage = stage
        self.ids: dict[int | None, str] = {}

    async def fill(self) -> None:
        files = [await self.stage.ready() for _ in BANDS]
        await self.stage.send(*files)
        for band, file in zip(BANDS, files, strict=True):
            self.ids[band] = file["id"]
            await self._draw(file["id"], band)

    async def _draw(self, file_id: str, band: int | None) -> None:
        """Renditions as those of a picture; what is in them does not matter here."""
        thread = self.stage.thread_id
        renditions = []
        for kind in ("thumb", "preview", "blurred"):
            key = f"msg-previews/{thread}/{file_id}/{kind}.webp"
            await self.stage.blobs.put(
                key, _once(kind.encode()), mime="image/webp", byte_count=len(kind)
            )
            renditions.append({"kind": kind, "key": key, "mime": "image/webp", "bytes": len(kind)})
        await self.stage.pool.execute(AS_PICTURE, file_id, band, json.dumps(renditions))

    async def views(self, viewer: Person, file_id: str) -> list[Json]:
        """The file as every call of this room and of messages shows it."""
        stage = self.stage
        listed = answered(await viewer.get(f"/v1/threads/{stage.thread_id}/files"), 200)["items"]
        message = (await viewer.messages(stage.thread_id))[-1]
        return [
            await stage.file(file_id, viewer),
            *(each for each in listed if each["id"] == file_id),
            *(each["file"] for each in message["attachments"] if each["file_id"] == file_id),
        ]


async def _once(data: bytes) -> Any:
    yield data


@pytest.fixture
async def gallery(stage: FileStage) -> Gallery:
    opened = Gallery(stage)
    await opened.fill()
    return opened


@pytest.mark.parametrize(("safe_mode", "of_age", "required", "revealed"), SWITCHES)
async def test_no_viewer_gets_an_address_of_what_they_may_not_see(
    gallery: Gallery, *, safe_mode: bool, of_age: bool, required: bool, revealed: bool
) -> None:
    stage = gallery.stage
    await stage.pool.execute(
        "update thread set safe_mode_required = $2 where thread_id = $1", stage.thread_id, required
    )
    for viewer in (stage.ann, stage.bob):
        await stage.api.rooms.accounts.put_user(viewer.id, UserChanges(age_verified=of_age))
        answered(
            await viewer.put("/v1/me/preferences", {"preferences": {"safe_mode": safe_mode}}), 200
        )
        for band, file_id in gallery.ids.items():
            if revealed:
                await viewer.call("POST", f"/v1/files/{file_id}/reveal")
            right = expected(
                band, is_on=safe_mode or required, is_of_age=of_age, is_revealed=revealed
            )
            for view in await gallery.views(viewer, file_id):
                await check(stage, view, right)


async def choose(person: Person, **preferences: bool) -> None:
    answered(await person.put("/v1/me/preferences", {"preferences": preferences}), 200)


async def check(stage: FileStage, view: Json, right: Visibility) -> None:
    kinds = {"clear": {"thumb", "preview"}, "blurred": {"blurred"}, "hidden": set()}[right]
    assert view["visibility"] == right
    assert {each["kind"] for each in view["renditions"]} == kinds
    assert view["can_reveal"] == (right == "blurred")
    assert view["name"] == "call sheet.txt"
    assert (view["width"], view["height"]) == (40, 30)
    for each in view["renditions"]:
        fetched = await stage.fetch(each)
        assert (fetched.status_code, fetched.text) == (200, each["kind"])


async def test_an_address_of_the_clear_picture_dies_when_safe_mode_is_switched_on(
    gallery: Gallery,
) -> None:
    stage, bob = gallery.stage, gallery.stage.bob
    await choose(bob, safe_mode=False)
    clear = (await stage.file(gallery.ids[1] or "", bob))["renditions"]
    assert (await stage.fetch(clear[0])).status_code == 200
    await choose(bob, safe_mode=True)
    assert (await stage.fetch(clear[0])).status_code == 404
    [blurred] = (await stage.file(gallery.ids[1] or "", bob))["renditions"]
    answered(await bob.call("POST", f"/v1/files/{gallery.ids[1]}/reveal"), 200)
    assert (await stage.fetch(clear[0])).status_code == 200
    assert (await stage.fetch(blurred)).status_code == 404


async def test_a_tap_is_for_one_viewer_and_recorded(gallery: Gallery) -> None:
    stage, file_id = gallery.stage, gallery.ids[1] or ""
    shown = answered(await stage.bob.call("POST", f"/v1/files/{file_id}/reveal"), 200)["file"]
    assert shown["visibility"] == "clear"
    assert (await stage.file(file_id, stage.ann))["visibility"] == "blurred"
    grants = await stage.pool.fetch("select user_id from file_grant where file_id = $1", file_id)
    assert [row["user_id"] for row in grants] == [stage.bob.id]
    assert await stage.bob.refusal("POST", f"/v1/files/{gallery.ids[2]}/reveal") == (
        403,
        "SAFE_MODE_BLOCKED",
    )


async def test_sound_and_paper_are_for_everybody(stage: FileStage) -> None:
    file = await stage.ready()
    await stage.send(file)
    for media in ("audio", "pdf", "other"):
        await stage.pool.execute(
            "update file set media = $2, band = null where file_id = $1", file["id"], media
        )
        view = await stage.file(file, stage.bob)
        assert (view["band"], view["visibility"]) == (0, "clear")
