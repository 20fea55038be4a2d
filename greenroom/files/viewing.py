"""Who may see a file, and which of its renditions.

A file belongs to whoever uploaded it until a message or card shows it. From then on it is seen by
those who see that message or card now, in the form that Safe-Mode allows them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from greenroom.accounts.model import ViewingChoices
from greenroom.conversations.attachments import FileUse, FileView
from greenroom.conversations.model import Media
from greenroom.conversations.thread_updates import NO_THREAD
from greenroom.files.made_views import MadeViews
from greenroom.files.model import (
    SAFE,
    SUGGESTIVE,
    File,
    Rendition,
    Visibility,
    band_of,
    disposition_of,
    is_file_id,
    renditions_for,
    rounded_expiry,
    visibility_of,
)
from greenroom.files.places import SeesPlace, Threads, Viewers
from greenroom.files.signed_urls import BlobSigner
from greenroom.files.store import FileStore, LookedAt, Sighting
from greenroom.files.views import Address, file_view, gone_view
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    ActionInvalidState,
    InvalidRequest,
    NotFound,
    SafeModeBlocked,
    ThreadNotFound,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.port import BlobStore

DAY_MS = 24 * 60 * 60 * 1000
USUAL_PAGE = 30
NO_MESSAGE = "msg_" + 26 * "0"
"""A message id that never exists."""


class Viewing:
    def __init__(
        self,
        store: FileStore,
        blobs: BlobStore,
        threads: Threads,
        viewers: Viewers,
        signer: BlobSigner,
        *,
        clock: Clock,
        limits: Limits,
        unscanned_band: int = SUGGESTIVE,
        expire_days: int | None = None,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._threads = threads
        self._viewers = viewers
        self._signer = signer
        self._clock = clock
        self._limits = limits
        self._unscanned_band = unscanned_band
        self._expire_days = expire_days
        self._made = MadeViews(limits.read_files)
        self._places: dict[str, SeesPlace] = {"msg_": self._sees_message}

    def register_place(self, prefix: str, sees: SeesPlace) -> None:
        """Files can also be shown by what has ids of this prefix, such as `crd_`."""
        self._places[prefix] = sees

    async def look(self, viewer: str | None, uses: Iterable[FileUse]) -> Mapping[str, FileView]:
        """See `Attachments.look`."""
        asked = {(use.file_id, use.message_id): use for use in uses}
        if not asked:
            return {}
        every = list(asked.values())
        found = await self._store.look(viewer, every)
        new = [asked[each.file.id, each.place] for each in found if not each.is_known]
        if new:
            # Noted before it is read again: if processing ends in between, either this reads its
            # end, or whoever tells of the end reads this place.
            await self._store.note_uses(new)
            found = await self._store.look(viewer, [replace(each, stamp=None) for each in every])
        shown = [
            each for each in found if _is_of(viewer, each.file, asked[each.file.id, each.place])
        ]
        views = await self._views(viewer, shown)
        gone = {use.file_id: gone_view(use) for use in every if use.file_id not in views}
        return {**views, **gone}

    async def _views(self, viewer: str | None, found: Sequence[LookedAt]) -> dict[str, FileView]:
        is_banded = any(self._band(each.file) > SAFE for each in found)
        person, required = ViewingChoices(), frozenset[str]()
        if is_banded and viewer is not None:
            person = await self._viewers.viewing_choices(viewer) or person
            threads = {each.file.thread_id for each in found if each.file.thread_id is not None}
            required = await self._threads.safe_mode_required(sorted(threads))
        until_ms = rounded_expiry(self._clock(), self._limits.download_s)
        address = None if viewer is None else self._addresses(viewer, until_ms)
        views = {}
        for file, _, is_revealed, _ in found:
            is_required = file.thread_id in required
            visibility = visibility_of(
                self._band(file), person, is_required=is_required, is_revealed=is_revealed
            )
            made = self._made.find(viewer, file, visibility, until_ms)
            views[file.id] = made or self._view(viewer, file, visibility, address, until_ms)
        return views

    def _band(self, file: File) -> int:
        return band_of(file, self._unscanned_band)

    def _view(
        self,
        viewer: str | None,
        file: File,
        visibility: Visibility,
        address: Address | None,
        until_ms: int,
    ) -> FileView:
        view = file_view(
            file,
            viewer=viewer,
            visibility=visibility,
            band=self._band(file),
            can_reveal=visibility == "blurred" and file.state == "ready",
            address=address,
            expires_at_ms=self._expires_at_ms(file),
        )
        if self._blobs.origin is None:
            # Addresses of another server may end earlier than they say, with the keys that sign.
            self._made.keep(viewer, file, visibility, until_ms, view)
        return view

    def _addresses(self, viewer: str, until_ms: int) -> Address:
        """Makes the addresses of renditions for one viewer."""
        if self._blobs.origin is not None:
            return self._direct_address
        url = self._signer.downloads(viewer, until_ms)
        return lambda file, rendition: url(file.id, rendition.name)

    def _direct_address(self, file: File, rendition: Rendition) -> str:
        signed = self._blobs.sign_download(
            rendition.key,
            mime=rendition.mime,
            disposition=disposition_of(file, rendition),
            seconds=self._limits.download_s,
        )
        if signed is None:
            raise AssertionError("A store that clients can reach signs downloads.")
        return signed

    def _expires_at_ms(self, file: File) -> int | None:
        if self._expire_days is None or file.state == "expired":
            return None
        return file.created_at_ms + self._expire_days * DAY_MS

    async def access(self, viewer: str, file_id: str) -> Sighting:
        """The file, if this viewer sees it somewhere now. Raises NotFound. For outsiders it asks
        the same questions about what exists as about what does not."""
        sighting = await self._store.sight(viewer, file_id if is_file_id(file_id) else "")
        if sighting is None:
            await self._sees_any(viewer, NO_THREAD, [NO_MESSAGE])
            raise NotFound
        if not await self._sees(viewer, sighting):
            raise NotFound
        return sighting

    async def _sees(self, viewer: str, sighting: Sighting) -> bool:
        file, places = sighting.file, sighting.places
        if viewer == file.owner and not places:
            thread_id = file.thread_id
            return thread_id is None or await self._store.sees_thread(viewer, thread_id)
        return await self._sees_any(viewer, file.thread_id or NO_THREAD, places or [NO_MESSAGE])

    async def _sees_any(self, viewer: str, thread_id: str, places: Sequence[str]) -> bool:
        for place in places:
            sees = self._places.get(place[:4])
            if sees is not None and await sees(viewer, thread_id, place):
                return True
        return False

    async def _sees_message(self, viewer: str, thread_id: str, message_id: str) -> bool:
        message = await self._threads.message(viewer, thread_id, message_id)
        return message is not None and message.deleted_at_ms is None

    async def show(self, viewer: str, sighting: Sighting) -> FileView:
        """As this viewer may see it now, who has access to it."""
        views = await self._views(viewer, [_looked_at(sighting)])
        return views[sighting.file.id]

    async def show_own(self, owner: str, file_id: str) -> FileView:
        """As its owner may see it now, who has access to it."""
        sighting = await self._store.sight(owner, file_id)
        if sighting is None:
            raise NotFound
        return await self.show(owner, sighting)

    async def reveal(self, viewer: str, file_id: str) -> FileView:
        """Show a blurred file to this viewer from now on."""
        sighting = await self.access(viewer, file_id)
        if sighting.file.state != "ready":
            raise ActionInvalidState("There is nothing to show yet, or no longer.")
        view = await self.show(viewer, sighting)
        if view.visibility == "hidden":
            raise SafeModeBlocked
        if view.visibility == "clear":
            return view
        await self._store.reveal(file_id, viewer)
        return await self.show(viewer, replace(sighting, is_revealed=True))

    async def list_thread(
        self, viewer: str, thread_id: str, media: Media | None, *, before: str | None, limit: int
    ) -> tuple[list[FileView], str | None]:
        """A page of the thread's files that this viewer sees, newest first, and where the next page
        begins."""
        if not 1 <= limit <= self._limits.page:
            raise InvalidRequest(f"limit takes 1–{self._limits.page}")
        if not await self._store.sees_thread(viewer, thread_id):
            raise ThreadNotFound
        found = await self._store.list_thread(
            viewer, thread_id, media, before=before, limit=limit + 1
        )
        page = found[:limit]
        seen = [each for each in page if await self._sees(viewer, each)]
        views = await self._views(viewer, list(map(_looked_at, seen)))
        next_page = page[-1].file.id if len(found) > limit else None
        return [views[each.file.id] for each in seen], next_page

    async def access_rendition(
        self, viewer: str, file_id: str, name: str
    ) -> tuple[File, Rendition]:
        """A rendition that this viewer may fetch now. Raises NotFound."""
        sighting = await self.access(viewer, file_id)
        file = sighting.file
        rendition = file.find_rendition(name)
        if rendition is None:
            raise NotFound
        view = await self.show(viewer, sighting)
        if rendition not in renditions_for(file, view.visibility):
            raise NotFound
        return file, rendition


def _looked_at(sighting: Sighting) -> LookedAt:
    return LookedAt(sighting.file, None, sighting.is_revealed, is_known=True)


def _is_of(viewer: str | None, file: File, use: FileUse) -> bool:
    """A file is shown in its own thread only, and without a thread to its owner only."""
    if use.thread_id is None:
        return viewer == file.owner
    return file.thread_id == use.thread_id
