"""The port to the screening of texts: names of files and QR codes in pictures count as text."""

from collections.abc import Sequence
from typing import Protocol

from greenroom.files.model import File


class Screening(Protocol):
    async def screen(self, file: File, texts: Sequence[str]) -> None:
        """Look at the texts of a file before anybody sees it: its name first, then its QR codes.
        Called again when processing is repeated. What raises here fails the task, which is tried
        again."""
        ...


class NoScreening:
    """For a server without screening."""

    async def screen(self, file: File, texts: Sequence[str]) -> None:
        pass
