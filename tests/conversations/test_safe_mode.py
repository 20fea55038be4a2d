"""No answer about messages has an address of what Safe-Mode keeps from its viewer.

That is: pages, answers to sends and edits, the feed, the inbox and the polling API."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import asyncpg
import pytest

from greenroom.accounts.model import UserChanges
from tests.support.api import Api, Json, Person, answered
from tests.support.uploads import attached, process, upload

KINDS = ("thumb", "preview", "blurred", "original")
AS_PICTURE = """
update file set media = 'image', content_mime = 'image/webp', band = $2,
    band_source = 'classifier', renditions = $3::jsonb
where file_id = $1
"""


def allowed(band: int, *, is_on: bool, is_of_age: bool) -> set[str]:
    """The renditions that a viewer may fetch."""
    clear = {"thumb", "preview", "original"}
    if band == 0:
        return clear
    if band == 1:
        return {"blurred"} if is_on else clear
    return clear if not is_on and is_of_age else set()


async def picture(api: Api, pool: asyncpg.Pool, author: Person, thread_id: str, band: int) -> str:
    """A file that is ready, with the renditions and the band of such a picture."""
    file_id = await upload(api, author, thread_id, name="a.txt")
    await process(api)
    renditions = [
        {"kind": kind, "key": f"x/{file_id}/{kind}.webp", "mime": "image/webp", "bytes": 1}
        for kind in KINDS
    ]
    await pool.execute(AS_PICTURE, file_id, band, json.dumps(renditions))
    return file_id


def addressed(answer: Any, file_id: str) -> set[str]:
    """The kinds of all renditions of a file whose address is anywhere in an answer."""
    found = re.findall(rf"/{file_id}/([a-z]+)\.", json.dumps(answer))
    return set(found)


async def places(viewer: Person, author: Person, sent: Json, since: str) -> dict[str, Any]:
    """Every answer that shows the message to the viewer."""
    thread_id = sent["thread_id"]
    shown: dict[str, Any] = {
        "page": await viewer.messages(thread_id),
        "feed": await viewer.sync(since),
        "polling": await viewer.poll(thread_id),
    }
    if viewer is author:
        shown["edit"] = await author.edit(sent, f"Another caption {sent['id']}")
    return shown


@pytest.mark.parametrize("band", [0, 1, 2])
async def test_every_place_shows_what_the_viewer_may_see(
    api: Api, pool: asyncpg.Pool, band: int
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    since = {each.id: await each.cursor() for each in (ann, bob)}
    file_id = await picture(api, pool, ann, thread_id, band)
    draft = ann.draft("Look", attachments=attached(file_id))
    path = f"/v1/threads/{thread_id}/messages"
    sent = answered(await ann.post(path, draft), 201)
    await api.rooms.store.tell_file_changed(thread_id, file_id, ann.id, sent["id"])
    for required in (False, True):
        if required:
            edit = {"safe_mode_required": True}
            answered(await api.backend.patch(f"/v1/threads/{thread_id}", edit), 200)
        for viewer, safe_mode, of_age in product((ann, bob), (True, False), (True, False)):
            await api.rooms.accounts.put_user(viewer.id, UserChanges(age_verified=of_age))
            await viewer.put("/v1/me/preferences", {"preferences": {"safe_mode": safe_mode}})
            right = allowed(band, is_on=safe_mode or required, is_of_age=of_age)
            shown = await places(viewer, ann, sent, since[viewer.id])
            for place in ("page", "feed"):
                assert addressed(shown[place], file_id) == right, place
            for place, answer in shown.items():
                assert addressed(answer, file_id) <= right, place
            assert bool(addressed(shown["polling"], file_id)) == bool(right)
            assert addressed(await viewer.inbox(has_files=True), file_id) == set()
        repeated = answered(await ann.post(path, draft), 200)
        assert addressed(repeated, file_id) <= allowed(band, is_on=required, is_of_age=False)
