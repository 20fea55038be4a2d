"""Files with checksums: the bytes as they are, then a CRC-32 of each block, then a tail.

A range can be checked without reading the rest. The tail tells the length and has a checksum of the
checksums, so a file that was cut off or damaged anywhere is noticed. A CRC-32 finds accidents: who
can write to the folder can change both.
"""

import hashlib
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

BLOCK_BYTES = 64 * 1024
READ_BLOCKS = 2

_CRC_BYTES = 4
_MAGIC = b"GRBLOB1\n"
_TAIL = struct.Struct("<QI8s")


class DamagedFileError(Exception):
    """The bytes of this file are not those that were written."""


def content_bytes(file_bytes: int) -> int:
    """How many bytes of a file of this size are content. Raises DamagedFileError."""
    sealed = file_bytes - _TAIL.size
    blocks = -(-sealed // (BLOCK_BYTES + _CRC_BYTES))
    content = sealed - blocks * _CRC_BYTES
    if sealed < 0 or content < 0 or -(-content // BLOCK_BYTES) != blocks:
        raise DamagedFileError
    return content


class SealedWriter:
    """Writes a new file. It is whole when `seal` has returned; until then it is damaged."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._crcs = bytearray()
        self._block_crc = 0
        self.byte_count = 0

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        self._write_all(view)
        while view:
            rest_of_block = BLOCK_BYTES - self.byte_count % BLOCK_BYTES
            piece = view[:rest_of_block]
            self._block_crc = zlib.crc32(piece, self._block_crc)
            self.byte_count += len(piece)
            if len(piece) == rest_of_block:
                self._end_block()
            view = view[rest_of_block:]

    def _end_block(self) -> None:
        self._crcs += self._block_crc.to_bytes(_CRC_BYTES, "little")
        self._block_crc = 0

    def _write_all(self, view: memoryview) -> None:
        while view:
            view = view[self._file.write(view) :]

    def seal(self) -> str:
        """Everything is on disk when it returns. Returns a name for the content."""
        if self.byte_count % BLOCK_BYTES:
            self._end_block()
        self._write_all(memoryview(bytes(self._crcs) + _tail(self._crcs, self.byte_count)))
        os.fsync(self._file.fileno())
        return content_name(self._crcs, self.byte_count)

    def close(self) -> None:
        self._file.close()


class SealedReader:
    """Reads a sealed file, also after it has been replaced. Raises DamagedFileError."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            status = os.fstat(self._file)
            if not stat.S_ISREG(status.st_mode):
                raise IsADirectoryError(path)
            file_bytes = status.st_size
            self.byte_count = content_bytes(file_bytes)
            seal = self._read(self.byte_count, file_bytes - self.byte_count)
            self._crcs = seal[: -_TAIL.size]
            if seal[-_TAIL.size :] != _tail(self._crcs, self.byte_count):
                raise DamagedFileError
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "SealedReader":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    @property
    def name(self) -> str:
        return content_name(self._crcs, self.byte_count)

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` to before `stop`, each block checked before it is given."""
        stop = self.byte_count if stop is None else min(stop, self.byte_count)
        step = READ_BLOCKS * BLOCK_BYTES
        for at in range(start - start % BLOCK_BYTES, stop, step):
            data = self._checked(at, min(step, self.byte_count - at))
            first, last = max(start - at, 0), min(stop - at, len(data))
            yield data if (first, last) == (0, len(data)) else data[first:last]

    def _checked(self, at: int, byte_count: int) -> bytes:
        data = self._read(at, byte_count)
        view = memoryview(data)
        for offset in range(0, len(data), BLOCK_BYTES):
            place = (at + offset) // BLOCK_BYTES * _CRC_BYTES
            crc = int.from_bytes(self._crcs[place : place + _CRC_BYTES], "little")
            if zlib.crc32(view[offset : offset + BLOCK_BYTES]) != crc:
                raise DamagedFileError
        return data

    def _read(self, at: int, byte_count: int) -> bytes:
        data = os.pread(self._file, byte_count, at)
        if len(data) != byte_count:
            raise DamagedFileError
        return data


def _tail(crcs: bytes | bytearray, byte_count: int) -> bytes:
    return _TAIL.pack(byte_count, zlib.crc32(crcs, byte_count & 0xFFFFFFFF), _MAGIC)


def content_name(crcs: bytes | bytearray, byte_count: int) -> str:
    """The same for the same content; content that differs by accident has another."""
    return hashlib.sha256(b"%d:%s" % (byte_count, bytes(crcs))).hexdigest()[:32]
