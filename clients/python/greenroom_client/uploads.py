"""Uploads: the bytes of a file in one request or in parts, resumed after a failure."""

import asyncio
import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from greenroom_client.backoff import Backoff
from greenroom_client.calls import Calls, failure_of
from greenroom_client.errors import Problem, UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing

Json = dict[str, Any]

UNKNOWN_TYPE = "application/octet-stream"
ASK_AGAIN = frozenset({403, 404, 409})
"""Answers to bytes that may mean: the address has ended, or they have arrived before."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to upload: a path, or bytes."""

    content: Path | bytes
    name: str
    mime: str

    async def measure(self) -> tuple[int, str]:
        """The length, and the SHA-256 in hexadecimal digits."""
        return await asyncio.to_thread(self._measure)

    def _measure(self) -> tuple[int, str]:
        if isinstance(self.content, bytes):
            return len(self.content), hashlib.sha256(self.content).hexdigest()
        with self.content.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest

    async def read(self, start: int, byte_count: int) -> bytes:
        if isinstance(self.content, bytes):
            return self.content[start : start + byte_count]
        return await asyncio.to_thread(_read, self.content, start, byte_count)


def source_of(content: str | Path | bytes, name: str | None, mime: str | None) -> Source:
    if isinstance(content, str):
        content = Path(content)
    if name is None:
        if isinstance(content, bytes):
            raise ValueError("bytes need a name")
        name = content.name
    return Source(content, name, mime or mimetypes.guess_type(name)[0] or UNKNOWN_TYPE)


class _Piece(NamedTuple):
    """Bytes that the server does not have yet, and the request that brings them."""

    signed: Json
    start: int
    byte_count: int


class Uploads:
    def __init__(self, calls: Calls, timing: Timing, limits: ClientLimits) -> None:
        self._calls = calls
        self._timing = timing
        self._limits = limits

    async def upload(self, thread_id: str, source: Source, purpose: str) -> Json:
        """The file, which is processed now. After a failure it goes on with what is missing, at
        most `upload_attempts` times in a row without progress."""
        byte_count, sha256 = await source.measure()
        new = {
            "thread_id": thread_id,
            "name": source.name,
            "mime": source.mime,
            "bytes": byte_count,
            "sha256": sha256,
            "purpose": purpose,
            "parts": byte_count > self._limits.upload_part_bytes,
        }
        upload: Json | None = None
        backoff = Backoff(self._timing, self._limits)
        while True:
            try:
                upload = await self._begin_or_ask(new, upload)
                for piece in _missing(upload, byte_count):
                    await self._put(piece, source)
                    backoff.reset()
                answer = await self._calls.call("POST", f"/v1/uploads/{upload['id']}/complete")
            except (UnreachableError, Problem) as error:
                if backoff.failures >= self._limits.upload_attempts or _is_final(error):
                    raise
                await self._timing.sleep(backoff.next_s(getattr(error, "retry_after_s", None)))
            else:
                file: Json = answer["file"]
                return file

    async def _begin_or_ask(self, new: Json, upload: Json | None) -> Json:
        """A new upload; of one that is there, what has arrived, with fresh addresses."""
        if upload is None:
            answer = await self._calls.call("POST", "/v1/uploads", body=new)
        else:
            answer = await self._calls.call("GET", f"/v1/uploads/{upload['id']}")
        begun: Json = answer["upload"]
        return begun

    async def _put(self, piece: _Piece, source: Source) -> None:
        """Without the person's token: the address says what may be done with it."""
        signed, limits = piece.signed, self._limits
        data = await source.read(piece.start, piece.byte_count)
        timeout = httpx.Timeout(limits.upload_timeout_s, connect=limits.open_timeout_s)
        try:
            answer = await self._calls.http.request(
                signed["method"],
                signed["url"],
                headers=signed["headers"],
                content=data,
                timeout=timeout,
            )
        except httpx.TransportError as error:
            raise failure_of(error) from error
        if answer.status_code in ASK_AGAIN:
            raise _RefusedBytesError(f"{answer.status_code} to a part of the file")
        if not answer.is_success:
            raise Problem.of_answer(answer.status_code, answer.headers, answer.content)


class _RefusedBytesError(UnreachableError):
    """The server does not take these bytes at this address (any more)."""


def _missing(upload: Json, byte_count: int) -> Iterator[_Piece]:
    parts: list[Json] | None = upload.get("parts")
    if parts is None:
        if not upload.get("received"):
            yield _Piece(upload, 0, byte_count)
        return
    for part in parts:
        if not part["received"]:
            yield _Piece(part, (part["number"] - 1) * upload["part_bytes"], part["bytes"])


def _is_final(error: UnreachableError | Problem) -> bool:
    return isinstance(error, Problem) and error.is_final


def _read(path: Path, start: int, byte_count: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(byte_count)
