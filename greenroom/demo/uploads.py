"""Uploads the sample's files through the product's own actions, each once."""

from collections.abc import AsyncIterator
from contextlib import suppress

from greenroom.bootstrap_files import FileRooms
from greenroom.demo.cues import Cue
from greenroom.demo.media.album import FILES
from greenroom.demo.media.developing import DarkRoom
from greenroom.demo.once import do_once
from greenroom.files.media.job import NotScannedError
from greenroom.files.model import Purpose
from greenroom.files.uploads import UploadRequest
from greenroom.kernel.errors import ActionInvalidState


class SampleUploads:
    def __init__(self, rooms: FileRooms, dark_room: DarkRoom, where: str) -> None:
        self._rooms = rooms
        self._dark_room = dark_room
        self._where = where

    async def upload(self, cue: Cue, thread_id: str, name: str, purpose: Purpose) -> str:
        """The id of the file, which is processed if the media process works here. Otherwise the
        server's worker does that later."""
        owner, file = cue.step.who or "", FILES[name]
        uploads, data = self._rooms.files.uploads, await self._dark_room.bytes_of(name)
        asked = UploadRequest(thread_id, file.name, file.mime, len(data), purpose)
        file_id = await do_once(
            self._where,
            f"{cue.key}-{name}",
            lambda once: uploads.begin(owner, asked, once),
            lambda begun: begun.id,
        )
        with suppress(ActionInvalidState):
            # Refused in a continued load, when the bytes have arrived before.
            await uploads.receive(file_id, _chunks(data), len(data))
        await uploads.complete(owner, file_id)
        if file.alt is not None:
            await self._rooms.files.set_alt(owner, file_id, file.alt)
        with suppress(NotScannedError):
            await self._rooms.process_now(file_id)
        return file_id


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data
