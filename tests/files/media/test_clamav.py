"""ClamAV's verdict counts, and anything but a verdict means that the file was not scanned."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from greenroom.files.media.clamav import ClamAv, parse_url
from greenroom.files.media.job import NotScannedError
from greenroom.files.media.process import MediaProcess

from . import samples
from .clamd import MAX_STREAM_BYTES, LocalClamd, debian_clamd, is_installed
from .samples import EICAR
from .stand import Stand, outcome


@pytest.fixture
async def clamd(tmp_path: Path) -> AsyncIterator[tuple[LocalClamd, str]]:
    daemon = LocalClamd()
    path = tmp_path / "clamd.ctl"
    server = await asyncio.start_unix_server(daemon.serve, path)
    async with server:
        yield daemon, f"unix://{path}"


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "upload"
    path.write_bytes(data)
    return path


async def test_clean_and_infected(clamd: tuple[LocalClamd, str], tmp_path: Path) -> None:
    daemon, url = clamd
    large = b"x" * 200_000
    assert await ClamAv(url).scan(_file(tmp_path, large)) is None
    assert daemon.received == large
    assert await ClamAv(url).scan(_file(tmp_path, b"x" + EICAR)) == "Eicar-Test"
    assert await ClamAv(url).version() == "ClamAV 1.4.3/27000/Tue"


async def test_over_tcp(tmp_path: Path) -> None:
    server = await asyncio.start_server(LocalClamd().serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        scanner = ClamAv(f"tcp://127.0.0.1:{port}")
        assert await scanner.scan(_file(tmp_path, EICAR)) == "Eicar-Test"


@pytest.mark.parametrize(
    "mood", ["reset", "closing", "error", "garbage", "half", "endless", "silent"]
)
async def test_no_verdict_is_not_clean(
    clamd: tuple[LocalClamd, str], tmp_path: Path, mood: str
) -> None:
    daemon, url = clamd
    daemon.mood = mood
    with pytest.raises(NotScannedError):
        await ClamAv(url, scan_s=1).scan(_file(tmp_path, b"x" * 100_000))


async def test_a_file_that_is_too_large_for_it_is_not_scanned(
    clamd: tuple[LocalClamd, str], tmp_path: Path
) -> None:
    with pytest.raises(NotScannedError, match="size limit"):
        await ClamAv(clamd[1]).scan(_file(tmp_path, b"x" * (MAX_STREAM_BYTES + 100_000)))


async def test_a_daemon_that_is_away(tmp_path: Path) -> None:
    with pytest.raises(NotScannedError):
        await ClamAv(f"unix://{tmp_path}/nothing").scan(_file(tmp_path, b"x"))
    with pytest.raises(NotScannedError):
        await ClamAv("tcp://127.0.0.1:1").version()


@pytest.mark.parametrize(
    "url", ["http://host", "unix://relative", "tcp://", "clamd", "tcp://h:99999"]
)
def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_url(url)


async def test_the_pipeline_asks_it_between_its_own_scan_and_decoding(
    clamd: tuple[LocalClamd, str], tmp_path: Path
) -> None:
    daemon, url = clamd
    process = MediaProcess(clamav=ClamAv(url, scan_s=2))
    stand = Stand(process, tmp_path)
    try:
        made = await stand.run(samples.jpeg(), "image/jpeg")
        assert outcome(made) == ("ready", None)
        steps = [(each.step, each.detail) for each in made.steps]
        assert [step for step, _ in steps] == [
            *("sniff", "virus", "virus", "decode", "renditions", "band")
        ]
        assert steps[2] == ("virus", "ClamAV")
        daemon.received = b""
        made = await stand.run(EICAR, "text/plain")
        assert outcome(made) == ("quarantined", "virus")
        assert daemon.received == b"", "our own rules had found it"
        daemon.mood = "found"
        made = await stand.run(samples.jpeg(), "image/jpeg")
        assert outcome(made) == ("quarantined", "virus")
        assert made.steps[-1].detail == "virus: ClamAV found Win.Test"
        daemon.mood = "well"
        made = await stand.run(b"Rar!\x1a\x07\x01\x00" + bytes(50), "application/vnd.rar")
        assert outcome(made) == ("ready", None), "ClamAV can look into it"
        daemon.mood = "error"
        with pytest.raises(NotScannedError):
            await stand.run(samples.jpeg(), "image/jpeg")
        made = await stand.run(samples.jpeg(), "image/jpeg", is_released=True)
        assert outcome(made) == ("ready", None)
        assert made.steps[2].detail.startswith("not_scanned: ")
    finally:
        await process.close()


@pytest.mark.skipif(not is_installed, reason="clamd is not installed")
async def test_the_real_daemon(tmp_path: Path) -> None:
    async with debian_clamd() as url:
        scanner = ClamAv(url)
        assert (await scanner.version()).startswith("ClamAV ")
        assert await scanner.scan(_file(tmp_path, samples.jpeg())) is None
        found = await scanner.scan(_file(tmp_path, EICAR))
        assert found is not None
        assert "Eicar-Test" in found
        packed = await scanner.scan(_file(tmp_path, samples.zipped(EICAR)))
        assert packed is not None
