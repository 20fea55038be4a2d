"""Waiting sends on disk. One file belongs to one client of one person at a time."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

VERSION = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """One send as the application asked for it. `client_id` stays through all attempts."""

    client_id: str
    thread_id: str
    body: str
    reply_to: str | None = None
    attachments: tuple[str, ...] = ()
    """Ids of uploaded files."""


class QueueFile:
    """Always whole: a new version is on disk before it takes the old one's place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = path.with_name(path.name + ".next")

    def load(self) -> list[Draft]:
        """Raises ValueError for a file that is none of ours, rather than lose what is in it."""
        try:
            document = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return []
        except ValueError:
            document = None
        if not isinstance(document, dict) or document.get("version") != VERSION:
            raise ValueError(f"{self._path} is no queue of this version")
        return [_draft_from(each) for each in document["sends"]]

    def save(self, drafts: Sequence[Draft]) -> None:
        text = json.dumps({"version": VERSION, "sends": [_json_of(each) for each in drafts]})
        descriptor = os.open(self._next, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._next.replace(self._path)
        _sync_folder(self._path.parent)


def _json_of(draft: Draft) -> dict[str, Any]:
    """Without files as an earlier version wrote it, so that this one can read it."""
    fields = asdict(draft)
    if not draft.attachments:
        del fields["attachments"]
    return fields


def _draft_from(fields: dict[str, Any]) -> Draft:
    return Draft(**{**fields, "attachments": tuple(fields.get("attachments", ()))})


class NoQueueFile:
    """For a client that keeps its queue in memory alone."""

    def load(self) -> list[Draft]:
        return []

    def save(self, drafts: Iterable[Draft]) -> None:
        pass


def _sync_folder(folder: Path) -> None:
    """The new name is on disk too. Windows has no way to say so, and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
