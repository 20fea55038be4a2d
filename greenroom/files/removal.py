"""Removes the bytes of files, and tells those who saw them."""

from greenroom.files.model import File
from greenroom.files.places import Threads
from greenroom.files.store import FileStore
from greenroom.platform.blobs.port import BlobStore


class Removal:
    def __init__(self, store: FileStore, blobs: BlobStore, threads: Threads) -> None:
        self._store = store
        self._blobs = blobs
        self._threads = threads

    async def remove(self, file: File) -> None:
        """The row comes first: from then on nobody fetches the file. Blobs that are left behind
        when this fails are swept. Safe to repeat."""
        expired = await self._store.expire(file.id)
        await self.delete_blobs(file)
        if expired:
            await self.tell(file)

    async def delete_blobs(self, file: File) -> None:
        if file.parts_handle is not None:
            await self._blobs.abort_parts(file.upload_key, file.parts_handle)
        await self._blobs.delete([file.upload_key, *(each.key for each in file.renditions)])

    async def tell(self, file: File) -> None:
        """Tell everybody who sees the file that it has changed, and its owner if nobody does. Who
        dies in here tells some people twice, and nobody never."""
        found = await self._store.find(file.id)
        if found is None or found.told_at_ms is not None:
            return
        places: list[str | None] = list(await self._store.places(file.id))
        for place in places or [None]:
            await self._threads.tell_file_changed(found.thread_id, file.id, file.owner, place)
        await self._store.note_told(file.id)
