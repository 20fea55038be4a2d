"""What people, operators and other rooms can do with files: one method per use case.

`uploads` has what happens until a file is complete, `viewing` who sees what of it.
"""

from collections.abc import Iterable, Mapping, Sequence

from greenroom.conversations.attachments import (
    FileUse,
    FileView,
    UnboundUpload,
)
from greenroom.conversations.model import AttachmentRef
from greenroom.files.model import USABLE, File, clean_alt
from greenroom.files.removal import Removal
from greenroom.files.store import Act, FileStore, OperatorAct
from greenroom.files.sweeping import Holds
from greenroom.files.uploads import UploadRequest, Uploads
from greenroom.files.viewing import Viewing
from greenroom.kernel.errors import (
    ActionInvalidState,
    InvalidRequest,
    NotFound,
    UploadQuarantined,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Caller
from greenroom.platform.idempotency import Kept, Once

OPERATORS = frozenset({"trust", "admin"})
REASON_CHARACTERS = 500


class Files:
    """Implements `Attachments` for conversations."""

    def __init__(
        self,
        store: FileStore,
        uploads: Uploads,
        viewing: Viewing,
        removal: Removal,
        holds: Holds,
        *,
        public_url: str,
        limits: Limits,
    ) -> None:
        self.uploads = uploads
        self.viewing = viewing
        self._store = store
        self._removal = removal
        self._holds = holds
        self._public_url = public_url.rstrip("/")
        self._limits = limits

    async def check(
        self, author: str, thread_id: str, file_ids: Sequence[str]
    ) -> tuple[AttachmentRef, ...]:
        """See `Attachments.check`."""
        if len(file_ids) > self._limits.attachments:
            raise InvalidRequest(f"A message has at most {self._limits.attachments} files.")
        if len(set(file_ids)) != len(file_ids):
            raise InvalidRequest("A file is named twice.")
        found = await self._store.find_many(file_ids)
        refs = []
        for file_id in file_ids:
            file = found.get(file_id)
            if file is None or file.thread_id != thread_id:
                raise NotFound("There is no such file of yours in this thread.")
            refs.append(await self._checked(author, file))
        return tuple(refs)

    async def _checked(self, author: str, file: File) -> AttachmentRef:
        if file.owner != author or file.state == "uploading":
            raise NotFound("There is no such completed upload of yours.")
        # A message that was sent can be repeated, whatever has become of its files since.
        if file.state not in USABLE and not await self._store.places(file.id):
            raise UploadQuarantined(f"{file.name} is {file.state}.", extra={"file_id": file.id})
        return AttachmentRef(file.id, file.media)

    async def look(self, viewer: str | None, uses: Iterable[FileUse]) -> Mapping[str, FileView]:
        """See `Attachments.look`."""
        return await self.viewing.look(viewer, uses)

    async def begin_unbound(
        self, owner: str, *, name: str, mime: str, byte_count: int
    ) -> UnboundUpload:
        """See `Attachments.begin_unbound`."""
        added = await self.uploads.begin(owner, UploadRequest(None, name, mime, byte_count))
        if isinstance(added, Kept):
            raise AssertionError("There is no key under which it could have been kept.")
        signed, expires_ms = self.uploads.sign(added)
        file_url = f"{self._public_url}/v1/files/{added.id}"
        return UnboundUpload(signed.method, signed.url, signed.headers, file_url, expires_ms)

    async def complete_and_check(self, author: str, thread_id: str, file_id: str) -> AttachmentRef:
        """See `Attachments.complete_and_check`."""
        try:
            file = await self.uploads.complete(author, file_id)
        except ActionInvalidState as problem:
            raise NotFound(problem.detail, hint=problem.hint) from problem
        if file.thread_id not in (None, thread_id):
            raise NotFound("This file is in another thread.")
        return await self._checked(author, file)

    async def set_alt(self, owner: str, file_id: str, alt: str | None) -> FileView:
        cleaned = clean_alt(alt, self._limits.alt_characters)
        await self.uploads.access(owner, file_id)
        file = await self._store.set_alt(file_id, cleaned)
        if file is None:
            raise NotFound
        return await self.viewing.show_own(owner, file.id)

    async def operate(
        self, caller: Caller, file_id: str, act: Act, reason: str, once: Once | None = None
    ) -> File | Kept:
        """Release or delete a file, for operators of trust and safety."""
        role = check_operator(caller)
        text = " ".join(reason.split())
        if not 1 <= len(text) <= REASON_CHARACTERS:
            raise InvalidRequest(f"reason takes 1 to {REASON_CHARACTERS} characters")
        await self._check_hold(file_id, act)
        done = await self._store.operate(
            file_id, OperatorAct(caller.user_id or "", role, act, text), once
        )
        if act == "delete" and isinstance(done, File):
            await self._removal.delete_blobs(done)
            await self._removal.tell(done)
        return done

    async def _check_hold(self, file_id: str, act: Act) -> None:
        file = await self._store.find(file_id) if act == "delete" else None
        thread_id = None if file is None else file.thread_id
        if thread_id is not None and await self._holds.held([thread_id]):
            raise ActionInvalidState("This file's thread is on legal hold.")

    async def list_quarantined(
        self, caller: Caller, *, after: str | None
    ) -> tuple[tuple[File, ...], str | None]:
        check_operator(caller)
        limit = self._limits.page
        found = await self._store.list_state("quarantined", after=after, limit=limit + 1)
        page = found[:limit]
        return page, page[-1].id if len(found) > limit else None


def check_operator(caller: Caller) -> str:
    """The role of an operator who may decide on files. For others this does not exist."""
    role = caller.operator_role
    if role not in OPERATORS or role is None:
        raise NotFound
    return role
