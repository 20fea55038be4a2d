"""Views of files that were made for a viewer lately, to be shown to them again.

The addresses in them are the same for some minutes, and making them is most of the work. What the
viewer may see is decided before each look into here.
"""

from collections import OrderedDict

from greenroom.conversations.attachments import FileView
from greenroom.files.model import File, Visibility


class MadeViews:
    """Keeps at most `most` views, those that were shown last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[tuple[str, str | None], tuple[File, Visibility, int, FileView]] = (
            OrderedDict()
        )

    def find(
        self, viewer: str | None, file: File, visibility: Visibility, until_ms: int
    ) -> FileView | None:
        """The view of this very value: one that was read again may differ."""
        made = self._made.get((file.id, viewer))
        if made is None or made[0] is not file or made[1:3] != (visibility, until_ms):
            return None
        self._made.move_to_end((file.id, viewer))
        return made[3]

    def keep(
        self,
        viewer: str | None,
        file: File,
        visibility: Visibility,
        until_ms: int,
        view: FileView,
    ) -> None:
        self._made[file.id, viewer] = (file, visibility, until_ms, view)
        self._made.move_to_end((file.id, viewer))
        if len(self._made) > self._most:
            self._made.popitem(last=False)
