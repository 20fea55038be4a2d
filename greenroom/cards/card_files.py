"""The port to the room `files`, and which files a card takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from greenroom.files.model import USABLE, File, Purpose
from greenroom.kernel.errors import CardInvalid, UploadQuarantined
from greenroom.platform.postgres.pool import Session

NO_SUCH_FILE = "There is no such file of yours in this thread."


class NamedFile(NamedTuple):
    """A file that a payload or an input names, and the purpose that it must have."""

    file_id: str
    purpose: Purpose


class CardFiles(Protocol):
    async def use(
        self, conn: Session, file_ids: Sequence[str], place: str, at_ms: int
    ) -> Mapping[str, File]:
        """Note in the caller's transaction that these files are shown by the card `place`, and
        return those that exist, by id. They do not change until the transaction ends. Repeating
        it is no error."""
        ...


class NoCardFiles:
    """For a server without files."""

    async def use(self, *_: object) -> Mapping[str, File]:
        return {}


@dataclass(frozen=True, slots=True)
class FileUser:
    """The card that is to show files, and who puts them there."""

    card_id: str
    thread_id: str
    owner: str
    at_ms: int


async def use_files(
    files: CardFiles, conn: Session, user: FileUser, named: Sequence[NamedFile]
) -> Mapping[str, File]:
    """Take files into use by a card. One that is still being processed is taken.

    Raises CardInvalid unless each is a completed upload of the owner's for this thread and of its
    purpose, and UploadQuarantined for one that was refused or quarantined."""
    ids = sorted({each.file_id for each in named})
    found = await files.use(conn, ids, user.card_id, user.at_ms)
    for file_id, purpose in named:
        file = found.get(file_id)
        is_own = file is not None and (file.owner, file.thread_id) == (user.owner, user.thread_id)
        if file is None or not is_own or file.state in ("uploading", "expired"):
            raise CardInvalid(NO_SUCH_FILE)
        if file.purpose != purpose:
            raise CardInvalid(f"{file.name} was uploaded as {file.purpose}, not as {purpose}.")
        if file.state not in USABLE:
            raise UploadQuarantined(f"{file.name} is {file.state}.")
    return found
