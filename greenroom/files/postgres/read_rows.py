"""Files that this process has read, each with the version of its row.

Whether a row still has that version is asked for with every page, so a file that has changed, was
quarantined or is gone is never taken from here.
"""

from collections import OrderedDict

from greenroom.conversations.attachments import FileUse
from greenroom.files.model import File
from greenroom.files.store import LookedAt


class ReadRows:
    """Keeps at most `most` files, those that were looked at last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[str, File]] = OrderedDict()

    def find(self, use: FileUse) -> LookedAt | None:
        """The file, if it stands as the stamp of this use says. `file_stamps` writes them."""
        kept = self._kept.get(use.file_id)
        if kept is None or use.stamp is None:
            return None
        version, file = kept
        _, now, is_known, is_revealed = use.stamp.split(":")
        if now != version:
            return None
        self._kept.move_to_end(use.file_id)
        return LookedAt(file, use.message_id, is_revealed == "t", is_known == "t")

    def keep(self, file: File, version: str) -> None:
        """Others than ready ones change soon."""
        if file.state == "ready":
            self._kept[file.id] = (version, file)
            self._kept.move_to_end(file.id)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
