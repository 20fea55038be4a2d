"""Processing: every completed upload ends once, whatever dies, and nobody sees anything before."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from greenroom.files.media.job import Made, MadeRendition, MediaJob, NotScannedError, StepRecord
from greenroom.files.processing import SCAN_ATTEMPTS, Processing
from greenroom.files.removal import Removal
from greenroom.kernel.errors import Unavailable
from greenroom.platform.tasks.table import Task
from tests.support.api import Json

from .deaths import Death, Killed, Mortal
from .stage import TEXT, FileStage

MOST_PLACES = 100


class Media:
    """A runner of media jobs that makes two renditions of a text, or answers as it is told."""

    def __init__(self, answer: Made | Exception | None = None) -> None:
        self.answer = answer
        self.jobs: list[MediaJob] = []

    async def run(self, job: MediaJob) -> Made:
        self.jobs.append(job)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        thumb = job.out / "thumb.webp"
        thumb.write_bytes(b"thumb")
        renditions = [
            MadeRendition("original", job.path, "text/plain"),
            MadeRendition("thumb", thumb, "image/webp", 10, 10),
        ]
        steps = [StepRecord("sniff", "ok", "text"), StepRecord("virus", "ok", "rules")]
        return Made("ready", None, "other", "text/plain", renditions=renditions, steps=steps)

    async def close(self) -> None:
        pass


def processing(
    stage: FileStage, folder: Path, media: Media | None = None, death: Death | None = None
) -> Processing:
    rooms = stage.api.rooms
    death = death or Death(None)
    store, blobs = Mortal(rooms.files.store, death), Mortal(rooms.files.blobs, death)
    removal = Removal(store, blobs, Mortal(rooms.store, death))
    runner: Any = Mortal(media or Media(), death)
    return Processing(
        *(store, blobs, removal, runner),
        work=folder / "work",
        limits=rooms.settings.limits,
    )


def task_of(file: Json, failures: int = 0, payload: Any = None) -> Task:
    return Task(1, "file", file["id"], payload, 0, failures, failures, 1)


async def blobs_of(stage: FileStage, file: Json) -> set[str]:
    found = set()
    for prefix in ("msg-quarantine/", "msg-previews/", "threads/"):
        async for info in stage.blobs.list(prefix):
            if file["id"] in info.key:
                found.add(info.key)
    return found


async def test_the_end_is_one_and_told_whatever_dies(stage: FileStage, tmp_path: Path) -> None:
    """A worker dies before or after everything that it does; another takes the task up."""
    for at in itertools.count():
        assert at < MOST_PLACES
        death = Death(at)
        file = await stage.upload()
        message = await stage.send(file)
        since = await stage.bob.cursor()
        with contextlib.suppress(Killed):
            await processing(stage, tmp_path, death=death).run(task_of(file))
        is_dead = len(death.places) == at + 1
        await check_not_half(stage, file)
        await processing(stage, tmp_path).run(task_of(file))
        ended = await stage.file(file, stage.bob)
        assert ended["state"] == "ready", death.places
        assert {each["kind"] for each in ended["renditions"]} == {"original", "thumb"}
        events = [each for each in await stage.bob.sync(since) if each["type"] == "file.changed"]
        assert events, death.places
        assert {each["message_id"] for each in events} == {message["id"]}
        await stage.api.rooms.files.sweeping.delete_orphans(grace_s=-1)
        assert await blobs_of(stage, file) == {
            f"threads/{stage.thread_id}/attachments/{file['id']}/original",
            f"msg-previews/{stage.thread_id}/{file['id']}/thumb.webp",
        }
        if not is_dead:
            break
    assert at > 15


async def check_not_half(stage: FileStage, file: Json) -> None:
    """What a viewer sees is before or after, and every address works."""
    seen = await stage.file(file, stage.bob)
    if seen["state"] == "processing":
        assert seen["renditions"] == []
        return
    assert seen["state"] == "ready"
    for each in seen["renditions"]:
        assert (await stage.fetch(each)).status_code == 200


async def test_two_workers_at_once_end_it_once(stage: FileStage, tmp_path: Path) -> None:
    file = await stage.upload()
    await stage.send(file)
    since = await stage.bob.cursor()
    workers = [processing(stage, tmp_path) for _ in range(3)]
    await asyncio.gather(*(each.run(task_of(file)) for each in workers))
    assert (await stage.file(file))["state"] == "ready"
    events = [each for each in await stage.bob.sync(since) if each["type"] == "file.changed"]
    assert events
    steps = await stage.pool.fetch("select step from file_step where file_id = $1", file["id"])
    assert sorted(row["step"] for row in steps) == ["sniff", "virus"]


@pytest.mark.parametrize("state", ["refused", "quarantined"])
async def test_only_the_owner_is_told_why(stage: FileStage, tmp_path: Path, state: Any) -> None:
    file = await stage.upload()
    await stage.send(file)
    made = Made(state, "virus", "other", "text/plain")
    await processing(stage, tmp_path, Media(made)).run(task_of(file))
    own, theirs = await stage.file(file), await stage.file(file, stage.bob)
    assert (own["state"], own["reason"], own["renditions"]) == (state, "virus", [])
    assert (theirs["state"], theirs["reason"], theirs["renditions"]) == (state, None, [])
    kept = {f"msg-quarantine/{file['id']}/upload"} if state == "quarantined" else set()
    assert await blobs_of(stage, file) == kept


async def test_a_refused_file_cannot_be_sent(stage: FileStage, tmp_path: Path) -> None:
    file = await stage.upload()
    made = Made("refused", "damaged", "other", "text/plain")
    await processing(stage, tmp_path, Media(made)).run(task_of(file))
    draft = stage.ann.draft("", attachments=[{"file_id": file["id"]}])
    path = f"/v1/threads/{stage.thread_id}/messages"
    assert await stage.ann.refusal("POST", path, draft) == (409, "UPLOAD_QUARANTINED")


async def test_a_scanner_that_fails_never_means_clean(stage: FileStage, tmp_path: Path) -> None:
    file = await stage.upload()
    await stage.send(file)
    failing = processing(stage, tmp_path, Media(NotScannedError("no answer")))
    for failures in range(SCAN_ATTEMPTS - 1):
        with pytest.raises(NotScannedError):
            await failing.run(task_of(file, failures))
        assert (await stage.file(file))["state"] == "processing"
    await failing.run(task_of(file, SCAN_ATTEMPTS - 1))
    held = await stage.file(file)
    assert (held["state"], held["reason"]) == ("quarantined", "not_scanned")


async def test_a_blob_store_that_is_away_delays_and_loses_nothing(
    stage: FileStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await stage.upload()

    async def away(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(stage.blobs, "put_file", away)
        with pytest.raises(Unavailable):
            await processing(stage, tmp_path).run(task_of(file))
        assert (await stage.file(file))["state"] == "processing"
    await processing(stage, tmp_path).run(task_of(file))
    assert (await stage.file(file))["state"] == "ready"
    assert list((tmp_path / "work").iterdir()) == []


async def test_an_upload_that_is_cancelled_meanwhile_leaves_nothing(
    stage: FileStage, tmp_path: Path
) -> None:
    file = await stage.upload()
    media = Media()
    run = media.run

    async def cancel_first(job: MediaJob) -> Made:
        answer = await stage.ann.delete(f"/v1/uploads/{file['id']}")
        assert answer.status_code == 204
        return await run(job)

    media.run = cancel_first  # type: ignore[method-assign]
    await processing(stage, tmp_path, media).run(task_of(file))
    assert await stage.ann.refusal("GET", f"/v1/uploads/{file['id']}") == (404, "NOT_FOUND")
    await stage.api.rooms.files.sweeping.delete_orphans(grace_s=-1)
    assert await blobs_of(stage, file) == set()


async def test_what_the_sender_declared_is_checked_when_it_is_completed(
    stage: FileStage,
) -> None:
    upload = await stage.begin(sha256="ab" * 32)
    await stage.put(upload, TEXT)
    path = f"/v1/uploads/{upload['id']}/complete"
    answer = await stage.ann.call("POST", path)
    assert (answer.status_code, answer.json()["code"]) == (422, "ACTION_INVALID_STATE")
    assert await stage.ann.refusal("POST", path) == (404, "NOT_FOUND")
