"""What is swept, kept by a hold, exported, erased and checked."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from greenroom.conversations.upkeep import Fault, HeldError
from greenroom.files.sweeping import Sweeping
from tests.support.api import Json

from .stage import TEXT, FileStage


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def sweep(stage: FileStage) -> dict[str, int]:
    return await stage.api.rooms.files.sweeping.sweep_files()


def original(stage: FileStage, file: Json) -> str:
    return f"threads/{stage.thread_id}/attachments/{file['id']}/original"


async def exists(stage: FileStage, key: str) -> bool:
    return await stage.blobs.find(key) is not None


async def faults(stage: FileStage, *, repair: bool = False) -> list[Fault]:
    async with aclosing(stage.api.rooms.files.upkeep.check(repair=repair)) as found:
        return [each async for each in found]


class TestSweeping:
    async def test_an_upload_that_is_never_completed(self, stage: FileStage) -> None:
        upload = await stage.begin()
        in_parts = await stage.begin(b"a" * 2000, parts=True)
        await stage.put(upload, TEXT)
        stage.api.clock.advance(hours=23)
        await sweep(stage)
        assert await exists(stage, f"msg-quarantine/{upload['id']}/upload")
        stage.api.clock.advance(hours=2)
        assert (await sweep(stage))["abandoned_upload"] >= 2
        assert not await exists(stage, f"msg-quarantine/{upload['id']}/upload")
        for each in (upload, in_parts):
            refusal = await stage.ann.refusal("POST", f"/v1/uploads/{each['id']}/complete")
            assert refusal == (404, "NOT_FOUND")

    async def test_a_file_that_is_never_sent(self, stage: FileStage) -> None:
        unsent, sent = await stage.ready(), await stage.ready()
        await stage.send(sent)
        stage.api.clock.advance(days=6)
        await sweep(stage)
        assert await exists(stage, original(stage, unsent))
        stage.api.clock.advance(days=2)
        assert (await sweep(stage))["unsent_file"] >= 1
        assert not await exists(stage, original(stage, unsent))
        assert await exists(stage, original(stage, sent))
        stage.api.clock.advance(days=8)
        assert (await sweep(stage))["file_row"] >= 1
        assert (
            await stage.pool.fetchval("select 1 from file where file_id = $1", unsent["id"]) is None
        )

    async def test_blobs_without_a_file_after_their_time(self, stage: FileStage) -> None:
        file = await stage.ready()
        sweeping = stage.api.rooms.files.sweeping
        foreign = "msg-previews/thr_0/fil_019e33c9ac00zzzzzzzzzzzzzz/thumb.webp"
        left_over = f"msg-quarantine/{file['id']}/upload"
        for key in (foreign, left_over):
            await put(stage, key)
        assert await sweeping.delete_orphans() == 0
        assert await sweeping.delete_orphans(grace_s=-1) == 2
        assert not await exists(stage, foreign)
        assert not await exists(stage, left_over)
        assert await exists(stage, original(stage, file))

    async def test_a_round_over_all_blobs_is_rare(self, stage: FileStage) -> None:
        sweeping = stage.api.rooms.files.sweeping
        stage.api.clock.advance(hours=7)
        assert await sweeping.sweep_orphans() != {}
        assert await sweeping.sweep_orphans() == {}

    async def test_files_expire_where_that_is_wanted(self, stage: FileStage) -> None:
        files = stage.api.rooms.files
        file = await stage.ready()
        await stage.send(file)
        expiring = Sweeping(
            *(files.store, files.blobs, files.sweeping._removal, stage.api.rooms.upkeep),
            work=stage.api.rooms.settings.home / "work",
            clock=stage.api.clock,
            limits=stage.api.rooms.settings.limits,
            expire_days=30,
        )
        stage.api.clock.advance(days=29)
        await expiring.sweep_files()
        assert await exists(stage, original(stage, file))
        since = await stage.bob.cursor()
        stage.api.clock.advance(days=2)
        await expiring.sweep_files()
        assert not await exists(stage, original(stage, file))
        events = [each for each in await stage.bob.sync(since) if each["type"] == "file.changed"]
        assert [each["file"]["state"] for each in events] == ["expired"]
        shown = await stage.file(file, stage.bob)
        assert (shown["state"], shown["renditions"], shown["name"]) == (
            "expired",
            [],
            "call sheet.txt",
        )

    async def test_a_hold_keeps_files_past_their_time(self, stage: FileStage) -> None:
        upkeep = stage.api.rooms.upkeep
        file, unsent = await stage.ready(), await stage.ready()
        await stage.send(file)
        await upkeep.hold(stage.thread_id, "File 7")
        stage.api.clock.advance(days=600)
        await sweep(stage)
        for each in (file, unsent):
            assert await exists(stage, original(stage, each))
        await upkeep.release(stage.thread_id)
        await sweep(stage)
        for each in (file, unsent):
            assert not await exists(stage, original(stage, each))


class TestErasing:
    async def test_everything_of_a_person_is_gone(self, stage: FileStage) -> None:
        upkeep = stage.api.rooms.files.upkeep
        file, theirs = await stage.ready(), await stage.ready(by=stage.bob)
        await stage.send(file)
        await stage.send(theirs, by=stage.bob)
        await stage.ann.patch(f"/v1/files/{file['id']}", {"alt": "Ann herself"})
        assert await upkeep.erase(stage.ann.id) == 1
        assert await upkeep.erase(stage.ann.id) == 0
        assert not await exists(stage, original(stage, file))
        assert await exists(stage, original(stage, theirs))
        row = await stage.pool.fetchrow("select * from file where file_id = $1", file["id"])
        assert row is not None
        assert (row["state"], row["name"], row["alt"], row["sha256"]) == ("expired", "", None, None)

    async def test_a_hold_forbids_it(self, stage: FileStage) -> None:
        file = await stage.ready()
        await stage.api.rooms.upkeep.hold(stage.thread_id, "File 7")
        with pytest.raises(HeldError):
            await stage.api.rooms.files.upkeep.erase(stage.ann.id)
        assert await exists(stage, original(stage, file))


class TestExport:
    async def test_files_and_their_bytes(self, stage: FileStage, tmp_path: Path) -> None:
        file = await stage.ready()
        await stage.ready(by=stage.bob)
        async with aclosing(
            stage.api.rooms.files.upkeep.export(stage.ann.id, tmp_path)
        ) as exported:
            [(section, item)] = [each async for each in exported]
        assert (section, item["id"], item["name"]) == ("files", file["id"], "call sheet.txt")
        assert (tmp_path / item["exported_as"]).read_bytes() == TEXT


class TestCheck:
    async def test_rows_and_blobs_agree(self, stage: FileStage) -> None:
        await stage.begin()
        await stage.upload()
        await stage.ready()
        assert [each for each in await faults(stage) if each.user_id == stage.ann.id] == []

    async def test_a_blob_that_is_missing(self, stage: FileStage) -> None:
        file = await stage.ready()
        await stage.blobs.delete([original(stage, file)])
        [fault] = [
            each for each in await faults(stage, repair=True) if each.user_id == stage.ann.id
        ]
        assert (fault.kind, fault.thread_id, fault.is_mended) == (
            "file_blob",
            stage.thread_id,
            False,
        )

    async def test_a_blob_without_a_file(
        self, stage: FileStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = "threads/thr_0/attachments/fil_019e33c9ac00zzzzzzzzzzzzzz/original"
        await put(stage, key)
        assert [each for each in await faults(stage) if each.found == key] == []
        monkeypatch.setattr("greenroom.files.upkeep.system_clock", lambda: 2**45)
        [fault] = [each for each in await faults(stage) if each.found == key]
        assert (fault.kind, fault.is_mended) == ("blob_without_file", False)
        [fault] = [each for each in await faults(stage, repair=True) if each.found == key]
        assert fault.is_mended
        assert not await exists(stage, key)


async def put(stage: FileStage, key: str) -> None:
    async def data() -> object:
        yield b"orphan"

    await stage.blobs.put(key, data(), mime="text/plain", byte_count=6)
