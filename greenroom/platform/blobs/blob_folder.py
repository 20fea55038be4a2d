"""The files of a folder with blobs. Everything here blocks; `folder.py` runs it in threads.

A blob is written to a new file in `.incoming`, synced, and renamed to its place, so it is there as
a whole or not at all. Uploads in parts lie in `.parts` until they are finished. Names of the
folder's own begin with a dot, which no key does.
"""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from greenroom.kernel.errors import Unavailable
from greenroom.platform.blobs.port import BlobInfo, Part
from greenroom.platform.blobs.sealed_file import (
    DamagedFileError,
    SealedReader,
    SealedWriter,
    content_bytes,
)

PLACING_ATTEMPTS = 10
COPIED_BYTES = 128 * 1024

_HANDLE = re.compile(r"[0-9a-f]{32}")
_PART = re.compile(r"[0-9]{5}")


class BlobFolder:
    """Creating this object touches nothing on disk. Raises OSError and DamagedFileError."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._incoming = root / ".incoming"
        self._parts = root / ".parts"

    def path(self, key: str) -> Path:
        return self.root / key

    def new_file(self) -> tuple[SealedWriter, Path]:
        path = self._incoming / secrets.token_hex(16)
        try:
            return SealedWriter(path), path
        except FileNotFoundError:
            _sync_all(_make_folder(self._incoming))
            return SealedWriter(path), path

    @contextmanager
    def writing(self) -> Iterator[tuple[SealedWriter, Path]]:
        """A new file, which is gone after a failure."""
        writer, path = self.new_file()
        try:
            yield writer, path
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            writer.close()

    def place(self, path: Path, key: str) -> None:
        """Moves a sealed file to its key. A concurrent `remove` takes away folders that it leaves
        empty, so this may need a few attempts."""
        target = self.path(key)
        grown: dict[Path, None] = {}
        for _ in range(PLACING_ATTEMPTS):
            try:
                grown |= dict.fromkeys(_make_folder(target.parent))
                _rename(path, target)
            except FileNotFoundError:
                continue
            except (NotADirectoryError, IsADirectoryError) as error:
                raise ValueError("this key is the folder of another, or lies in a blob") from error
            # After the rename: a journal has written all of it by now, so these cost little.
            _sync_all(grown)
            return
        raise Unavailable("The folder for files changes all the time.")

    def copy_in(self, source: Path, key: str) -> None:
        with self.writing() as (writer, path), source.open("rb", buffering=0) as file:
            while chunk := file.read(COPIED_BYTES):
                writer.write(chunk)
            writer.seal()
            self.place(path, key)

    def copy_out(self, key: str, path: Path) -> None:
        with SealedReader(self.path(key)) as reader:
            try:
                with path.open("xb", buffering=0) as out:
                    for chunk in reader.chunks():
                        out.write(chunk)
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    def info(self, key: str) -> BlobInfo:
        found = self.path(key).stat()
        if not stat.S_ISREG(found.st_mode):
            raise IsADirectoryError(key)
        return BlobInfo(key, content_bytes(found.st_size), found.st_mtime_ns // 1_000_000)

    def remove(self, keys: Iterable[str]) -> None:
        _sync_all({self._remove(self.path(key)) for key in keys})

    def _remove(self, path: Path) -> Path:
        """Removes folders that are empty then, so that a removed thread leaves nothing. Returns the
        folder that is left."""
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            path.unlink()
        for folder in path.parents:
            if folder == self.root:
                break
            try:
                folder.rmdir()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                return folder
        return self.root

    def walk(self, prefix: str) -> Iterator[BlobInfo]:
        folder, _, beginning = prefix.rpartition("/")
        return self._walk(folder, beginning)

    def _walk(self, folder: str, beginning: str) -> Iterator[BlobInfo]:
        """In the order of the keys: a folder sorts as its name with a slash."""
        for name in sorted(_names(self.root / folder, beginning)):
            key = f"{folder}/{name}" if folder else name
            if name.endswith("/"):
                yield from self._walk(key.rstrip("/"), "")
            else:
                with suppress(FileNotFoundError):
                    yield self._listed(key)

    def _listed(self, key: str) -> BlobInfo:
        """A damaged one is listed as well, so that it can be found and removed."""
        try:
            return self.info(key)
        except DamagedFileError:
            return BlobInfo(key, 0, self.path(key).stat().st_mtime_ns // 1_000_000)

    def begin_parts(self, key: str) -> str:
        handle = secrets.token_hex(16)
        folder = self._parts / handle
        _sync_all(_make_folder(folder))
        (folder / "key").write_text(key)
        return handle

    def parts_of(self, key: str, handle: str) -> Path:
        """Raises FileNotFoundError unless these parts were begun for this key."""
        folder = self._parts / handle
        if _HANDLE.fullmatch(handle) is None or (folder / "key").read_text() != key:
            raise FileNotFoundError(handle)
        return folder

    def place_part(self, path: Path, key: str, handle: str, number: int) -> None:
        _rename(path, self.parts_of(key, handle) / _part_name(number))

    def parts(self, key: str, handle: str) -> list[Part]:
        folder = self.parts_of(key, handle)
        found = []
        for name in sorted(each.name for each in folder.iterdir() if _PART.fullmatch(each.name)):
            with SealedReader(folder / name) as reader:
                found.append(Part(int(name), reader.byte_count, reader.name))
        return found

    def join(self, key: str, handle: str, parts: Sequence[Part]) -> None:
        folder = self.parts_of(key, handle)
        with self.writing() as (writer, path):
            for part in parts:
                _append(writer, folder / _part_name(part.number), part)
            writer.seal()
            self.place(path, key)
        shutil.rmtree(folder, ignore_errors=True)

    def drop_parts(self, key: str, handle: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.parts_of(key, handle), ignore_errors=True)

    def try_to_write(self) -> None:
        with self.writing() as (writer, path):
            writer.write(b"ping")
            writer.seal()
            path.unlink()

    def sweep(self, before_ms: int) -> None:
        """Removes what uploads left that were never finished, because a process was killed."""
        for folder in (self._incoming, self._parts):
            for path in folder.iterdir() if folder.exists() else ():
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime_ns // 1_000_000 < before_ms:
                        _remove_any(path)


def _make_folder(folder: Path) -> list[Path]:
    """With its parents. They survive a power cut when the folders that it returns are synced."""
    if folder.is_dir():
        return []
    grown = _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return [*grown, folder.parent]


def _rename(path: Path, target: Path) -> None:
    path.replace(target)
    _sync(target.parent)


def _sync_all(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(FileNotFoundError):
            _sync(folder)


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _names(folder: Path, beginning: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = [each for each in entries if each.name.startswith(beginning)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [
        f"{each.name}/" if each.is_dir() else each.name
        for each in found
        if not each.name.startswith(".")
    ]


def _part_name(number: int) -> str:
    if not 1 <= number <= 10_000:
        raise ValueError(f"there is no part {number}")
    return f"{number:05}"


def _append(writer: SealedWriter, path: Path, part: Part) -> None:
    try:
        with SealedReader(path) as reader:
            if reader.name != part.etag:
                raise ValueError(f"part {part.number} is another one")
            for chunk in reader.chunks():
                writer.write(chunk)
    except FileNotFoundError as error:
        raise ValueError(f"part {part.number} has not arrived") from error


def _remove_any(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()
