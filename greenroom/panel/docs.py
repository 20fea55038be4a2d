"""The docs tab: what is to be signed, by whom, and where that is asked."""

from collections import defaultdict

from asyncpg import Pool, Record

from greenroom.bookings.wire import SignerView
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.wire import DocsTab, DocumentRowView

DOCUMENTS_SHOWN = 100
WAITING = ("pending", "partly_signed")


async def docs_of(pool: Pool, group_id: str | None, leg_id: str | None, thread_id: str) -> DocsTab:
    legs = await pool.fetch(sql.LEGS, group_id, leg_id)
    if not legs:
        return DocsTab([])
    ids = [leg["leg_id"] for leg in legs]
    rows = await pool.fetch(sql.DOCUMENTS, legs[0]["group_id"], thread_id, DOCUMENTS_SHOWN, ids)
    signers: defaultdict[str, list[Record]] = defaultdict(list)
    for row in await pool.fetch(sql.SIGNERS, [row["document_id"] for row in rows]):
        signers[row["document_id"]].append(row)
    return DocsTab([_document(row, signers[row["document_id"]]) for row in rows])


def _document(row: Record, signers: list[Record]) -> DocumentRowView:
    return DocumentRowView(
        id=row["document_id"],
        leg_id=row["leg_id"],
        title=row["title"],
        url=row["url"],
        bytes=row["bytes"],
        sha256=row["sha256"],
        state=row["state"],
        signers=[
            SignerView(
                signer["user_id"],
                signer["state"],
                None if signer["at"] is None else rfc3339(signer["at"]),
            )
            for signer in signers
        ],
        card_id=row["card_id"],
        can_ask=row["card_id"] is None and row["state"] in WAITING,
        created_at=rfc3339(row["created_at"]),
    )
