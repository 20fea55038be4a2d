"""A process that crashes, hangs, takes too much or turns against us harms its own file only."""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvloop

from greenroom.files.media.job import Made, MediaJob, MediaLimits
from greenroom.files.media.process import MediaProcess, MediaUnavailableError, run_media

from . import samples
from .stand import Stand, outcome, rendition

is_root = os.geteuid() == 0
# Asks for the version of Landlock.
has_landlock = ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


@pytest.fixture(scope="module")
async def bad() -> AsyncIterator[MediaProcess]:
    process = MediaProcess(module="tests.files.media.misbehaving")
    yield process
    await process.close()


@pytest.fixture
def bad_stand(bad: MediaProcess, tmp_path: Path) -> Stand:
    return Stand(bad, tmp_path)


async def _told(stand: Stand, command: str) -> str:
    made = await stand.run(command.encode(), "image/jpeg")
    assert outcome(made) == ("ready", None), made.steps
    return rendition(made, "preview", "image/jpeg").path.read_bytes()[3:].decode()


@pytest.mark.parametrize(
    ("command", "reason", "limits"),
    [
        ("crash", "damaged", MediaLimits()),
        ("exit", "damaged", MediaLimits()),
        ("raise", "damaged", MediaLimits()),
        ("hang", "too_large", MediaLimits(wall_s=1)),
        ("spin", "too_large", MediaLimits(cpu_s=1)),
        ("hog", "damaged", MediaLimits(memory_bytes=300 * 1024**2)),
        ("fill", "damaged", MediaLimits(output_bytes=1024**2)),
    ],
)
async def test_its_end_is_an_answer_and_the_next_file_is_processed(
    bad_stand: Stand, command: str, reason: str, limits: MediaLimits
) -> None:
    started = time.monotonic()
    made = await bad_stand.run(command.encode(), "image/jpeg", limits=limits)
    assert outcome(made) == ("refused", reason), made.steps
    assert made.renditions == []
    assert time.monotonic() - started < 30
    assert await _told(bad_stand, "nothing") == ""


async def test_memory_is_bounded(bad: MediaProcess, bad_stand: Stand) -> None:
    bad.peak_rss_kb = 0
    await bad_stand.run(b"hog", "image/jpeg", memory_bytes=400 * 1024**2)
    assert 100 * 1024 < bad.peak_rss_kb < 400 * 1024


async def test_what_a_job_started_ends_with_it(bad_stand: Stand) -> None:
    pid = int(await _told(bad_stand, "child"))
    for _ in range(100):
        if not _is_alive(pid):
            return
        await asyncio.sleep(0.05)
    pytest.fail("the child lives on")


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


async def test_it_has_no_network_secrets_or_descriptors(
    bad_stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREENROOM_JWT_SECRET", "s" * 32)
    assert await _told(bad_stand, "socket") == "PermissionError"
    environment = await _told(bad_stand, "environment")
    assert "GREENROOM" not in environment
    assert "HOME" not in environment
    # Standard input, output and error, the upload and the pipe of the answer.
    assert await _told(bad_stand, "descriptors") == "5"
    assert await _told(bad_stand, "folder") == "[]"


@pytest.mark.skipif(not is_root, reason="only root can become somebody else")
async def test_it_is_nobody_when_started_by_root(bad_stand: Stand) -> None:
    assert (await _told(bad_stand, "user")).startswith("(65534, 65534, [])")
    assert await _told(bad_stand, "passwd") == "PermissionError"
    assert await _told(bad_stand, "upload") == "PermissionError"


@pytest.mark.skipif(not has_landlock, reason="this kernel has no Landlock")
async def test_it_can_open_nothing_outside_its_folder(bad_stand: Stand) -> None:
    assert await _told(bad_stand, "read") == "PermissionError"
    assert await _told(bad_stand, "list") == "PermissionError"
    assert await _told(bad_stand, "upload") == "PermissionError"


async def test_it_cannot_end_the_process_that_started_it(bad_stand: Stand) -> None:
    assert await _told(bad_stand, "kill") == "PermissionError"


async def test_a_cancelled_job_ends_its_process(bad: MediaProcess, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    upload = tmp_path / "upload"
    upload.write_bytes(b"hang")
    job = MediaJob(upload, tmp_path / "out", "image/jpeg", "attachment")
    before = _children(bad)
    running = asyncio.create_task(bad.run(job))
    await _until(lambda: _children(bad) > before)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await _until(lambda: _children(bad) == before)


def _children(process: MediaProcess) -> int:
    loaded = process._loaded
    return 0 if loaded is None else len(_children_of(loaded._process.pid))


def _children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def _until(condition: object) -> None:
    assert callable(condition)
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.05)
    pytest.fail("it did not happen")


async def test_a_loaded_process_that_was_killed_is_started_again(tmp_path: Path) -> None:
    process = MediaProcess(module="tests.files.media.misbehaving")
    stand = Stand(process, tmp_path)
    try:
        await _told(stand, "nothing")
        loaded = process._loaded
        assert loaded is not None
        loaded._process.kill()
        assert await _told(stand, "nothing") == ""
    finally:
        await process.close()


WORKER = """
import asyncio, sys
from pathlib import Path
from greenroom.files.media.job import MediaJob
from greenroom.files.media.process import MediaProcess

async def main(folder):
    media = MediaProcess(module="tests.files.media.misbehaving")
    await media.hello()
    print(media._loaded._process.pid, flush=True)
    await media.run(MediaJob(folder / "upload", folder / "out", "image/jpeg", "attachment"))

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_a_worker_that_is_killed_takes_everything_with_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "upload").write_bytes(b"hang")
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    loaded = int(await worker.stdout.readline())
    await _until(lambda: _children_of(loaded))
    [job] = _children_of(loaded)
    worker.kill()
    await worker.wait()
    await _until(lambda: not _is_alive(loaded) and not _is_alive(job))


async def test_jobs_run_beside_each_other(bad: MediaProcess, tmp_path: Path) -> None:
    """One that hangs does not hold up another."""
    stand = Stand(bad, tmp_path)
    hanging = asyncio.create_task(stand.run(b"hang", "image/jpeg", wall_s=3))
    await asyncio.sleep(0)
    assert await _told(stand, "nothing") == ""
    assert not hanging.done()
    assert outcome(await hanging) == ("refused", "too_large")


async def test_a_process_that_does_not_start_is_told_apart_from_a_bad_file(
    tmp_path: Path,
) -> None:
    process = MediaProcess(module="tests.files.media.no_such_module")
    with pytest.raises(MediaUnavailableError):
        await Stand(process, tmp_path).run(samples.jpeg(), "image/jpeg")
    await process.close()


def test_on_the_event_loop_of_the_server(tmp_path: Path) -> None:
    async def several() -> list[Made]:
        process = MediaProcess(module="tests.files.media.misbehaving")
        stand = Stand(process, tmp_path)
        try:
            jobs = [stand.run(b"nothing", "image/jpeg") for _ in range(6)]
            return [*await asyncio.gather(*jobs), await stand.run(b"crash", "image/jpeg")]
        finally:
            await process.close()

    made = uvloop.run(several())
    assert [each.state for each in made] == ["ready"] * 6 + ["refused"]


async def test_one_job_without_a_runner(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    upload = tmp_path / "upload"
    upload.write_bytes(b"some text")
    made: Made = await run_media(MediaJob(upload, tmp_path / "out", "text/plain", "attachment"))
    assert outcome(made) == ("ready", None)
