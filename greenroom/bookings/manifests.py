"""Manifests: lists of deliverables that lie elsewhere, never changed once they are made."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec
from asyncpg import Record

from greenroom.bookings.deeds import Deed, Deeds, Step, Told, canonical
from greenroom.bookings.documents import check_sha256
from greenroom.bookings.web_addresses import check_public_address
from greenroom.conversations.model import Role, normalise_label
from greenroom.conversations.postings import NO_THREAD, ThreadFacts
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    InvalidRequest,
    NotFound,
    ThreadNotFound,
)
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import unavailable_on_failure

MOST_ITEMS = 500
MOST_BYTES = 10**15
NAME_CHARACTERS = 255

INSERT_MANIFEST = """
insert into manifest (manifest_id, thread_id, group_id, leg_id, created_by, items, sha256,
                      created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
"""
MANIFEST = """
select manifest_id, thread_id, group_id, leg_id, created_by, items, sha256, created_at
from manifest where manifest_id = $1
"""
LEGS_OF_THREAD = """
select l.leg_id, l.group_id from booking_group g join leg l using (group_id)
where g.thread_id = $1 and g.state <> 'cancelled' order by l.place
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
    def __init__(self, deeds: Deeds) -> None:
        self._deeds = deeds

    async def add(
        self,
        creator: str,
        thread_id: str,
        items: Sequence[Item],
        leg_id: str | None = None,
        once: Once | None = None,
    ) -> Manifest | Kept:
        """By the buyer or a seller of a project."""
        checked = check_items(items)

        async def work(deed: Deed) -> Manifest:
            facts = await deed.access(thread_id, creator, to_write=True)
            _check_creator(facts, creator)
            group_id, for_leg = await _booking_of(deed, thread_id, leg_id)
            made = Manifest(
                deed.new_id("man"),
                thread_id,
                group_id,
                for_leg,
                creator,
                checked,
                hash_items(checked),
                deed.now_ms,
            )
            await _insert(deed, made, facts.people[creator])
            return made

        return await self._deeds.do(work, once)

    async def access(self, viewer: str | None, manifest_id: str) -> Manifest:
        """For those who are in its thread, and the backend (None)."""
        manifest = await self._load(manifest_id)
        if viewer is None and manifest is not None:
            return manifest
        thread_id = NO_THREAD if manifest is None else manifest.thread_id

        async def work(deed: Deed) -> None:
            await deed.access(thread_id, viewer)

        try:
            await self._deeds.do(work)
        except ThreadNotFound:
            raise NotFound from None
        if manifest is None:
            raise NotFound
        return manifest

    @unavailable_on_failure()
    async def _load(self, manifest_id: str) -> Manifest | None:
        row = await self._deeds.pool.fetchrow(MANIFEST, manifest_id)
        return None if row is None else _read(row)


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
    """Of the list as canonical JSON, so that others can work it out as well."""
    return hashlib.sha256(canonical([asdict(item) for item in items])).hexdigest()


def _check_creator(facts: ThreadFacts, creator: str) -> None:
    if facts.people[creator] not in (Role.BUYER, Role.SELLER):
        raise Forbidden("Manifests are made by the buyer and the sellers.")
    if facts.kind != "project":
        raise ActionInvalidState("Only a project has deliverables.")


async def _booking_of(
    deed: Deed, thread_id: str, leg_id: str | None
) -> tuple[str | None, str | None]:
    """The thread's booking and, of its legs, the one that is meant: a single one goes without
    saying."""
    rows = await deed.conn.fetch(LEGS_OF_THREAD, thread_id)
    if leg_id is not None and all(row["leg_id"] != leg_id for row in rows):
        raise NotFound("The project has no such leg.")
    if leg_id is None and len(rows) == 1:
        leg_id = rows[0]["leg_id"]
    return (rows[0]["group_id"] if rows else None), leg_id


async def _insert(deed: Deed, manifest: Manifest, role: Role) -> None:
    after = asdict(manifest)
    await deed.conn.execute(
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
    deed.record(
        Step(
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
    deed.tell(
        Told(
            "manifest.created",
            manifest.created_by,
            thread_id=manifest.thread_id,
            group_id=manifest.group_id,
            leg_id=manifest.leg_id,
            data={"manifest_id": manifest.manifest_id, "items": len(manifest.items)},
        )
    )


def _read(row: Record) -> Manifest:
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
