"""Runs media jobs in separate processes, and decides what their end means."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import msgspec

import greenroom
from greenroom.files.media.answers import read_answer
from greenroom.files.media.clamav import ClamAv
from greenroom.files.media.confinement import unprivileged_account
from greenroom.files.media.job import Made, MediaJob, NotScannedError, StepRecord
from greenroom.files.media.wire import Answer, Ending, Hello, Order, Stages

log = logging.getLogger("greenroom.media")

START_S = 60.0
# After the process of a job should have been killed by the one that started it.
GRACE_S = 10.0
ANSWER_BYTES = 1024 * 1024
READ_BYTES = 64 * 1024
HELLO_BYTES = 4096
STOP_S = 5.0


class MediaUnavailableError(NotScannedError):
    """The media process does not start or does not stay, so no file can be looked at."""


class MediaRunner(Protocol):
    """Runs one job. It never raises for anything that an upload contains: a process that crashes,
    hangs or takes too much is an answer. Raises `NotScannedError` when a configured scanner gives
    no verdict; then nothing was made, and the job can be repeated. So can a job that was
    cancelled or whose caller died, with an empty `out`."""

    async def run(self, job: MediaJob) -> Made: ...

    async def close(self) -> None: ...


class MediaProcess:
    """Keeps a process with everything loaded, which starts one with limits for each job."""

    def __init__(
        self,
        *,
        clamav: ClamAv | None = None,
        at_once: int = 2,
        module: str = "greenroom.files.media",
    ) -> None:
        """`module` is what the process runs; tests have one that misbehaves."""
        self._clamav = clamav
        self._module = module
        self._slots = asyncio.Semaphore(at_once)
        self._starting = asyncio.Lock()
        self._loaded: _LoadedProcess | None = None
        self.peak_rss_kb = 0
        """The most memory that a job has used so far."""

    async def run(self, job: MediaJob) -> Made:
        async with self._slots:
            if self._clamav is None:
                return read_answer(job, await self._ask(job, "all"))
            examined = await self._ask(job, "examine")
            if examined.state != "ready":
                return read_answer(job, examined)
            scanned = await _scan(self._clamav, job)
            if scanned.outcome == "failed" and not job.is_released:
                return read_answer(job, _quarantined(examined, scanned))
            made = await self._ask(job, "make")
            steps = [*examined.steps, scanned, *made.steps]
            return read_answer(job, msgspec.structs.replace(made, steps=steps))

    async def _ask(self, job: MediaJob, stages: Stages) -> Answer:
        for _ in range(2):
            loaded = await self._ensure_loaded()
            answer = await self._ask_once(loaded, job, stages)
            if answer is not None:
                return answer
            # The loaded process has gone. Its end need not be the fault of this upload.
            await self._unload(loaded)
        raise MediaUnavailableError("The media process ended twice during a job.")

    async def _ask_once(
        self, loaded: "_LoadedProcess", job: MediaJob, stages: Stages
    ) -> Answer | None:
        order = Order(
            stages=stages,
            declared_mime=job.declared_mime[:200],
            purpose=job.purpose[:40],
            watermark=job.watermark,
            limits=job.limits,
            has_clamav=self._clamav is not None,
            is_released=job.is_released,
        )
        try:
            async with asyncio.timeout(job.limits.wall_s + GRACE_S):
                text = await loaded.order(order, job)
        except TimeoutError:
            await self._unload(loaded)
            return Answer(state="refused", reason="too_large", steps=[_crash("no answer")])
        if text is None:
            return None
        answer, _, ending = text.rpartition(b"\n")
        return self._judge(answer, ending)

    def _judge(self, text: bytes, ending_text: bytes) -> Answer | None:
        try:
            ending = msgspec.json.decode(ending_text, type=Ending)
        except msgspec.DecodeError:
            return None
        self.peak_rss_kb = max(self.peak_rss_kb, ending.peak_rss_kb)
        # Killed without being late: by the kernel, which had no memory left.
        if ending.is_late or -ending.exit_code in (signal.SIGKILL, signal.SIGXCPU, signal.SIGXFSZ):
            detail = f"took too much: exit {ending.exit_code}"
            return Answer(state="refused", reason="too_large", steps=[_crash(detail)])
        if ending.exit_code == 0:
            with contextlib.suppress(msgspec.DecodeError):
                return msgspec.json.decode(text, type=Answer)
        detail = f"exit {ending.exit_code}"
        return Answer(state="refused", reason="damaged", steps=[_crash(detail)])

    async def _ensure_loaded(self) -> "_LoadedProcess":
        async with self._starting:
            if self._loaded is not None and not self._loaded.is_running():
                # It was killed; its socket is still open here.
                await self._unload(self._loaded)
            if self._loaded is None:
                self._loaded = await _LoadedProcess.start(self._module)
            return self._loaded

    async def _unload(self, loaded: "_LoadedProcess") -> None:
        if self._loaded is loaded:
            self._loaded = None
        await loaded.stop()

    async def close(self) -> None:
        """Stop the process. Jobs that are running end as if they had crashed."""
        if self._loaded is not None:
            await self._unload(self._loaded)

    async def hello(self) -> Hello:
        """What the process has loaded; starts it."""
        return (await self._ensure_loaded()).hello


class _LoadedProcess:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        orders: socket.socket,
        hello: Hello,
    ) -> None:
        self.hello = hello
        self._process = process
        self._orders = orders

    @classmethod
    async def start(cls, module: str) -> "_LoadedProcess":
        """Raises `MediaUnavailableError`."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 (returns at once)
                [sys.executable, "-P", "-s", "-m", module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(START_S):
                packet = await asyncio.get_running_loop().sock_recv(ours, HELLO_BYTES)
            hello = msgspec.json.decode(packet, type=Hello)
        except (TimeoutError, OSError, msgspec.DecodeError) as error:
            await cls(process, ours, Hello(has_classifier=False, has_ffmpeg=False)).stop()
            raise MediaUnavailableError("The media process does not start.") from error
        log.debug("media process %d is ready", process.pid)
        return cls(process, ours, hello)

    def is_running(self) -> bool:
        return self._process.poll() is None

    async def order(self, order: Order, job: MediaJob) -> bytes | None:
        """What was written into the pipe of the job. None: the process is gone."""
        receiver, sender = os.pipe2(os.O_CLOEXEC)
        try:
            try:
                is_sent = self._send(order, job, sender)
            finally:
                os.close(sender)
            return await _read_all(receiver) if is_sent else None
        finally:
            os.close(receiver)

    def _send(self, order: Order, job: MediaJob, sender: int) -> bool:
        with contextlib.ExitStack() as opened:
            upload = os.open(job.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            opened.callback(os.close, upload)
            folder = os.open(job.out, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, folder)
            if os.geteuid() == 0:
                os.fchown(folder, *unprivileged_account())
            packet = msgspec.json.encode(order)
            try:
                socket.send_fds(self._orders, [packet], [upload, folder, sender])
            except OSError:
                return False
            return True

    async def stop(self) -> None:
        """It ends its jobs when its orders are closed; if it does not, the kernel does."""
        self._orders.close()
        try:
            await asyncio.to_thread(self._process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


def _environment() -> dict[str, str]:
    """Nothing of the worker's own, which has secrets."""
    return {
        "LANG": "C.UTF-8",
        # This very package, however it was found.
        "PYTHONPATH": str(Path(greenroom.__file__).parent.parent),
        "VIPS_BLOCK_UNTRUSTED": "1",
        "VIPS_CONCURRENCY": "2",
        "OPENBLAS_NUM_THREADS": "1",
        # Each arena reserves address space, which is limited.
        "MALLOC_ARENA_MAX": "2",
    }


async def _read_all(pipe: int) -> bytes:
    """Until all writers have closed it, or there is more than an answer can be."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    text = bytearray()

    def take() -> None:
        chunk = os.read(pipe, READ_BYTES)
        text.extend(chunk)
        if (not chunk or len(text) > ANSWER_BYTES) and not ended.done():
            ended.set_result(None)

    loop.add_reader(pipe, take)
    try:
        await ended
    finally:
        loop.remove_reader(pipe)
    return bytes(text)


async def _scan(clamav: ClamAv, job: MediaJob) -> StepRecord:
    """Raises `NotScannedError`, unless an operator has released the file."""
    try:
        found = await clamav.scan(job.path)
    except NotScannedError as error:
        if not job.is_released:
            raise
        return StepRecord("virus", "failed", f"not_scanned: {error}")
    if found is not None:
        return StepRecord("virus", "failed", f"virus: ClamAV found {found}")
    return StepRecord("virus", "ok", "ClamAV")


def _quarantined(examined: Answer, scanned: StepRecord) -> Answer:
    steps = [*examined.steps, scanned]
    return Answer(
        state="quarantined",
        reason="virus",
        media=examined.media,
        mime=examined.mime,
        steps=steps,
    )


def _crash(detail: str) -> StepRecord:
    return StepRecord("decode", "failed", detail)


async def run_media(job: MediaJob) -> Made:
    """One job in a process of its own, without ClamAV; for tools and tests."""
    runner = MediaProcess()
    try:
        return await runner.run(job)
    finally:
        await runner.close()
