"""The docs tab: documents, their signers, and the `sign` card that asks for signatures."""

from collections import defaultdict

from asyncpg import Record

from greenroom.bookings.reading import booking_of_thread
from greenroom.bookings.rest.wire import SignerView
from greenroom.bookings.transactions import ContractSnapshot
from greenroom.conversations.thread_updates import ThreadFacts
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.wire import Docs, DocumentRowView

DOCUMENTS_SHOWN = 100
WAITING = ("pending", "partly_signed")


async def docs_of(snapshot: ContractSnapshot, thread: ThreadFacts) -> Docs:
    booking = await booking_of_thread(snapshot, thread.group_id, thread.leg_id)
    if booking is None:
        return Docs([])
    ids = [leg.leg_id for leg in booking.group.legs]
    asked = booking.group.group_id, thread.id, DOCUMENTS_SHOWN, ids
    rows = await snapshot.conn.fetch(sql.DOCUMENTS, *asked)
    signers: defaultdict[str, list[Record]] = defaultdict(list)
    for row in await snapshot.conn.fetch(sql.SIGNERS, [row["document_id"] for row in rows]):
        signers[row["document_id"]].append(row)
    return Docs([_document(row, signers[row["document_id"]]) for row in rows])


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
