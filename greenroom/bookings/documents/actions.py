"""Documents to sign: their hashes, and who has signed. The files are stored elsewhere."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from asyncpg import Record

from greenroom.bookings.documents.web_addresses import check_public_address
from greenroom.bookings.legs import lock_group, thread_of
from greenroom.bookings.model import Group
from greenroom.bookings.proposals import check_title
from greenroom.bookings.transactions import (
    ContractTransaction,
    ContractTransactions,
    HistoryEntry,
    NewEvent,
)
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    InvalidRequest,
    NotFound,
    ThreadNotFound,
)
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import Session

MOST_SIGNERS = 20
MOST_BYTES = 10**12

DocumentState = Literal["pending", "partly_signed", "signed", "declined", "expired"]
SignerState = Literal["pending", "signed", "declined"]

_SHA256 = re.compile(r"[0-9a-f]{64}")

INSERT_DOCUMENT = """
with document as (
    insert into document (document_id, group_id, leg_id, title, url, bytes, sha256, created_at,
                          updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
)
insert into document_signer (document_id, user_id, place)
select $1, s.user_id, s.place - 1 from unnest($9::text[]) with ordinality as s (user_id, place)
"""
DOCUMENT = """
select document_id, group_id, leg_id, title, url, bytes, sha256, state, created_at, updated_at
from document where document_id = $1
"""
LOCK_DOCUMENT = f"{DOCUMENT} for update"
SIGNERS = """
select user_id, state, sha256, at from document_signer where document_id = $1 order by place
"""
# Only for its signers, the parties of its booking, and the backend (null). One query for both
# checks, so that a stranger cannot tell a document of others from one that does not exist.
DOCUMENT_FOR = f"""
{DOCUMENT} and ($2::text is null
    or exists (select from document_signer s
               where s.document_id = document.document_id and s.user_id = $2)
    or exists (select from booking_group g where g.group_id = document.group_id and g.buyer = $2)
    or exists (select from leg l where l.group_id = document.group_id and l.seller = $2))
"""  # noqa: S608 (made of constants)
KEEP_DOCUMENT = "update document set state = $2, updated_at = $3 where document_id = $1"
KEEP_SIGNER = """
update document_signer set state = $3, sha256 = $4, at = $5
where document_id = $1 and user_id = $2
"""


@dataclass(frozen=True, slots=True)
class Signer:
    user_id: str
    state: SignerState = "pending"
    sha256: str | None = None
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    document_id: str
    group_id: str
    leg_id: str | None
    title: str
    url: str | None
    bytes: int | None
    sha256: str
    state: DocumentState
    signers: tuple[Signer, ...]
    created_at_ms: int
    updated_at_ms: int

    @property
    def version(self) -> int:
        """Counts the transitions: creation, each signature or refusal, and expiry."""
        decided = sum(signer.state != "pending" for signer in self.signers)
        return 1 + decided + (self.state == "expired")

    @property
    def is_open(self) -> bool:
        return self.state in ("pending", "partly_signed")


@dataclass(frozen=True, slots=True)
class NewDocument:
    title: str
    sha256: str
    signers: Sequence[str]
    leg_id: str | None = None
    url: str | None = None
    bytes: int | None = None


class Documents:
    def __init__(self, transactions: ContractTransactions) -> None:
        self._transactions = transactions

    async def add(
        self, group_id: str, new: NewDocument, once: Once | None = None
    ) -> Document | Kept:
        new = _check(new)

        async def work(tx: ContractTransaction) -> Document:
            thread_id = await thread_of(tx, group_id)
            if thread_id is not None:
                with suppress(ThreadNotFound):
                    await tx.access(thread_id, None)
            return await _insert(tx, await lock_group(tx, group_id), new)

        return await self._transactions.run(work, once)

    async def access(self, viewer: str | None, document_id: str) -> Document:
        """For its signers, the parties of its booking, and the backend (None). Raises NotFound."""
        async with self._transactions.snapshot() as snapshot:
            row = await snapshot.conn.fetchrow(DOCUMENT_FOR, document_id, viewer)
            if row is None:
                raise NotFound
            return read_document(row, _signers(await snapshot.conn.fetch(SIGNERS, document_id)))


def _check(new: NewDocument) -> NewDocument:
    if new.bytes is not None and not 0 <= new.bytes <= MOST_BYTES:
        raise InvalidRequest(f"bytes takes 0 to {MOST_BYTES}")
    if not 1 <= len(new.signers) <= MOST_SIGNERS or len(set(new.signers)) < len(new.signers):
        raise InvalidRequest(f"signers takes 1 to {MOST_SIGNERS} people, each once")
    url = None if new.url is None else check_public_address("url", new.url)
    return replace(new, title=check_title(new.title), sha256=check_sha256(new.sha256), url=url)


def check_sha256(text: str) -> str:
    digest = text.lower()
    if _SHA256.fullmatch(digest) is None:
        raise InvalidRequest("sha256 takes 64 hexadecimal digits")
    return digest


async def _insert(tx: ContractTransaction, group: Group, new: NewDocument) -> Document:
    if new.leg_id is not None and all(leg.leg_id != new.leg_id for leg in group.legs):
        raise NotFound("The booking has no such leg.")
    outsiders = set(new.signers) - group.parties
    if outsiders:
        raise InvalidRequest(f"{min(outsiders)} has no part in the booking")
    document = Document(
        tx.new_id("doc"),
        group.group_id,
        new.leg_id,
        new.title,
        new.url,
        new.bytes,
        new.sha256,
        "pending",
        tuple(Signer(user_id) for user_id in new.signers),
        tx.now_ms,
        tx.now_ms,
    )
    await tx.conn.execute(
        INSERT_DOCUMENT,
        document.document_id,
        document.group_id,
        document.leg_id,
        document.title,
        document.url,
        document.bytes,
        document.sha256,
        tx.now_ms,
        new.signers,
    )
    _record(tx, document, None, actor=None, role="backend", act="create")
    _emit(tx, document, "docs.pack.create", group.thread_id)
    return document


async def lock_document(tx: ContractTransaction, document_id: str) -> Document:
    return await _load(tx.conn, LOCK_DOCUMENT, document_id)


async def _load(conn: Session, statement: str, document_id: str) -> Document:
    row = await conn.fetchrow(statement, document_id)
    if row is None:
        raise NotFound
    return read_document(row, _signers(await conn.fetch(SIGNERS, document_id)))


def _signers(rows: list[Record]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows]


def read_document(row: Record, signers: Sequence[tuple[Any, ...]]) -> Document:
    """`signers` are rows of user, state, hash and time, in order."""
    return Document(
        row["document_id"],
        row["group_id"],
        row["leg_id"],
        row["title"],
        row["url"],
        row["bytes"],
        row["sha256"],
        row["state"],
        tuple(Signer(*signer) for signer in signers),
        row["created_at"],
        row["updated_at"],
    )


async def sign_document(
    tx: ContractTransaction, document_id: str, user_id: str, sha256: str
) -> Document:
    """`sha256` is the hash of the file that the signer saw. Raises ActionConflict if it is not the
    hash of this document."""
    document = await _lock_waiting(tx, document_id, user_id)
    if sha256.lower() != document.sha256:
        raise ActionConflict("The document that was signed is not the one that is here.")
    signed = _with_signer(document, Signer(user_id, "signed", document.sha256, tx.now_ms))
    is_last = all(signer.state == "signed" for signer in signed.signers)
    state: DocumentState = "signed" if is_last else "partly_signed"
    return await _keep(tx, document, replace(signed, state=state), user_id, "sign")


async def decline_document(tx: ContractTransaction, document_id: str, user_id: str) -> Document:
    document = await _lock_waiting(tx, document_id, user_id)
    declined = _with_signer(document, Signer(user_id, "declined", None, tx.now_ms))
    return await _keep(tx, document, replace(declined, state="declined"), user_id, "decline")


async def expire_document(tx: ContractTransaction, document_id: str) -> Document:
    """Expire a document. One that is already signed or declined stays as it is."""
    document = await lock_document(tx, document_id)
    if not document.is_open:
        return document
    return await _keep(tx, document, replace(document, state="expired"), None, "expire")


async def _lock_waiting(tx: ContractTransaction, document_id: str, user_id: str) -> Document:
    document = await lock_document(tx, document_id)
    waits = any(s.user_id == user_id and s.state == "pending" for s in document.signers)
    if not (document.is_open and waits):
        raise ActionInvalidState("This document does not wait for your signature.")
    return document


def _with_signer(document: Document, decided: Signer) -> Document:
    signers = tuple(
        decided if signer.user_id == decided.user_id else signer for signer in document.signers
    )
    return replace(document, signers=signers)


async def _keep(
    tx: ContractTransaction, before: Document, after: Document, user_id: str | None, act: str
) -> Document:
    after = replace(after, updated_at_ms=tx.now_ms)
    await tx.conn.execute(KEEP_DOCUMENT, after.document_id, after.state, tx.now_ms)
    for signer in after.signers:
        if signer.user_id == user_id:
            await tx.conn.execute(
                KEEP_SIGNER,
                after.document_id,
                user_id,
                signer.state,
                signer.sha256,
                signer.at_ms,
            )
    role = "timer" if user_id is None else "signer"
    _record(tx, after, before.state, actor=user_id, role=role, act=act)
    _emit(tx, after, f"docs.pack.{after.state}", None)
    return after


def _record(
    tx: ContractTransaction,
    document: Document,
    from_state: str | None,
    *,
    actor: str | None,
    role: str,
    act: str,
) -> None:
    tx.record(
        HistoryEntry(
            subject=document.document_id,
            version=document.version,
            chain=document.group_id,
            actor=actor,
            role=role,
            act=act,
            from_state=from_state,
            to_state=document.state,
            after=asdict(document),
        )
    )


def _emit(tx: ContractTransaction, document: Document, event: str, thread_id: str | None) -> None:
    tx.emit(
        NewEvent(
            event,
            thread_id=thread_id,
            group_id=document.group_id,
            leg_id=document.leg_id,
            data={"document_id": document.document_id},
        )
    )
