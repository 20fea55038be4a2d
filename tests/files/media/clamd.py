"""A ClamAV daemon for tests: Debian's own if it is installed, and one that speaks its protocol."""

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from .samples import EICAR

MAX_STREAM_BYTES = 1_000_000
is_installed = shutil.which("clamd") is not None


class LocalClamd:
    """As clamd 1.4 behaves on a socket. `mood` is how it misbehaves."""

    def __init__(self) -> None:
        self.mood = "well"
        self.received = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            command = await reader.readuntil(b"\0")
            if command == b"zVERSION\0":
                writer.write(b"ClamAV 1.4.3/27000/Tue\0")
            elif command == b"zINSTREAM\0":
                writer.write(await self._answer(reader))
            else:
                writer.write(b"UNKNOWN COMMAND\0")
            if self.mood != "reset":
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if self.mood == "reset":
                writer.transport.abort()
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        if self.mood == "reset":
            return b""
        received = bytearray()
        while length := int.from_bytes(await reader.readexactly(4), "big"):
            received += await reader.readexactly(length)
            if len(received) > MAX_STREAM_BYTES:
                return b"INSTREAM size limit exceeded. ERROR\0"
        self.received = bytes(received)
        if self.mood == "silent":
            await asyncio.sleep(60)
        answers = {
            "closing": b"",
            "found": b"stream: Win.Test FOUND\0",
            "error": b"stream: Can't allocate memory ERROR\0",
            "garbage": b"\xff\xfe nothing that we know\0",
            "half": b"stream: O",
            "endless": b"stream: " + b"x" * 100_000,
        }
        if self.mood in answers:
            return answers[self.mood]
        return b"stream: Eicar-Test FOUND\0" if EICAR in received else b"stream: OK\0"


@asynccontextmanager
async def debian_clamd() -> AsyncIterator[str]:
    """The real daemon with signatures of its own for the test virus: none are downloaded."""
    with tempfile.TemporaryDirectory(prefix="clamd-") as name:
        configuration, path = _configure(Path(name))
        process = await asyncio.create_subprocess_exec(
            *("clamd", "--config-file", str(configuration)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(200):
                if await asyncio.to_thread(path.exists):
                    break
                await asyncio.sleep(0.05)
            yield f"unix://{path}"
        finally:
            process.kill()
            await process.wait()


def _configure(folder: Path) -> tuple[Path, Path]:
    """The configuration and the socket that it names."""
    # The daemon may leave root's account.
    folder.chmod(0o755)
    database = folder / "database"
    database.mkdir()
    (database / "local.ndb").write_text(f"Eicar-Test:0:*:{EICAR.hex()}\n")
    path = folder / "clamd.ctl"
    configuration = folder / "clamd.conf"
    configuration.write_text(
        f"LocalSocket {path}\nDatabaseDirectory {database}\nForeground yes\n"
        f"TemporaryDirectory {folder}\nConcurrentDatabaseReload no\nSelfCheck 0\n"
    )
    return configuration, path
