"""Quotas of people and threads, exact however many uploads begin at once; and what is taken."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from greenroom.kernel.limits import Limits
from tests.support.api import answered

from .stage import TEXT, FileStage


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    return replace(
        limits,
        uploads_per_hour=8,
        open_uploads=3,
        person_file_bytes_per_day=6000,
        thread_file_bytes=9000,
        file_bytes=4000,
    )


async def statuses(stage: FileStage, count: int, data: bytes = TEXT) -> list[int]:
    answers = await asyncio.gather(
        *(stage.ann.post("/v1/uploads", stage.request(data)) for _ in range(count))
    )
    return sorted(each.status_code for each in answers)


async def test_open_uploads_at_once(stage: FileStage) -> None:
    assert await statuses(stage, 6) == [201] * 3 + [429] * 3


async def test_uploads_per_hour(stage: FileStage) -> None:
    for _ in range(8):
        await stage.upload()
    answer = await stage.ann.post("/v1/uploads", stage.request())
    assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMITED")
    assert int(answer.headers["retry-after"]) > 0
    stage.api.clock.advance(hours=1)
    await stage.upload()


async def test_bytes_of_a_person_per_day(stage: FileStage) -> None:
    data = b"a" * 2500
    assert await statuses(stage, 3, data) == [201, 201, 429]
    stage.api.clock.advance(hours=25)
    await stage.begin(data)


async def test_bytes_of_a_thread(stage: FileStage) -> None:
    data = b"a" * 2500
    for person in (stage.ann, stage.ann, stage.bob):
        await stage.upload(data, person)
    refusal = await stage.bob.refusal("POST", "/v1/uploads", stage.request(data))
    assert refusal == (429, "RATE_LIMITED")


async def test_a_file_that_is_too_large(stage: FileStage) -> None:
    refusal = await stage.ann.refusal("POST", "/v1/uploads", stage.request(b"a" * 4001))
    assert refusal == (413, "ATTACHMENT_TOO_LARGE")


@pytest.mark.parametrize(
    ("mime", "purpose", "refusal"),
    [
        ("text/html", "attachment", (415, "UNSUPPORTED_TYPE")),
        ("image/svg+xml", "attachment", (415, "UNSUPPORTED_TYPE")),
        ("image/png", "voice", (415, "UNSUPPORTED_TYPE")),
        ("audio/webm", "proof", (415, "UNSUPPORTED_TYPE")),
        ("nonsense", "attachment", (400, "INVALID_REQUEST")),
        ("image/png\r\nx: y", "attachment", (400, "INVALID_REQUEST")),
    ],
)
async def test_types(stage: FileStage, mime: str, purpose: str, refusal: tuple[int, str]) -> None:
    asked = stage.request(mime=mime, purpose=purpose)
    assert await stage.ann.refusal("POST", "/v1/uploads", asked) == refusal


async def test_a_key_begins_one_upload_with_fresh_signatures(stage: FileStage) -> None:
    asked = stage.request()
    answers = await asyncio.gather(
        *(stage.ann.post("/v1/uploads", asked, key="one") for _ in range(3))
    )
    [upload_id] = {answered(each, 201)["upload"]["id"] for each in answers}
    stage.api.clock.advance(minutes=20)
    again = answered(await stage.ann.post("/v1/uploads", asked, key="one"), 201)["upload"]
    assert again["id"] == upload_id
    assert (await stage.put(again, TEXT)).status_code == 204


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\pictures\\me.jpg", "me.jpg"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("  ..  ", "file"),
        ("x" * 200 + ".jpeg", "x" * 115 + ".jpeg"),
    ],
)
async def test_names_are_cleaned(stage: FileStage, given: str, kept: str) -> None:
    file = await stage.ready(name=given)
    assert file["name"] == kept
