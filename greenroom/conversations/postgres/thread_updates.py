"""Thread updates of contracts, where conversations are in the contract's own database: they are
part of its transaction."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.conversations.model import Message, Role
from greenroom.conversations.postgres.append import SEND_WINDOW, refusal
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.promotion import promote
from greenroom.conversations.postgres.transactions import Wake
from greenroom.conversations.thread_updates import (
    AppliedUpdate,
    Shadow,
    Standing,
    ThreadFacts,
    ThreadUpdate,
)
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.ids import Randomness
from greenroom.platform.postgres.pool import Session

_UNCHANGED = Standing(None)

# See db/functions/post_to_thread.sql and access_thread.sql.
POST = """
select * from post_to_thread($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
"""
ACCESS = "select * from access_thread($1, $2, $3, $4)"
# As `access_thread` for somebody who only reads ($2; null: the backend), without a lock.
LOOK = """
select t.kind, t.locked, t.group_id, t.leg_id, a.people, a.roles
from thread t cross join lateral (
    select array_agg(p.user_id order by p.user_id) as people,
        array_agg(p.role order by p.user_id) as roles
    from thread_participant p where p.thread_id = t.thread_id and p.status = 'active') a
where t.thread_id = $1 and ($2::text is null or exists (
    select from inbox_index i
    join thread_participant me on me.thread_id = i.thread_id and me.user_id = i.user_id
    where i.user_id = $2 and i.thread_id = $1 and me.status = 'active'))
"""


class PostgresThreadUpdates:
    """`ThreadUpdates` on the caller's own connection."""

    def __init__(self, *, clock: Clock, randomness: Randomness, wake: Wake) -> None:
        self._clock = clock
        self._randomness = randomness
        self._wake = wake

    async def access(
        self, conn: Session, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        row = await conn.fetchrow(ACCESS, self._clock(), thread_id, viewer, to_write)
        if row is None:
            raise ThreadNotFound
        refused = refusal(row["verdict"], row["until"])
        if refused is not None:
            raise refused
        return _facts(thread_id, row, frozenset(row["unseen"] or ()))

    async def access_without_lock(
        self, conn: Session, thread_id: str, viewer: str | None
    ) -> ThreadFacts:
        row = await conn.fetchrow(LOOK, thread_id, viewer)
        if row is None:
            raise ThreadNotFound
        return _facts(thread_id, row)

    async def apply(self, conn: Session, update: ThreadUpdate) -> AppliedUpdate:
        change = Change(conn, self._clock, self._randomness)
        promotes = update.promotes
        is_told = promotes is not None and await promote(
            change, update.thread_id, promotes.booking, follows=promotes.follows
        )
        says_more = update.notices or update.new_card or update.changed_card
        if update.booking_changed and not (is_told or says_more):
            await change.lock(update.thread_id, by=None)
            await change.tell_all(update.thread_id, update.actor)
            is_told = True
        row = await conn.fetchrow(POST, *self._arguments(update, is_told=is_told))
        if row is None:
            raise ThreadNotFound
        refused = refusal(row["verdict"], row["until"])
        if refused is not None:
            raise refused
        if update.changed_card is not None:
            update = replace(update, message_id=row["message_id"])
        told = frozenset(change.told.union(row["told"]))
        return AppliedUpdate(update, _message(update, row), told=told)

    def _arguments(self, update: ThreadUpdate, *, is_told: bool) -> tuple[Any, ...]:
        """The arguments of `post_to_thread`, in its order."""
        new, card = update.new_card, update.new_card or update.changed_card
        said = ["system"] * len(update.notices)
        systems = [_json({"code": each.code, "params": each.params}) for each in update.notices]
        audiences: list[str | None] = [None] * len(update.notices)
        if new is not None:
            said, systems = ["card", *said], [None, *systems]
            audiences.insert(0, _audience(new))
        standing = update.standing or _UNCHANGED
        return (
            self._clock(),
            SEND_WINDOW,
            update.thread_id,
            update.actor,
            said,
            systems,
            audiences,
            [self._randomness() for _ in said],
            None if card is None else card.card_id,
            None if card is None else card.type,
            None if card is None else _json(card.card),
            is_told,
            update.standing is not None,
            standing.stage,
            standing.open_cards,
            sorted(standing.waits_for),
        )

    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        told = frozenset[str]().union(*(each.told for each in applied))
        if told:
            self._wake(told)

    async def catch_up(self, thread_id: str) -> None:
        """Nothing to do: what was committed is in the thread."""


def _facts(thread_id: str, row: Record, unseen_by: frozenset[str] = frozenset()) -> ThreadFacts:
    roles = (Role(role) for role in row["roles"] or ())
    return ThreadFacts(
        id=thread_id,
        kind=row["kind"],
        locked=row["locked"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        people=dict(zip(row["people"] or (), roles, strict=True)),
        unseen_by=unseen_by,
    )


def _audience(card: Shadow) -> str | None:
    return None if card.visible_to is None else ",".join(sorted(card.visible_to))


def _message(update: ThreadUpdate, row: Record) -> Message | None:
    new = update.new_card
    if new is None:
        return None
    return Message(
        id=row["message_id"],
        thread_id=update.thread_id,
        seq=row["seq"],
        author_id=update.actor,
        kind="card",
        body="",
        body_html=None,
        system=None,
        reply_to=None,
        client_id=None,
        created_at_ms=row["created_at"],
        card=new.card,
    )


def _json(value: object) -> str | None:
    return msgspec.json.encode(value).decode()
