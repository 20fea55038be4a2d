"""The files tab: proofs, finals, and what was sent with messages."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from asyncpg import Record

from greenroom.bookings.documents.manifests import Manifest, manifests_of
from greenroom.bookings.rest.wire import manifest_view
from greenroom.bookings.transactions import ContractSnapshot
from greenroom.cards.model import Card
from greenroom.cards.rows import read_card
from greenroom.cards.showing import LooksAtFiles
from greenroom.cards.sql import CARDS_OF_TYPE
from greenroom.conversations.attachments import FileUse, FileView
from greenroom.conversations.model import Media
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.wire import (
    AttachmentsView,
    DeliveryView,
    FilesData,
    FinalsView,
    ProofsView,
)

PROOFS_SHOWN = 20
FINALS_SHOWN = 20
ATTACHMENTS_SHOWN = 30


class ThreadFiles(LooksAtFiles, Protocol):
    """The room `files`, as the panel needs it."""

    async def list_thread(
        self, viewer: str, thread_id: str, media: Media | None, *, before: str | None, limit: int
    ) -> tuple[list[FileView], str | None]:
        """A page of the files that were sent with messages and that this viewer sees, newest first,
        and where the next page begins."""
        ...


class Shown(NamedTuple):
    """What the thread shows, as of one moment."""

    proofs: Sequence[Card]
    manifests: Sequence[Manifest]
    deliveries: Sequence[Record]


async def shown_in(snapshot: ContractSnapshot, thread_id: str) -> Shown:
    rows = await snapshot.conn.fetch(CARDS_OF_TYPE, thread_id, "proofs", PROOFS_SHOWN)
    manifests = await manifests_of(snapshot, thread_id, "", FINALS_SHOWN)
    ids = [each.manifest_id for each in manifests]
    deliveries = await snapshot.conn.fetch(sql.DELIVERIES, thread_id, ids)
    return Shown([read_card(row) for row in rows], manifests, deliveries)


async def files_of(files: ThreadFiles, viewer: str, thread_id: str, shown: Shown) -> FilesData:
    """Each file as this viewer may see it now."""
    uses = [
        FileUse(file_id, thread_id, card.id)
        for card in shown.proofs
        for file_id in card.totals.get("files", ())
    ]
    views = await files.look(viewer, uses)
    sent, next_cursor = await files.list_thread(
        viewer, thread_id, None, before=None, limit=ATTACHMENTS_SHOWN
    )
    return FilesData(
        proofs=[
            _proofs(card, [views[each] for each in card.totals.get("files", ())])
            for card in shown.proofs
        ],
        finals=[_finals(each, shown.deliveries) for each in shown.manifests],
        attachments=AttachmentsView(sent, next_cursor),
    )


def _proofs(card: Card, files: list[FileView]) -> ProofsView:
    return ProofsView(
        card_id=card.id,
        message_id=card.message_id,
        state=card.state,
        round=card.totals.get("round", 1),
        leg_id=card.leg_id,
        created_by=card.created_by,
        created_at=rfc3339(card.created_at_ms),
        updated_at=rfc3339(card.updated_at_ms),
        expires_at=None if card.expires_at_ms is None else rfc3339(card.expires_at_ms),
        files=files,
        selections=card.totals.get("selections", []),
    )


def _finals(manifest: Manifest, deliveries: Sequence[Record]) -> FinalsView:
    return FinalsView(
        manifest=manifest_view(manifest),
        cards=[
            DeliveryView(row["card_id"], row["message_id"], row["state"])
            for row in deliveries
            if row["manifest_id"] == manifest.manifest_id
        ],
    )
