"""The same life of a file where clients talk to S3 themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.settings import Settings, load_settings
from tests.support.api import Json, answered
from tests.support.s3 import BUCKET, S3Engine

from .stage import TEXT, FileStage

PART_BYTES = 5 * 1024 * 1024
"""S3 takes no smaller ones, but for the last."""


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    return replace(limits, part_bytes=PART_BYTES, file_bytes=3 * PART_BYTES)


@pytest.fixture(scope="module")
def settings(
    tmp_path_factory: pytest.TempPathFactory, limits: Limits, s3_engine: S3Engine
) -> Iterator[Settings]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", s3_engine.keys.access_key)
        patch.setenv("AWS_SECRET_ACCESS_KEY", s3_engine.keys.secret_key)
        given = {
            "GREENROOM_HOME": str(tmp_path_factory.mktemp("home")),
            "GREENROOM_BLOBS": f"s3://{BUCKET}/files",
            "GREENROOM_S3_ENDPOINT": s3_engine.url,
        }
        yield replace(load_settings(given), limits=limits)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as opened:
        yield opened


async def put(client: httpx.AsyncClient, signed: Json, data: bytes) -> int:
    answer = await client.request(
        signed["method"], signed["url"], headers=signed["headers"], content=data
    )
    return answer.status_code


async def test_bytes_go_to_s3_and_come_from_there(
    stage: FileStage, client: httpx.AsyncClient, s3_engine: S3Engine
) -> None:
    upload = await stage.begin()
    assert upload["url"].startswith(s3_engine.url)
    assert await put(client, upload, TEXT) == 200
    file = await stage.complete(upload)
    await stage.send(file)
    await stage.work()
    [original] = (await stage.file(file, stage.bob))["renditions"]
    assert original["url"].startswith(s3_engine.url)
    fetched = await client.get(original["url"])
    assert (fetched.status_code, fetched.content) == (200, TEXT)
    assert fetched.headers["content-disposition"].startswith("attachment;")
    await stage.bob.leave(stage.thread_id)
    assert await stage.bob.refusal("GET", f"/v1/files/{file['id']}") == (404, "NOT_FOUND")


async def test_only_the_signed_request_is_taken(
    stage: FileStage, client: httpx.AsyncClient
) -> None:
    upload, other = await stage.begin(), await stage.begin()
    assert await put(client, upload, TEXT + b".") in range(400, 500)
    assert await put(client, {**upload, "method": "DELETE"}, b"") in range(400, 500)
    headers = {**upload["headers"], "Content-Type": "text/html"}
    assert await put(client, {**upload, "headers": headers}, TEXT) in range(400, 500)
    path, query = urlsplit(other["url"]).path, urlsplit(upload["url"]).query
    elsewhere = urlsplit(upload["url"])._replace(path=path, query=query).geturl()
    assert await put(client, {**upload, "url": elsewhere}, TEXT) in range(400, 500)
    assert (await client.get(upload["url"])).status_code in range(400, 500)
    refusal = await stage.ann.refusal("POST", f"/v1/uploads/{upload['id']}/complete")
    assert refusal == (409, "ACTION_INVALID_STATE")


async def test_a_replay_after_the_end_changes_nothing_that_anybody_sees(
    stage: FileStage, client: httpx.AsyncClient
) -> None:
    upload = await stage.begin()
    assert await put(client, upload, TEXT) == 200
    await stage.complete(upload)
    await stage.work()
    await put(client, upload, TEXT[::-1])
    [original] = (await stage.file(upload["id"]))["renditions"]
    assert (await client.get(original["url"])).content == TEXT
    await stage.api.rooms.files.sweeping.delete_orphans(grace_s=-1)
    assert await stage.blobs.find(f"msg-quarantine/{upload['id']}/upload") is None
    assert (await client.get(original["url"])).content == TEXT


async def test_parts_go_on_where_they_stopped(stage: FileStage, client: httpx.AsyncClient) -> None:
    data = TEXT * (PART_BYTES // len(TEXT) + 1000)
    upload = await stage.begin(data, parts=True)
    assert await put(client, upload["parts"][0], data[:PART_BYTES]) == 200
    again = answered(await stage.ann.get(f"/v1/uploads/{upload['id']}"), 200)["upload"]
    assert [part["received"] for part in again["parts"]] == [True, False]
    assert await put(client, again["parts"][1], data[PART_BYTES:]) == 200
    await stage.complete(upload)
    await stage.work()
    [original] = (await stage.file(upload["id"]))["renditions"]
    assert (await client.get(original["url"])).content == data


async def test_while_s3_is_away_calls_say_so_and_work_goes_on_afterwards(
    stage: FileStage, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = await stage.begin()
    assert await put(client, upload, TEXT) == 200

    async def away(*_: object, **__: object) -> None:
        raise Unavailable("S3 does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(stage.blobs, "find", away)
        answer = await stage.ann.call("POST", f"/v1/uploads/{upload['id']}/complete")
        assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
        assert "retry-after" in answer.headers
    assert (await stage.complete(upload))["state"] == "processing"
