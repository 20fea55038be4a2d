"""Finds bookings, payments, refunds, amendments, documents and manifests by their ids, in bulk.

For the server itself: nothing is checked. What does not exist is not in the answer.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from asyncpg import Record

from greenroom.bookings import sql
from greenroom.bookings.documents.actions import Document, read_document
from greenroom.bookings.documents.manifests import Manifest, read_manifest
from greenroom.bookings.model import Group, Payment
from greenroom.platform.postgres.pool import Session

GROUPS = f"select {sql.GROUP_COLUMNS} from booking_group where group_id = any($1::text[])"  # noqa: S608
LEGS = f"select {sql.LEG_COLUMNS} from leg where group_id = any($1::text[])"  # noqa: S608
PAYMENTS = f"select {sql.PAYMENT_COLUMNS} from payment where payment_id = any($1::text[])"  # noqa: S608
REFUNDS = """
select refund_id, group_id, leg_id, card_id, amount_cents, currency, state, created_at, updated_at
from refund where refund_id = any($1::text[])
"""
AMENDMENTS = """
select amendment_id, group_id, leg_id, card_id, kind, title, amount_cents, currency, state,
    created_at, updated_at
from amendment where amendment_id = any($1::text[])
"""
DOCUMENTS = """
select document_id, group_id, leg_id, title, url, bytes, sha256, state, created_at, updated_at
from document where document_id = any($1::text[])
"""
SIGNERS = """
select document_id, user_id, state, sha256, at from document_signer
where document_id = any($1::text[]) order by document_id, place
"""
MANIFESTS = """
select manifest_id, thread_id, group_id, leg_id, created_by, items, sha256, created_at
from manifest where manifest_id = any($1::text[])
"""


@dataclass(frozen=True, slots=True)
class Refund:
    refund_id: str
    group_id: str
    leg_id: str
    card_id: str | None
    amount_cents: int
    currency: str
    state: str
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class AmendmentFound:
    amendment_id: str
    group_id: str
    leg_id: str
    card_id: str
    kind: str
    title: str
    amount_cents: int
    currency: str
    state: str
    created_at_ms: int
    updated_at_ms: int


async def find_groups(conn: Session, group_ids: Sequence[str]) -> dict[str, Group]:
    if not group_ids:
        return {}
    legs: dict[str, list[Record]] = defaultdict(list)
    for leg in await conn.fetch(LEGS, group_ids):
        legs[leg["group_id"]].append(leg)
    rows = await conn.fetch(GROUPS, group_ids)
    return {row["group_id"]: sql.read_group(row, legs[row["group_id"]]) for row in rows}


async def find_payments(conn: Session, payment_ids: Sequence[str]) -> dict[str, Payment]:
    rows = await conn.fetch(PAYMENTS, payment_ids) if payment_ids else []
    return {row["payment_id"]: sql.read_payment(row) for row in rows}


async def find_refunds(conn: Session, refund_ids: Sequence[str]) -> dict[str, Refund]:
    rows = await conn.fetch(REFUNDS, refund_ids) if refund_ids else []
    return {row["refund_id"]: Refund(*row.values()) for row in rows}


async def find_amendments(conn: Session, amendment_ids: Sequence[str]) -> dict[str, AmendmentFound]:
    rows = await conn.fetch(AMENDMENTS, amendment_ids) if amendment_ids else []
    return {row["amendment_id"]: AmendmentFound(*row.values()) for row in rows}


async def find_documents(conn: Session, document_ids: Sequence[str]) -> dict[str, Document]:
    if not document_ids:
        return {}
    signed = await conn.fetch(SIGNERS, document_ids)
    signers = {
        document_id: [tuple(row.values())[1:] for row in rows]
        for document_id, rows in groupby(signed, lambda row: row["document_id"])
    }
    rows = await conn.fetch(DOCUMENTS, document_ids)
    return {
        row["document_id"]: read_document(row, signers.get(row["document_id"], [])) for row in rows
    }


async def find_manifests(conn: Session, manifest_ids: Sequence[str]) -> dict[str, Manifest]:
    rows = await conn.fetch(MANIFESTS, manifest_ids) if manifest_ids else []
    return {row["manifest_id"]: read_manifest(row) for row in rows}
