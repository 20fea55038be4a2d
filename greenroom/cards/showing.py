"""Cards with their files, as each viewer may see them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from greenroom.cards.catalogue.schemas import files_in
from greenroom.cards.model import Card, Json
from greenroom.cards.wire import CardRenderer
from greenroom.conversations.attachments import FileUse, FileView
from greenroom.conversations.wire import CardView


class LooksAtFiles(Protocol):
    async def look(self, viewer: str | None, uses: Iterable[FileUse]) -> Mapping[str, FileView]:
        """As `Attachments.look`."""
        ...


class CardShowing:
    def __init__(self, renderer: CardRenderer, files: LooksAtFiles) -> None:
        self._renderer = renderer
        self._files = files

    async def show(self, cards: Sequence[Card], viewer: str | None) -> list[CardView]:
        uses = [
            FileUse(file_id, card.thread_id, card.id)
            for card in cards
            for file_id in card.totals.get("files", ())
        ]
        files = await self._files.look(viewer, uses) if uses else {}
        return [self._show(card, viewer, files) for card in cards]

    def _show(self, card: Card, viewer: str | None, files: Mapping[str, FileView]) -> CardView:
        view = self._renderer.render_card(card, viewer)
        ids = card.totals.get("files")
        if ids is None:
            return view
        return replace(view, files=[files[each] for each in ids if each in files])

    async def add_files(self, shown: Mapping[str, Any], viewer: str) -> None:
        """Fill in `files` of the card in an answer, which is stored without them: their addresses
        expire."""
        card: Json = shown["card"]
        card_type = self._renderer.types.get(card["type"])
        if card_type is None:
            return
        ids = [each.file_id for each in files_in(card_type.payload.document, card["payload"])]
        if not ids:
            return
        uses = [FileUse(file_id, card["thread_id"], card["id"]) for file_id in ids]
        files = await self._files.look(viewer, uses)
        views = [msgspec.to_builtins(files[each]) for each in ids if each in files]
        card["files"] = views
        if "message" in shown:
            shown["message"]["card"]["files"] = views
