"""Manifests: immutable lists of delivered files. The files themselves are stored elsewhere."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec
from asyncpg import Record

from greenroom.bookings.documents.actions import check_sha256
from greenroom.bookings.documents.web_addresses import check_public_address
from greenroom.bookings.transactions import (
    ContractSnapshot,
    ContractTransaction,
    ContractTransactions,
    HistoryEntry,
    NewEvent,
    canonical,
)
from greenroom.conversations.model import Role, normalise_label
from greenroom.conversations.thread_updates import NO_THREAD, ThreadFacts
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    InvalidRequest,
    NotFound,
    ThreadNotFound,
)
from greenroom.platform.idempotency import Kept, Once

MOST_ITEMS = 500
MOST_BYTES = 10**15
NAME_CHARACTERS = 255

INSERT_MANIFEST = """
insert into manifest (manifest_id, thread_id, group_id, leg_id, created_by, items, sha256,
                      created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_COLUMNS = "manifest_id, thread_id, group_id, leg_id, created_by, items, sha256, created_at"
MANIFEST = f"select {_COLUMNS} from manifest where manifest_id = $1"  # noqa: S608
# Ids grow with time, so the newest are first.
MANIFESTS_OF_THREAD = f"""
select {_COLUMNS} from manifest where thread_id = $1 and ($2 = '' or manifest_id < $2)
order by manifest_id desc limit $3
"""  # noqa: S608
LEGS_OF_THREAD = """
select l.leg_id, l.group_id, g.followed_by is null as is_current
from booking_group g join leg l using (group_id)
where g.thread_id = $1 and g.state <> 'cancelled' order by l.group_id, l.place
"""


@dataclass(frozen=True, slots=True)
class Item:
    name: str
    bytes: int
    sha256: str
    url: str


@dataclass(frozen=True, slots=True)
class Manifest:
    manifest_id: str
    thread_id: str
    group_id: str | None
    leg_id: str | None
    created_by: str
    items: tuple[Item, ...]
    sha256: str
    created_at_ms: int


class Manifests:
    def __init__(self, transactions: ContractTransactions) -> None:
        self._transactions = transactions

    async def add(
        self,
        creator: str,
        thread_id: str,
        items: Sequence[Item],
        leg_id: str | None = None,
        once: Once | None = None,
    ) -> Manifest | Kept:
        """Only the buyer and the sellers of a project create manifests."""
        checked = check_items(items)

        async def work(tx: ContractTransaction) -> Manifest:
            facts = await tx.access(thread_id, creator, to_write=True)
            _check_creator(facts, creator)
            group_id, for_leg = await _booking_of(tx, thread_id, leg_id)
            made = Manifest(
                tx.new_id("man"),
                thread_id,
                group_id,
                for_leg,
                creator,
                checked,
                hash_items(checked),
                tx.now_ms,
            )
            await _insert(tx, made, facts.people[creator])
            return made

        return await self._transactions.run(work, once)

    async def access(self, viewer: str | None, manifest_id: str) -> Manifest:
        """For the participants of its thread, and the backend (None). Raises NotFound."""
        async with self._transactions.snapshot() as snapshot:
            row = await snapshot.conn.fetchrow(MANIFEST, manifest_id)
            if viewer is not None:
                try:
                    await snapshot.access(NO_THREAD if row is None else row["thread_id"], viewer)
                except ThreadNotFound:
                    raise NotFound from None
        if row is None:
            raise NotFound
        return read_manifest(row)

    async def access_all(
        self, viewer: str, thread_id: str, before: str, limit: int
    ) -> list[Manifest]:
        """The thread's manifests, the newest first, older than the id `before` unless that is
        empty. Raises ThreadNotFound."""
        async with self._transactions.snapshot() as snapshot:
            await snapshot.access(thread_id, viewer)
            return await manifests_of(snapshot, thread_id, before, limit)


async def manifests_of(
    snapshot: ContractSnapshot, thread_id: str, before: str, limit: int
) -> list[Manifest]:
    """As `access_all`. The caller has checked access."""
    rows = await snapshot.conn.fetch(MANIFESTS_OF_THREAD, thread_id, before, limit)
    return [read_manifest(row) for row in rows]


def check_items(items: Sequence[Item]) -> tuple[Item, ...]:
    if not 1 <= len(items) <= MOST_ITEMS:
        raise InvalidRequest(f"items takes 1 to {MOST_ITEMS}")
    return tuple(_check_item(item) for item in items)


def _check_item(item: Item) -> Item:
    name = normalise_label("name", item.name, NAME_CHARACTERS)
    if name is None:
        raise InvalidRequest("name is empty")
    if not 0 <= item.bytes <= MOST_BYTES:
        raise InvalidRequest(f"bytes takes 0 to {MOST_BYTES}")
    return Item(name, item.bytes, check_sha256(item.sha256), check_public_address("url", item.url))


def hash_items(items: Sequence[Item]) -> str:
    """The hash of the list as canonical JSON, so that others can compute it too."""
    return hashlib.sha256(canonical([asdict(item) for item in items])).hexdigest()


def _check_creator(facts: ThreadFacts, creator: str) -> None:
    if facts.people[creator] not in (Role.BUYER, Role.SELLER):
        raise Forbidden("Manifests are made by the buyer and the sellers.")
    if facts.kind != "project":
        raise ActionInvalidState("Only a project has deliverables.")


async def _booking_of(
    tx: ContractTransaction, thread_id: str, leg_id: str | None
) -> tuple[str | None, str | None]:
    """The thread's booking, and the leg that the manifest is about: the named one, or the only one
    of the current booking."""
    rows = await tx.conn.fetch(LEGS_OF_THREAD, thread_id)
    if leg_id is not None:
        for row in rows:
            if row["leg_id"] == leg_id:
                return row["group_id"], leg_id
        raise NotFound("The project has no such leg.")
    current = [row for row in rows if row["is_current"]]
    group_id = current[0]["group_id"] if current else None
    return group_id, current[0]["leg_id"] if len(current) == 1 else None


async def _insert(tx: ContractTransaction, manifest: Manifest, role: Role) -> None:
    after = asdict(manifest)
    await tx.conn.execute(
        INSERT_MANIFEST,
        manifest.manifest_id,
        manifest.thread_id,
        manifest.group_id,
        manifest.leg_id,
        manifest.created_by,
        msgspec.json.encode(after["items"]).decode(),
        manifest.sha256,
        manifest.created_at_ms,
    )
    tx.record(
        HistoryEntry(
            subject=manifest.manifest_id,
            version=1,
            chain=manifest.group_id or manifest.thread_id,
            actor=manifest.created_by,
            role=role,
            act="create",
            from_state=None,
            to_state="created",
            after=after,
        )
    )
    tx.emit(
        NewEvent(
            "manifest.created",
            manifest.created_by,
            thread_id=manifest.thread_id,
            group_id=manifest.group_id,
            leg_id=manifest.leg_id,
            data={"manifest_id": manifest.manifest_id, "items": len(manifest.items)},
        )
    )


def read_manifest(row: Record) -> Manifest:
    return Manifest(
        row["manifest_id"],
        row["thread_id"],
        row["group_id"],
        row["leg_id"],
        row["created_by"],
        tuple(msgspec.json.decode(row["items"], type=list[Item])),
        row["sha256"],
        row["created_at"],
    )
